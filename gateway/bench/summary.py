"""What a side of a run measured, as one value: latencies, rates, tokens, errors, and how well it was measured.

Latencies are those of completed requests that were measured (not of the warm-up), exact, by nearest rank; ITL pools
the gaps of all answers. Rates run from the first due time to the last end. What nobody reported is counted as that:
the hit rate is one of requests whose cached count is known, and their share stands beside it.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import msgspec

from gateway.apis import MESSAGES
from gateway.bench.outcome import REJECTED, Outcome
from gateway.bench.slo import Slo, meets
from gateway.percentile import nearest_rank
from telemetry.latency import EDGES


class Spread(msgspec.Struct, frozen=True):
    """Seconds (or whatever was counted): how many values, their mean and percentiles."""

    count: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float


class Group(msgspec.Struct, frozen=True):
    """Requests that have something in common. None: nothing was measured.

    requests: sent and measured; of them completed and rejected, the others failed. input, cached: tokens of requests
    whose cached count is known, hit_rate their ratio; unreported: requests without that count.
    """

    name: str
    requests: int
    completed: int
    rejected: int
    ttft_s: Spread | None
    itl_s: Spread | None
    tpot_s: Spread | None
    e2e_s: Spread | None
    input_tokens: int
    cached_tokens: int
    hit_rate: float | None
    unreported: int


class Client(msgspec.Struct, frozen=True):
    """How well this client did its part. lag_s: sent after due; loop_s: its event loop's own delay, both seconds.

    shift_s: turns that came later than scheduled because the one before had not ended. cpu_share: of one processor.
    """

    lag_s: Spread | None
    loop_s: Spread | None
    shift_s: Spread | None
    cpu_share: float


class Summary(msgspec.Struct, frozen=True):
    """One side. Rates are a second over `seconds`; tokens: of completed requests that reported them, without_tokens
    did not. goodput_per_s: requests that met every SLO, None without SLOs; unjudged: completed ones that had no such
    time. errors: kind -> how many, with an example."""

    url: str
    seconds: float
    warmup_requests: int
    total: Group
    by_route: list[Group]
    by_prompt_tokens: list[Group]
    completed_per_s: float
    input_tokens_per_s: float
    output_tokens_per_s: float
    without_tokens: int
    goodput_per_s: float | None
    unjudged: int
    errors: dict[str, tuple[int, str]]
    client: Client


def spread(values: Iterable[float]) -> Spread | None:
    """None of nothing."""
    ascending = sorted(values)
    if not ascending:
        return None
    p50, p90, p95, p99 = (nearest_rank(ascending, share) for share in (0.5, 0.9, 0.95, 0.99))
    return Spread(len(ascending), sum(ascending) / len(ascending), p50, p90, p95, p99, ascending[-1])


def summarize(
    url: str,
    outcomes: Sequence[Outcome],
    slos: Sequence[Slo],
    *,
    loop_s: Iterable[float],
    cpu_share: float,
    own_s: Callable[[float], float] = float,
) -> Summary:
    """Everything about one side's outcomes. own_s: from the run's time to one that stands still in others' turns."""
    measured = [outcome for outcome in outcomes if outcome.measured]
    completed = [outcome for outcome in measured if outcome.error is None]
    seconds = span_s(measured, own_s)
    verdicts = [meets(outcome, slos) for outcome in completed]
    return Summary(
        url=url,
        seconds=seconds,
        warmup_requests=len(outcomes) - len(measured),
        total=group("all", measured),
        by_route=_groups(measured, lambda outcome: outcome.route),
        by_prompt_tokens=_groups(measured, length_of),
        completed_per_s=_rate(len(completed), seconds),
        input_tokens_per_s=_rate(sum(each.input_tokens or 0 for each in completed), seconds),
        output_tokens_per_s=_rate(sum(each.output_tokens or 0 for each in completed), seconds),
        without_tokens=sum(each.output_tokens is None or each.input_tokens is None for each in completed),
        goodput_per_s=_rate(verdicts.count(True), seconds) if slos else None,
        unjudged=verdicts.count(None),
        errors=_errors(measured),
        client=Client(
            spread(each.lag_s for each in measured),
            spread(loop_s),
            spread(each.shift_s for each in measured if each.shift_s > 0),
            cpu_share,
        ),
    )


def group(name: str, outcomes: Sequence[Outcome]) -> Group:
    """What these outcomes have in common, added up."""
    completed = [outcome for outcome in outcomes if outcome.error is None]
    known = [(each.input_tokens, cached) for each in completed if (cached := cached_of(each)) is not None]
    tokens, cached = sum(total or 0 for total, _ in known), sum(part for _, part in known)
    return Group(
        name=name,
        requests=len(outcomes),
        completed=len(completed),
        rejected=sum(outcome.error == REJECTED for outcome in outcomes),
        ttft_s=spread(each.ttft_s for each in completed if each.ttft_s is not None),
        itl_s=spread(chain.from_iterable(each.gaps_s for each in completed)),
        tpot_s=spread(each.tpot_s for each in completed if each.tpot_s is not None),
        e2e_s=spread(each.e2e_s for each in completed),
        input_tokens=tokens,
        cached_tokens=cached,
        hit_rate=cached / tokens if tokens else None,
        unreported=len(completed) - len(known),
    )


def cached_of(outcome: Outcome) -> int | None:
    """The cached tokens of a request whose prompt length is known too, None where they are not.

    Anthropic's API leaves the count out when it is 0, and has no other way of saying that (docs/apis.md).
    """
    if outcome.input_tokens is None:
        return None
    return 0 if outcome.cached_tokens is None and outcome.path == MESSAGES else outcome.cached_tokens


def length_of(outcome: Outcome) -> str:
    """The row of prompt lengths that a request belongs to; by the source's word where the engine said nothing."""
    tokens = outcome.prompt_tokens if outcome.input_tokens is None else outcome.input_tokens
    if tokens is None:
        return "unknown"
    row = bisect_right(EDGES, tokens)
    if row == len(EDGES):
        return f"{EDGES[-1]:,} and more"
    return f"{EDGES[row - 1]:,} to {EDGES[row] - 1:,}" if row else f"below {EDGES[0]:,}"


def span_s(outcomes: Sequence[Outcome], own_s: Callable[[float], float] = float) -> float:
    """From the first due time to the last end; 0 of nothing."""
    if not outcomes:
        return 0.0
    return own_s(max(each.ended_s for each in outcomes)) - own_s(min(each.due_s for each in outcomes))


def _groups(outcomes: Sequence[Outcome], name: Callable[[Outcome], str]) -> list[Group]:
    members: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        members.setdefault(name(outcome), []).append(outcome)
    return [group(each, members[each]) for each in sorted(members, key=_order)]


def _order(name: str) -> tuple[int, str]:
    """Lengths by their number, names by their letters."""
    digits = "".join(filter(str.isdigit, name.partition(" to ")[0]))
    return (0 if name.startswith("below") else int(digits) if digits and name[0].isdigit() else 1 << 40, name)


def _errors(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, str]]:
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    examples: Mapping[str | None, str] = {outcome.error: outcome.detail for outcome in reversed(failed)}
    return {
        str(kind): (times, examples[kind]) for kind, times in Counter(each.error for each in failed).most_common()
    }


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds else 0.0
