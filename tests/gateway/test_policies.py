"""gateway.policies: the registry, and what each policy prices."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gateway.policies
from gateway.policies import POLICIES, Candidate, Reason, Request, find_policy, scramble
from gateway.policies.expected_ttft import CROWDED, POLICY
from prefix.errors import RoutingError


def request(**given: Any) -> Request:
    """A request of 1,000 tokens to a fleet that prefills 8,000 tokens/s."""
    fields: dict[str, Any] = {
        "blocks": (),
        "prompt_tokens": 1000,
        "session": None,
        "number": 1,
        "seed": 0,
        "prefill_rate": 8000.0,
        "decode_s": 5.0,
    }
    return Request(**fields | given)


def candidate(**given: Any) -> Candidate:
    """An idle, empty worker of unknown capacity."""
    fields: dict[str, Any] = {
        "worker": "w",
        "overlap": 0,
        "uncached": 1000,
        "known_blocks": 0,
        "pinned_blocks": 0,
        "pending": 0.0,
        "wait": 0.0,
        "in_flight": 0,
        "kv_tokens": 1200.0,
        "kv_capacity": None,
        "assigned": 0,
        "last_routed": 0,
    }
    return Candidate(**fields | given)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_found_and_prices(name: str) -> None:
    """A module of the package is a policy under its name: one cost a candidate, a known reason or None."""
    policy = find_policy(name)
    costs = policy.costs(request(), [candidate(), candidate(worker="v", in_flight=3)])
    assert len(costs) == 2
    assert all(abs(cost) < 1e15 for cost in costs)
    assert policy.reason is None or policy.reason in get_args(Reason)


def test_the_default_policies_are_there() -> None:
    """The three that configuration may name from the start."""
    assert {"expected-ttft", "least-load", "round-robin"} <= set(POLICIES)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("least-loaded", "did you mean 'least-load'?"),
        ("expected_ttft", "did you mean 'expected-ttft'?"),
        ("?", "there is"),
    ],
)
def test_an_unknown_policy_names_the_nearest(wrong: str, hint: str) -> None:
    """A typo gets the name that was meant, or all of them."""
    with pytest.raises(RoutingError, match=hint.replace("?", r"\?")):
        find_policy(wrong)


def test_a_policy_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file dropped into the package is a policy, with no list to edit."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "most_idle.py").write_text("POLICY = 'here'\n", encoding="utf-8")
    monkeypatch.setattr(gateway.policies, "__path__", [*gateway.policies.__path__, str(folder)])
    monkeypatch.setattr(gateway.policies, "POLICIES", gateway.policies.policy_names())
    assert find_policy("most-idle") == "here"


def test_scramble_spreads() -> None:
    """Neighbouring numbers are spread over all remainders, and any integer is accepted."""
    assert len({scramble(i) for i in range(1000)}) == 1000
    drawn = [scramble(i) % 4 for i in range(4000)]
    assert all(900 < drawn.count(k) < 1100 for k in range(4))
    assert 0 <= scramble(-(10**30)) < 2**64


@dataclass(frozen=True)
class Worker:
    """One worker in the words of the study: tokens, and its KV capacity."""

    pend: float
    head: float
    new: int
    kv: float
    capacity: float | None
    n: int


WORKERS = st.builds(
    Worker,
    pend=st.floats(0, 1e5),
    head=st.floats(0, 1),
    new=st.integers(1, 10_000),
    kv=st.floats(1, 1e6),
    capacity=st.one_of(st.none(), st.floats(1e4, 1e6)),
    n=st.integers(0, 31),
)


@given(st.lists(WORKERS, min_size=1, max_size=6), st.floats(100, 1e5), st.floats(0, 60))
def test_expected_ttft_is_the_formula(fleet: list[Worker], rate: float, decode_s: float) -> None:
    """cost = p + alpha new + 0.05 U + R T max(0, U - 0.8 C) / U, alpha = min(40, 1.5 + 4 min pend / R)."""
    views = [
        candidate(
            uncached=w.new,
            pending=w.pend,
            wait=w.pend * w.head,
            kv_tokens=w.kv,
            kv_capacity=w.capacity,
            in_flight=w.n,
        )
        for w in fleet
    ]
    alpha = min(40, 1.5 + 4 * min(w.pend for w in fleet) / rate)
    for cost, w in zip(POLICY.costs(request(prefill_rate=rate, decode_s=decode_s), views), fleet, strict=True):
        excess = 0 if w.capacity is None else max(0, w.kv - 0.8 * w.capacity)
        expected = w.pend * w.head + alpha * w.new + 0.05 * w.kv + rate * decode_s * excess / w.kv
        assert cost == pytest.approx(expected)


def test_expected_ttft_bounds_a_crowd() -> None:
    """From 32 requests and 1.25 times the fair share on, a worker is taken only when all are that full."""
    held = {"uncached": 1, "overlap": 999}
    for others, n, crowded in ((0, 31, False), (0, 32, True), (100, 120, False), (100, 140, True)):
        views = [candidate(in_flight=n, **held), *[candidate(in_flight=others)] * 3]
        first, *rest = POLICY.costs(request(), views)
        assert (first > CROWDED / 2) == crowded, (others, n)
        assert (first > min(rest)) == crowded


def test_least_load_counts_requests() -> None:
    """The cost is the number in flight, whatever a worker holds."""
    views = [candidate(in_flight=2, overlap=900), candidate(in_flight=1)]
    assert find_policy("least-load").costs(request(), views) == [2, 1]


def test_round_robin_takes_turns_among_who_is_there() -> None:
    """The longest unused candidate is next; one that sat out keeps its turn, a new one comes first."""
    policy = find_policy("round-robin")
    last = {"a": 0, "b": 0, "c": 0}
    numbers = count(1)

    def turn(*names: str) -> str:
        views = [candidate(worker=name, last_routed=last[name]) for name in names]
        costs = list(policy.costs(request(), views))
        name = names[costs.index(min(costs))]
        last[name] = next(numbers)
        return name

    assert [turn("a", "b", "c") for _ in range(6)] == ["a", "b", "c", "a", "b", "c"]
    assert [turn("b", "c") for _ in range(3)] == ["b", "c", "b"]
    assert turn("a", "b", "c") == "a"
    last["d"] = 0
    assert turn("a", "b", "c", "d") == "d"
