"""Text that is another one in the next request: clocks, ids, signatures, the state of a machine. Found, and masked.

One pass over the text per family of detectors, each looking for the rare characters of its form first, so that the
cost grows with the length of the text and nothing else. Where two findings overlap the certain one stands, then the
longer one: a signed URL over the epoch in it, a working directory over the id in its path. What cannot be told from a
constant fact is reported as not certain, and not masked. The linter, the prompt version (prefix.split) and level
`hoist` share these detectors.
Cases: tests/data/cases 01, 03, 04, 05, 07, 29, 32.
"""

import re
from collections.abc import Callable, Collection, Iterator

from prefix.volatile.counters import find_counters
from prefix.volatile.git import find_git_state
from prefix.volatile.ids import find_attribution, find_ids, find_signed_urls
from prefix.volatile.labelled import find_labelled, find_replicas
from prefix.volatile.moments import find_moments, find_weekdays
from prefix.volatile.span import KINDS, Kind, VolatileSpan

__all__ = ["KINDS", "Kind", "VolatileSpan", "find_volatile", "mask"]

_Detector = Callable[[str], Iterator[VolatileSpan]]
_DETECTORS: tuple[_Detector, ...] = (
    find_attribution,
    find_git_state,
    find_weekdays,
    find_labelled,
)
_OF_DIGITS: tuple[_Detector, ...] = (find_moments, find_ids, find_signed_urls, find_replicas, find_counters)
"""Where two find the very same stretch, the earlier one names its kind; what has digits is the first to be asked."""
_DIGIT = re.compile("[0-9]")


def find_volatile(text: str, kinds: Collection[Kind] | None = None) -> list[VolatileSpan]:
    """The volatile spans of a text in order, without overlap; of these kinds only, when given.

    `kinds` chooses from the spans of the whole text: what is found does not depend on what is asked for.
    """
    detectors = (*_OF_DIGITS, *_DETECTORS) if _DIGIT.search(text) else _DETECTORS
    found = sorted((span for detector in detectors for span in detector(text)), key=lambda span: span.start)
    kept: list[VolatileSpan] = []
    for span in found:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        elif _weight(span) > _weight(kept[-1]):
            kept[-1] = span
    return kept if kinds is None else [span for span in kept if span.kind in kinds]


def _weight(span: VolatileSpan) -> tuple[bool, int]:
    return span.certain, span.end - span.start


def mask(text: str) -> str:
    """The text with `⟦kind⟧` in place of each span that is certain to move."""
    parts: list[str] = []
    at = 0
    for span in find_volatile(text):
        if span.certain:
            parts += (text[at : span.start], f"⟦{span.kind}⟧")
            at = span.end
    return "".join(parts) + text[at:] if parts else text
