"""gateway.bench.summary: exact percentiles, rates of what was measured, and unknown that is not zero."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apis import MESSAGES
from gateway.bench.outcome import REJECTED
from gateway.bench.slo import parse_slos
from gateway.bench.summary import group, length_of, spread, summarize
from tests.gateway.bench.outcomes import outcome

URL = "http://t"
values = st.lists(st.floats(0, 1e6), min_size=1, max_size=300)


@given(values)
def test_percentiles_are_those_of_a_count(seconds: list[float]) -> None:
    """As defined: the smallest measured value that at least so many percent do not exceed."""
    found = spread(seconds)
    assert found is not None
    for share, value in (("50", found.p50), ("90", found.p90), ("95", found.p95), ("99", found.p99)):
        enough = [each for each in seconds if 100 * sum(s <= each for s in seconds) >= int(share) * len(seconds)]
        assert value == min(enough)
    assert found.max == max(seconds)
    assert found.mean == pytest.approx(sum(seconds) / len(seconds))


def test_nothing_has_no_percentiles() -> None:
    """None, not zero."""
    assert spread([]) is None


def test_latencies_run_from_when_a_request_was_due() -> None:
    """Not from when it was sent: what this client lost counts, and is told beside it."""
    one = outcome(planned_s=1.0, due_s=2.0, sent_s=2.5, content_s=[3.0, 3.1], ended_s=4.0, output_tokens=2)
    assert (one.ttft_s, one.e2e_s, one.lag_s, one.shift_s) == (1.0, 2.0, 0.5, 1.0)
    assert one.gaps_s == pytest.approx([0.1])
    assert one.tpot_s == pytest.approx(0.1)


def test_failures_are_counted_and_not_timed() -> None:
    """By kind, with an example; latencies are those of completed requests."""
    failed = [outcome(error=kind, detail=kind.upper(), ended_s=9.0) for kind in (REJECTED, "timeout", REJECTED)]
    found = summarize(URL, [outcome(), *failed], [], loop_s=[], cpu_share=0.0)
    assert found.errors == {REJECTED: (2, "REJECTED"), "timeout": (1, "TIMEOUT")}
    assert (found.total.requests, found.total.completed, found.total.rejected) == (4, 1, 2)
    assert found.total.e2e_s is not None
    assert found.total.e2e_s.max == 1.0


def test_the_warm_up_is_in_no_number() -> None:
    """But in its own count."""
    cold = outcome(measured=False, ended_s=50.0, error="timeout")
    found = summarize(URL, [cold, outcome()], [], loop_s=[], cpu_share=0.0)
    assert (found.warmup_requests, found.total.requests, found.errors, found.seconds) == (1, 1, {}, 1.0)


def test_rates_are_over_the_measured_time() -> None:
    """From the first due time to the last end, in the side's own time."""
    pair = [outcome(), outcome(due_s=3.0, ended_s=4.0)]
    found = summarize(URL, pair, [], loop_s=[], cpu_share=0.0)
    assert (found.completed_per_s, found.input_tokens_per_s, found.output_tokens_per_s) == (0.5, 50.0, 1.5)
    half = summarize(URL, pair, [], loop_s=[], cpu_share=0.0, own_s=lambda real: real / 2)
    assert half.completed_per_s == 1.0


def test_an_unknown_cached_count_is_no_miss() -> None:
    """The hit rate is one of those that reported; how many did not stands beside it."""
    found = group("all", [outcome(), outcome(cached_tokens=None), outcome(cached_tokens=None, input_tokens=None)])
    assert (found.hit_rate, found.input_tokens, found.unreported) == (0.4, 100, 2)
    assert group("all", [outcome(cached_tokens=None)]).hit_rate is None


def test_anthropics_api_says_nothing_for_zero() -> None:
    """There an absent count is 0: leaving those out would show hits only."""
    assert group("all", [outcome(path=MESSAGES, cached_tokens=None), outcome(path=MESSAGES)]).hit_rate == 0.2


def test_rows_by_route_and_by_prompt_length() -> None:
    """In order of length; by the source's word where the engine reported none."""
    lengths = [(100_000, None), (511, None), (512, None), (None, 600), (None, None), (200_000, None)]
    all_of = [outcome(input_tokens=told, prompt_tokens=said, route=f"r{told}") for told, said in lengths]
    found = summarize(URL, all_of, [], loop_s=[], cpu_share=0.0)
    assert [(each.name, each.requests) for each in found.by_prompt_tokens] == [
        ("below 512", 1),
        ("512 to 1,023", 2),
        ("65,536 to 131,071", 1),
        ("131,072 and more", 1),
        ("unknown", 1),
    ]
    assert len(found.by_route) == 5
    assert length_of(outcome(input_tokens=1, prompt_tokens=9_999)) == "below 512"


@pytest.mark.parametrize(
    ("slos", "good", "unjudged"),
    [
        ("ttft=500ms", 1, 0),
        ("ttft=499ms", 0, 0),
        ("ttft=1s,e2e=0.9s", 0, 0),
        ("itl=250ms,tpot=250ms", 1, 0),
        ("itl=249ms", 0, 0),
    ],
)
def test_goodput_is_what_met_every_objective(slos: str, good: int, unjudged: int) -> None:
    """Each of them, at most."""
    found = summarize(URL, [outcome()], parse_slos(slos), loop_s=[], cpu_share=0.0)
    assert (found.goodput_per_s, found.unjudged) == (good, unjudged)


def test_what_has_no_time_is_not_judged() -> None:
    """An answer in one piece has no TTFT: it neither met the objective nor missed it; too slow at all is a miss."""
    whole = outcome(content_s=[])
    found = summarize(URL, [whole], parse_slos("ttft=1s"), loop_s=[], cpu_share=0.0)
    assert (found.goodput_per_s, found.unjudged) == (0.0, 1)
    found = summarize(URL, [whole], parse_slos("ttft=1s,e2e=100ms"), loop_s=[], cpu_share=0.0)
    assert found.unjudged == 0
    one_token = outcome(content_s=[0.1])
    assert summarize(URL, [one_token], parse_slos("itl=1ms"), loop_s=[], cpu_share=0.0).goodput_per_s == 1.0
