"""gateway.demo.tally and result: sums from counters and from streams, and what they disagree on."""

from dataclasses import replace

import pytest

from gateway.demo.load import Outcome
from gateway.demo.result import PASSES, PassResult, as_json, measured, sound, warnings
from gateway.demo.tally import (
    Tokens,
    by_name,
    client_tokens,
    gateway_tokens,
    mismatches,
    percentile,
    total,
)
from gateway.demo.workload import DemoRequest

METRICS = """\
# HELP prefixgate_input_tokens_total Prompt tokens.
# TYPE prefixgate_input_tokens_total counter
prefixgate_input_tokens_total{customer="acme",model="m",prompt_version="v1",route="code"} 1000.0
prefixgate_input_tokens_total{customer="acme",model="n",prompt_version="v1",route="code"} 500.0
prefixgate_input_tokens_total{customer="hooli",model="m",prompt_version="v2",route="code"} 100.0
# HELP prefixgate_cached_tokens_total Cached tokens.
# TYPE prefixgate_cached_tokens_total counter
prefixgate_cached_tokens_total{customer="acme",model="m",prompt_version="v1",route="code"} 640.0
prefixgate_cached_tokens_total{customer="hooli",model="m",prompt_version="v2",route="code"} 16.0
# HELP prefixgate_requests_total Requests.
# TYPE prefixgate_requests_total counter
prefixgate_requests_total{route="code"} 3.0
"""
ACME, HOOLI = ("code", "acme", "v1"), ("code", "hooli", "v2")
COUNTED = {ACME: Tokens(1500, 640), HOOLI: Tokens(100, 16)}


def outcome(labels: tuple[str, str, str], tokens: int | None, cached: int | None, ttft: float = 0.1) -> Outcome:
    return Outcome(DemoRequest(0.0, *labels, body=b""), 0.001, ttft, tokens, cached)


OUTCOMES = [
    outcome(ACME, 1000, 640, 0.1),
    outcome(ACME, 500, 0, 0.2),
    outcome(HOOLI, 100, 16, 0.3),
]


def result(outcomes: list[Outcome] = OUTCOMES, metrics: str = METRICS, cpu: float | None = 0.5) -> PassResult:
    return measured(PASSES[0], outcomes, metrics, cpu_share=cpu)


def test_gateway_tokens() -> None:
    """Counters are summed over all labels but route, customer and prompt version; no cached series is zero cached."""
    assert gateway_tokens(METRICS) == COUNTED


def test_client_tokens() -> None:
    """Requests without a report are unknown, not zero."""
    unknown = [outcome(ACME, None, None), outcome(ACME, 70, None)]
    assert client_tokens([*OUTCOMES, *unknown]) == COUNTED


def test_mismatches() -> None:
    """Gateway and client agree on equal sums only; each label set that differs is named."""
    assert mismatches(COUNTED, client_tokens(OUTCOMES)) == []
    assert mismatches(COUNTED, {ACME: Tokens(1500, 641)}) == [
        "code/acme/v1: gateway 640 of 1,500, client 641 of 1,500",
        "code/hooli/v2: gateway 16 of 100, client nothing",
    ]


def test_views() -> None:
    """Sums by route, customer and prompt version (which belongs to its route) each add up to the total."""
    views = by_name({**COUNTED, ("search", "acme", "v1"): Tokens(10, 1)})
    assert views == {
        "route": {"code": Tokens(1600, 656), "search": Tokens(10, 1)},
        "customer": {"acme": Tokens(1510, 641), "hooli": Tokens(100, 16)},
        "prompt version": {
            "code v1": Tokens(1500, 640),
            "code v2": Tokens(100, 16),
            "search v1": Tokens(10, 1),
        },
    }
    assert {total(view) for view in views.values()} == {Tokens(1610, 657)}


def test_hit_rate() -> None:
    """Hit rate is a ratio of sums, unknown where there is no input."""
    assert total(COUNTED).hit_rate == 656 / 1600
    assert Tokens().hit_rate is None


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 0.5, None), ([7], 0.99, 7), ([3, 1, 2], 0.5, 2), (range(1, 101), 0.99, 99), (range(1, 102), 0.99, 100)],
)
def test_percentile(values: list[float], share: float, expected: float | None) -> None:
    """A percentile is the nearest rank: a value that was measured."""
    assert percentile(list(values), share) == expected


def test_measured() -> None:
    """A pass is the client's times and the gateway's counts."""
    one = result()
    assert (one.requests, one.ttft_p50_s, one.ttft_p99_s, one.hit_rate) == (3, 0.2, 0.3, 656 / 1600)
    assert sound(one)
    assert warnings(one) == []


def test_errors_are_left_out_of_times_and_said() -> None:
    """A failed request has no TTFT, makes the pass unsound and is quoted."""
    failed = Outcome(OUTCOMES[0].request, 0.001, error="HTTP 503: no engine")
    one = result([*OUTCOMES, failed])
    assert (one.requests, one.ttft_p99_s) == (4, 0.3)
    assert not sound(one)
    assert warnings(one) == ["1 of 4 requests failed, first: HTTP 503: no engine"]


@pytest.mark.parametrize(
    ("one", "said", "still_sound"),
    [
        (result(cpu=0.99), "99% busy", True),
        (result([replace(each, sent_s=0.2) for each in OUTCOMES]), "sent late (p99 200 ms)", True),
        (result(metrics=METRICS.replace("640", "641")), "count differently for 1 label sets", False),
        (result(metrics=""), "gateway nothing, client 640 of 1,500", False),
    ],
)
def test_warnings(one: PassResult, said: str, still_sound: bool) -> None:
    """A busy machine is a warning; counts that differ are a failure."""
    assert any(said in warning for warning in warnings(one))
    assert sound(one) is still_sound


def test_json() -> None:
    """The JSON form has names, sums and rates, and null for what is unknown."""
    as_dict = as_json(result(cpu=None))
    assert as_dict["name"] == "round robin + off"
    assert as_dict["hit_rate_by"]["route"] == {"code": 0.41}
    assert as_dict["cpu_share"] is None
    empty = as_json(result([], ""))
    assert (empty["hit_rate"], empty["ttft_p50_s"], empty["input_tokens"]) == (None, None, 0)
