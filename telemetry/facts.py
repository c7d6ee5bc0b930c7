"""What one record says, decided in one place: its token report, its time to first token, its time between tokens.

Everything that adds records up reads them here, so that two sums over the same requests are equal.
"""

from typing import NamedTuple

from prefix.record import RequestRecord


def reported(record: RequestRecord) -> tuple[int, int] | None:
    """Prompt and cached tokens; None without a report, or with one that cannot be: cached below zero or above all."""
    prompt, cached = record.input_tokens, record.cached_tokens
    return (prompt, cached) if prompt is not None and cached is not None and 0 <= cached <= prompt else None


def ttft_s(record: RequestRecord) -> float | None:
    """Seconds to the first token of a successful streamed response; None for another, whose end is all one sees."""
    seen = record.stream and record.outcome == "ok" and record.status < 400
    return record.ttft_s if seen else None


def itl_s(record: RequestRecord) -> float | None:
    """Seconds of the mean gap between a response's tokens, if it has any: (duration - TTFT) / (output tokens - 1)."""
    first, output = ttft_s(record), record.output_tokens
    if first is None or output is None or output < 2:
        return None
    return (record.duration_s - first) / (output - 1)


class Facts(NamedTuple):
    """All three of one record."""

    tokens: tuple[int, int] | None
    ttft_s: float | None
    itl_s: float | None


def facts(record: RequestRecord) -> Facts:
    """What this record says."""
    return Facts(reported(record), ttft_s(record), itl_s(record))
