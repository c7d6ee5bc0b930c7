"""gateway.policies: the registry, and what each policy prices."""

from collections import Counter
from dataclasses import dataclass
from itertools import count
from math import ceil, isfinite
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
        "busy": 0.5,
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
        "cold": 0.0,
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


def test_the_policies_are_there() -> None:
    """Those that configuration may name."""
    named = "cache-aware expected-ttft least-load llm-d prefix-hash random round-robin session"
    assert tuple(named.split()) == POLICIES


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
    """One worker in the words of the study: tokens, its KV capacity, and what it holds and shares of 50 blocks."""

    pend: float
    head: float
    known: int
    shared: int
    kv: float
    capacity: float | None
    n: int
    cold: float
    slowness: float

    @property
    def overlap(self) -> int:
        return self.known * 100

    @property
    def new(self) -> int:
        return 5001 - self.overlap


WORKERS = st.builds(
    Worker,
    pend=st.floats(0, 1e5),
    head=st.floats(0, 1),
    known=st.integers(0, 50),
    shared=st.integers(0, 50),
    kv=st.floats(1, 1e6),
    capacity=st.one_of(st.none(), st.floats(1e4, 1e6)),
    n=st.integers(0, 31),
    cold=st.sampled_from([0.0, 0.0, 0.5, 1.0]),
    slowness=st.sampled_from([1.0, 3.0]),
)


@given(st.lists(WORKERS, min_size=1, max_size=6), st.floats(100, 1e5), st.floats(0, 60), st.floats(0, 1))
def test_expected_ttft_is_the_formula(fleet: list[Worker], rate: float, decode_s: float, busy: float) -> None:
    """p + alpha new + private + 2 min(1, U / C)^3 new + 0.02 U + R T max(0, U - 0.8 C) / U, less what warms up."""
    views = [
        candidate(
            overlap=w.overlap,
            uncached=w.new,
            known_blocks=w.known,
            pinned_blocks=min(w.shared, w.known),
            pending=w.pend,
            wait=w.pend * w.head,
            kv_tokens=w.kv,
            kv_capacity=w.capacity,
            in_flight=w.n,
            cold=w.cold,
            slowness=w.slowness,
        )
        for w in fleet
    ]
    alpha = min(40, min(5.5, 1 + 0.5 * busy / max(1 - busy, 1e-9)) + 4 * min(w.pend for w in fleet) / rate)
    holder = max(fleet, key=lambda w: w.overlap)
    shared = min(holder.shared, holder.known) * 100
    asked = request(prefill_rate=rate, decode_s=decode_s, busy=busy)
    for cost, w in zip(POLICY.costs(asked, views), fleet, strict=True):
        excess = 0 if w.capacity is None else max(0, w.kv - 0.8 * w.capacity)
        private = max(0, holder.overlap - max(w.overlap, shared))
        missing = holder.overlap - w.overlap
        worth = min(1, 0.5 * rate * w.cold / missing) * (private + alpha * missing) if missing else 0
        evicted = 0 if w.capacity is None else 2 * min(1, w.kv / w.capacity) ** 3 * w.new
        expected = w.pend * w.head + alpha * w.slowness * w.new + private + evicted + 0.02 * w.kv
        expected += rate * decode_s * excess / w.kv
        assert cost == pytest.approx(expected - worth)


def test_expected_ttft_bounds_a_crowd() -> None:
    """From 32 requests and 1.25 times the fair share (twice, above 32) on, only when all are that full."""
    held = {"uncached": 1, "overlap": 999, "known_blocks": 9}
    for others, n, crowded in ((0, 31, False), (0, 32, True), (24, 32, False), (100, 300, False), (100, 310, True)):
        views = [candidate(in_flight=n, **held), *[candidate(in_flight=others)] * 3]
        first, *rest = POLICY.costs(request(), views)
        assert (first > CROWDED / 2) == crowded, (others, n)
        assert (first > min(rest)) == crowded


def test_a_private_prefix_moves_later_than_a_hot_one() -> None:
    """What others in flight share is worth a copy sooner than one session's own history."""
    wait, held = 1_600.0, {"uncached": 1, "overlap": 999, "known_blocks": 9}
    hot = POLICY.costs(request(), [candidate(wait=wait, pinned_blocks=9, **held), candidate()])
    own = POLICY.costs(request(), [candidate(wait=wait, pinned_blocks=0, **held), candidate()])
    assert hot[0] > hot[1]
    assert own[0] < own[1]


FLEETS = st.lists(
    st.builds(
        candidate,
        worker=st.text(max_size=8),
        overlap=st.integers(0, 999),
        known_blocks=st.integers(1, 9),
        in_flight=st.integers(0, 200),
        assigned=st.integers(0, 10**9),
        last_routed=st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda c: c.worker,
)


@pytest.mark.parametrize("name", POLICIES)
@given(fleet=FLEETS, blocks=st.lists(st.integers(0, 2**64 - 1), max_size=5), data=st.data())
def test_costs_are_finite_complete_and_repeatable(
    name: str, fleet: list[Candidate], blocks: list[int], data: st.DataObject
) -> None:
    """One finite cost a candidate, the same for the same request, seed and fleet."""
    session = data.draw(st.none() | st.text(max_size=4))
    asked = request(blocks=blocks, session=session, number=data.draw(st.integers(1, 10**9)), seed=3)
    costs = list(find_policy(name).costs(asked, fleet))
    assert len(costs) == len(fleet)
    assert all(map(isfinite, costs))
    assert costs == list(find_policy(name).costs(asked, fleet))


def choices(name: str, fleet: list[Candidate], **given: Any) -> list[str]:
    """The cheapest worker for each of the requests that `given` spells, one list item a request."""
    picked = []
    for i, blocks in enumerate(given.pop("prompts")):
        costs = list(find_policy(name).costs(request(blocks=blocks, number=i + 1, **given), fleet))
        picked.append(fleet[costs.index(min(costs))].worker)
    return picked


IDLE = [candidate(worker=f"http://10.0.0.{i}:30000") for i in range(8)]
PROMPTS = [[scramble(i), scramble(i + 10**6)] for i in range(2_000)]


@pytest.mark.parametrize("name", ["random", "prefix-hash", "session"])
def test_hashing_policies_spread_evenly(name: str) -> None:
    """Unrelated prompts: every one of 8 workers gets 12.5 % of them, 4 points more or less."""
    counts = Counter(choices(name, IDLE, prompts=PROMPTS))
    assert all(abs(counts[c.worker] / len(PROMPTS) - 0.125) < 0.04 for c in IDLE), counts


@pytest.mark.parametrize("name", ["prefix-hash", "session"])
def test_a_worker_that_leaves_moves_only_its_own(name: str) -> None:
    """Consistent hashing: nobody else's prompts change hands, whatever order the workers come in."""
    before = choices(name, IDLE, prompts=PROMPTS)
    after = choices(name, IDLE[:0:-1], prompts=PROMPTS)
    assert all(a == b for a, b in zip(before, after, strict=True) if a != IDLE[0].worker)


def test_random_draws_anew_for_each_request_and_seed() -> None:
    """One prompt again and again goes everywhere; another seed draws differently."""
    same = [[1, 2]] * 400
    assert len(set(choices("random", IDLE, prompts=same))) == 8
    assert choices("random", IDLE, prompts=same, seed=1) != choices("random", IDLE, prompts=same, seed=2)


def test_prefix_hash_looks_at_the_first_two_blocks() -> None:
    """Prompts with one beginning share a worker however they go on; a second block that differs may part them."""
    same = [[7, 8, i] for i in range(50)]
    assert len(set(choices("prefix-hash", IDLE, prompts=same))) == 1
    assert len(set(choices("prefix-hash", IDLE, prompts=[[7, i] for i in range(50)]))) > 4


def test_prefix_hash_bounds_the_load() -> None:
    """One prompt 100 times, nobody finishes: no worker exceeds 1.25 times the mean, and all are used."""
    load = dict.fromkeys((c.worker for c in IDLE[:4]), 0)
    for number in range(1, 101):
        fleet = [candidate(worker=worker, in_flight=n) for worker, n in load.items()]
        costs = list(find_policy("prefix-hash").costs(request(blocks=[1, 2], number=number), fleet))
        chosen = fleet[costs.index(min(costs))].worker
        load[chosen] += 1
        assert load[chosen] <= ceil(1.25 * number / 4)
    assert min(load.values()) > 0


def test_prefix_hash_spills_to_the_next_on_the_ring() -> None:
    """The overflow of one prompt goes to one neighbour, not everywhere."""
    home = choices("prefix-hash", IDLE, prompts=[[1, 2]])[0]
    fleet = [candidate(worker=c.worker, in_flight=9 if c.worker == home else 0) for c in IDLE]
    spilled = {choices("prefix-hash", fleet, prompts=[[1, 2]])[0] for _ in range(20)}
    assert len(spilled) == 1
    assert home not in spilled


def test_a_prompt_without_blocks_is_spread() -> None:
    """Too short to have a block: there is nothing to keep together."""
    for name in ("prefix-hash", "session"):
        assert len(set(choices(name, IDLE, prompts=[[]] * 100))) == 8


def test_session_keeps_a_session_together_whatever_it_asks() -> None:
    """Its name decides; other sessions with the same prompt go elsewhere."""
    assert len(set(choices("session", IDLE, prompts=PROMPTS[:50], session="s"))) == 1
    homes = {choices("session", IDLE, prompts=[[1, 2]], session=f"s{i}")[0] for i in range(100)}
    assert len(homes) == 8


@pytest.mark.parametrize(
    ("known", "loads", "chosen"),
    [
        ((4, 0), (9, 0), "a"),  # 40 % match, in balance: the holder
        ((3, 0), (9, 0), "b"),  # 30 % is not more than the threshold
        ((10, 0), (65, 0), "b"),  # 65 more than the least, and more than 1.5 times: out of balance
        ((10, 0), (64, 0), "a"),  # 64 is not more than 64
        ((10, 0), (195, 130), "a"),  # 195 is not more than 1.5 times 130
        ((10, 0), (196, 130), "b"),
        ((5, 9), (0, 0), "b"),  # the longest match
    ],
)
def test_cache_aware_is_the_incumbents_rule(known: tuple[int, int], loads: tuple[int, int], chosen: str) -> None:
    """Longest match above 30 %, unless one has 64 requests and half as many again more than another."""
    fleet = [
        candidate(worker=worker, known_blocks=blocks, in_flight=load)
        for worker, blocks, load in zip("ab", known, loads, strict=True)
    ]
    assert choices("cache-aware", fleet, prompts=[list(range(10))]) == [chosen]


@pytest.mark.parametrize(
    ("known", "queued", "free", "chosen"),
    [
        ((10, 0), (0, 0), (0.5, 0.5), "a"),
        ((10, 0), (9, 0), (0.5, 0.5), "a"),  # 3 for the prefix, 2 for the queue
        ((6, 0), (9, 0), (0.5, 0.5), "b"),  # 1.8 against 2
        ((6, 0), (9, 8), (0.5, 0.5), "b"),  # the shortest and the longest queue, however little apart
        ((4, 0), (0, 0), (0.1, 0.9), "b"),  # 1.2 against 1.6
    ],
)
def test_llm_d_adds_three_scores(
    known: tuple[int, int], queued: tuple[int, int], free: tuple[float, float], chosen: str
) -> None:
    """3 x share of the prompt held, 2 x how short the queue is among all, 2 x share of the memory that is free."""
    fleet = [
        candidate(worker=w, known_blocks=k, queued=q, kv_tokens=1_000 * (1 - f), kv_capacity=1_000)
        for w, k, q, f in zip("ab", known, queued, free, strict=True)
    ]
    assert choices("llm-d", fleet, prompts=[list(range(10))]) == [chosen]


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
