"""What mending is worth, in words: one line for a finding, a few at the end for a whole log."""

from collections.abc import Iterator

from lint.costing import Cost, Summary


def cost_text(cost: Cost) -> str:
    """One line; for what was not replayed, why."""
    if cost.tokens is None or cost.hit_rate_before is None or cost.hit_rate_after is None:
        return f"not replayed: {cost.reason}"
    each = f"{cost.tokens_per_request:,.0f} tokens a request of this template ({_percent(cost.share)} of its input)"
    worth = _worth(cost.tokens, cost.money, cost.gpu_seconds)
    rates = f"hit rate of the log {_percent(cost.hit_rate_before)} -> {_percent(cost.hit_rate_after)}"
    return f"{each}, {worth} per {cost.per}; {rates} with this mended"


def summary_lines(summary: Summary) -> Iterator[str]:
    """The closing lines of a log."""
    mended, found = summary.causes
    causes = "the cause is" if (mended, found) == (1, 1) else f"the {mended} causes are"
    rates = f"hit rate {_percent(summary.hit_rate_before)} -> {_percent(summary.hit_rate_after)}"
    worth = _worth(summary.tokens, summary.money, summary.gpu_seconds)
    if mended:
        yield f"{summary.filename}: {rates} if {causes} mended: {worth} per {summary.per}."
    else:
        yield f"{summary.filename}: hit rate {_percent(summary.hit_rate_before)}."
    yield f"  Replayed: {summary.assumed}."
    if summary.reported_hit_rate is not None:
        yield f"  The log itself reports {_percent(summary.reported_hit_rate)} cached."
    for reason in summary.unmended:
        yield f"  Not replayed: {reason}."


def _worth(tokens: int, money: float | None, gpu_seconds: float | None) -> str:
    parts = [f"{tokens:,} tokens"]
    parts += [] if money is None else [f"{money:,.2f} in money"]
    parts += [] if gpu_seconds is None else [f"{gpu_seconds:,.0f} GPU seconds"]
    return ", ".join(parts)


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{share:.0%}"
