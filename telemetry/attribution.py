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

from typing import Final, NamedTuple, get_args

from prefix.record import UncachedReason

Reason = UncachedReason

REASONS: Final[tuple[Reason, ...]] = get_args(Reason)

_EDGES: Final[tuple[Reason, ...]] = ("evicted", "stale", "routed_away", "evicted", "isolated")
"""What is missing before each of the places of `Places` up to `isolated`."""


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
    """The uncached tokens of one prompt by reason; reasons without tokens are left out.

    prompt_tokens, cached_tokens: as the engine reported them; without a report, or with one that cannot be (more
    cached than sent), all is `unknown`. page_tokens: what the engine caches in one piece.
    """
    if cached_tokens is None or not 0 <= cached_tokens <= prompt_tokens:
        return {"unknown": prompt_tokens} if prompt_tokens > 0 else {}
    if cached_tokens == prompt_tokens:
        return {}
    size, at, known, edges, parted = places.size, cached_tokens, 0, places[1:6], places.parted
    if size > 0:
        known = _edge(max(0, *edges), size, prompt_tokens)
    rounding = max(known, at) + page_tokens - 1  # what is missing up to here may be rounding alone
    if known < rounding and parted > 0 < size:
        known = max(known, min(parted * prompt_tokens // size, prompt_tokens, rounding))
    last = prompt_tokens - 1
    whole = min(known, last) // page_tokens * page_tokens
    counts: dict[Reason, int] = {"page": 0}
    for reason, place in zip(_EDGES, edges, strict=True) if size > 0 and whole > at else ():
        if place > 0 and (end := min(_edge(place, size, prompt_tokens), whole)) > at:
            counts[reason] = counts.get(reason, 0) + end - at
            at = end
    behind = min(max(at, known), last)
    recurring = _recurring(places, prompt_tokens, behind, last) if places.recurring else 0
    if recurring:
        counts["divergent"] = recurring
    if last > behind + recurring:
        counts["new"] = last - behind - recurring
    counts["page"] = prompt_tokens - cached_tokens - sum(counts.values())
    return counts


def _edge(place: int, size: int, tokens: int) -> int:
    """A place in tokens."""
    return place * tokens // size if place < size else tokens


def _recurring(places: Places, tokens: int, start: int, end: int) -> int:
    """How many of the tokens from `start` to `end` lie in text that comes again, each counted once."""
    covered, size = 0, places.size
    for low, high in sorted(places.recurring) if size > 0 else ():
        begin = max(start, low * tokens // size)
        start = max(begin, min(end, high * tokens // size))
        covered += start - begin
    return covered
