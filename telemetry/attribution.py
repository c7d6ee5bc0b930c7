"""Every uncached token has a reason: what of a prompt the engine computed, and why it had to.

One idea: all that is known about a prompt at dispatch are places in it, "up to here": how far its worker was believed
and was confirmed to hold it, how far others held it, where text comes again. With the engine's own count of cached
tokens the places cut the uncached rest into pieces, and each piece gets the first reason that applies:

    page         lost to page rounding, and the last token, which engines always compute
    stale        the worker was believed to hold it, no report or event ever confirmed it
    evicted      the worker was confirmed to hold it and no longer does; or another was, and nobody holds it any more
    routed_away  another worker held it
    isolated     the same text was seen under another cache salt
    divergent    behind the place where it parts from its nearest recent prompt, text that stands in that one too
    new          nobody had finished it

Places are bytes of the view; they become tokens by the prompt's own tokens per byte, rounded down, so their order
stays. The counts add up to the uncached tokens exactly. What each reason misses: docs/misses.md.
"""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

Reason = Literal["page", "stale", "evicted", "routed_away", "isolated", "divergent", "new", "unknown"]

REASONS: Final[tuple[Reason, ...]] = (
    *("page", "stale", "evicted", "routed_away", "isolated", "divergent", "new"),
    "unknown",
)


class Places(NamedTuple):
    """What was known about a prompt when it was dispatched, in bytes of its view from its start.

    size: of the view; 0 when there is none. confirmed: the worker was, at any time, confirmed to hold so much. held:
    it was believed to hold so much. elsewhere: some worker was. lost: some worker was confirmed to, at any time.
    isolated: so much was seen under another salt. recurring: (start, end) of text that stands in the nearest recent
    prompt too, in any order. parted: where it parts from that prompt; 0 when its worker never had that one.
    """

    size: int
    confirmed: int = 0
    held: int = 0
    elsewhere: int = 0
    lost: int = 0
    isolated: int = 0
    recurring: tuple[tuple[int, int], ...] = ()
    parted: int = 0


def attribute(
    prompt_tokens: int, cached_tokens: int | None, places: Places, *, page_tokens: int = 1
) -> dict[Reason, int]:
    """The uncached tokens of one prompt by reason, in the order of REASONS, those without tokens left out.

    prompt_tokens, cached_tokens: as the engine reported them; without a report, or with one that cannot be (more
    cached than sent), all is `unknown`. page_tokens: what the engine caches in one piece.
    """
    if cached_tokens is None or not 0 <= cached_tokens <= prompt_tokens:
        return {"unknown": prompt_tokens} if prompt_tokens > 0 else {}
    if cached_tokens == prompt_tokens:
        return {}
    scale = _Scale(prompt_tokens, places.size)
    edges: tuple[tuple[Reason, int], ...] = (
        ("evicted", scale.tokens(places.confirmed)),
        ("stale", scale.tokens(places.held)),
        ("routed_away", scale.tokens(places.elsewhere)),
        ("evicted", scale.tokens(places.lost)),
        ("isolated", scale.tokens(places.isolated)),
    )
    known = max(edge for _, edge in edges)
    rounding = max(known, cached_tokens) + page_tokens - 1  # what is missing up to here may be rounding alone
    known = max(known, min(scale.tokens(places.parted), rounding))
    last = prompt_tokens - 1
    whole = min(known, last) // page_tokens * page_tokens
    counts: dict[Reason, int] = dict.fromkeys(REASONS, 0)
    at = cached_tokens
    for reason, edge in edges:
        end = min(edge, whole)
        if end > at:
            counts[reason] += end - at
            at = end
    behind = min(max(at, known), last)
    recurring = ((scale.tokens(start), scale.tokens(end)) for start, end in places.recurring)
    counts["divergent"] = _within(recurring, behind, last)
    counts["new"] = max(0, last - behind) - counts["divergent"]
    counts["page"] = prompt_tokens - cached_tokens - sum(counts.values())
    return {reason: count for reason, count in counts.items() if count}


class _Scale:
    """From bytes of the view to tokens of the prompt."""

    __slots__ = ("_size", "_tokens")

    def __init__(self, tokens: int, size: int) -> None:
        self._tokens = tokens
        self._size = size

    def tokens(self, place: int) -> int:
        """The token in which this byte lies, rounded down: none goes beyond the prompt, none overtakes another."""
        if place >= self._size:
            return self._tokens if self._size else 0
        return place * self._tokens // self._size if place > 0 else 0


def _within(ranges: Iterable[tuple[int, int]], start: int, end: int) -> int:
    """How many of the tokens from `start` to `end` lie in these ranges, each counted once."""
    covered, at = 0, start
    for low, high in sorted(ranges):
        low, high = max(low, at), min(high, end)
        if high > low:
            covered += high - low
            at = high
    return covered
