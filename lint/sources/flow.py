"""What every kind of source comes down to: flows, each a thing that changes at a place of the prompt.

A rule takes the kinds that are its own with `uses`; it is one check for Python, templates and prompt files alike.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lint.fixes.mending import MOST_TRIED, fixes_of
from lint.rule import Check, Fix, Location, Severity, Sighting
from lint.sources import names

CHARS_PER_TOKEN: Final = 4
PAGE_TOKENS: Final = 16
"""Less static text than one page of an engine behind a change costs nothing that could be measured."""
TEXT_TOKENS: Final = 64
"""What must stand behind anything before it is worth a warning, and behind a variable, which may well be the same
for long, before it is worth a word: a line or two are lost in what a prompt says anew each time."""


_WHERE: Final = {
    "tools": "the tools",
    "system": "the system text",
    "turn": "an earlier turn",
    "last": "the last turn",
    "prompt": "the prompt",
    "history": "the conversation",
    "scope": "the request",
}


@dataclass(frozen=True, slots=True)
class Flow:
    """Something that changes where a prompt should not.

    kind: clock, date, id, random, sampled, shuffled, unordered, replica, state, counter, docs, signed (see
    python.origins), user, variable, window, edited, moving, json_order, json_format, address, image, mapping, blank
    and trim (see jinja_space), model, format, choice, cache_key, bypass, no_breakpoint, breakpoint_limit. label: the
    name of its source. row, column: of the source, from 1. site, site_row: the call that the prompt is handed to, ""
    and 0 in templates. where: tools, system, turn, last, prompt, history or scope. tokens: of static text known to
    stand behind it (4 characters each); more: unknown amounts too (a file, the conversation). loose: nothing says
    that what is chosen or ordered comes again in other requests.
    """

    kind: str
    label: str
    row: int
    column: int
    site: str
    site_row: int
    where: str
    tokens: int
    more: bool
    loose: bool = False

    @property
    def costs(self) -> bool:
        """Whether anything that could have been cached stands behind it."""
        return self.more or self.tokens >= PAGE_TOKENS

    @property
    def harms(self) -> bool:
        """Whether mending it would gain anything: what it costs stands behind it, or is its own text."""
        return self.costs or self.kind in names.COSTS_BY_ITSELF

    @property
    def warns(self) -> bool:
        """Whether that is more than a line or two."""
        return (
            self.harms
            and not self.loose
            and (self.more or self.tokens >= TEXT_TOKENS or self.kind in names.COSTS_BY_ITSELF)
        )


@dataclass(frozen=True, slots=True)
class FlowDocument:
    """A source file that was followed."""

    filename: str
    text: str
    flows: tuple[Flow, ...]

    def candidates(self, _flow: Flow) -> Iterable[Fix]:
        """Edits that may mend a flow, the best first."""
        return ()

    def reread(self, _text: str) -> tuple[Flow, ...] | None:
        """The flows of another text in place of this one; None when it does not parse."""
        return None

    def less(self, _flows: Sequence[Flow]) -> FlowDocument:
        """The same places, perhaps without text that has nothing to do with these flows."""
        return self

    def around(self, _flows: Sequence[Flow]) -> FlowDocument:
        """A document in which edits for these flows can be tried as in this one."""
        return self

    def fix(self, flow: Flow) -> Fix | None:
        """What mends a flow, for the first MOST_TRIED of the file."""
        return _fixes(self).get(flow)


@functools.lru_cache(maxsize=1)
def _fixes(document: FlowDocument) -> dict[Flow, Fix]:
    """Of all flows at once; of several rules that ask only the first has them tried."""
    tried = [flow for flow in document.flows[:MOST_TRIED] if flow.harms]
    return fixes_of(document, tried, document.less(tried).candidates)


def uses(*kinds: str, where: tuple[str, ...] = (), besides: tuple[str, ...] = ()) -> Check[FlowDocument]:
    """A check that reports flows of these kinds. where: only at these places; besides: not at these."""

    def find(document: FlowDocument) -> Iterator[Sighting]:
        for flow in document.flows:
            if flow.kind in kinds and (not where or flow.where in where) and flow.where not in besides:
                yield sighting(flow, document.fix(flow))

    return Check(FlowDocument, find)


def sighting(flow: Flow, fix: Fix | None = None) -> Sighting:
    """A flow in words; one that little stands behind is only for information."""
    site = f" given to {flow.site} (line {flow.site_row})" if flow.site else ""
    severity: Severity | None = None if flow.warns else "info"
    return Sighting(
        message=f"{_LEAD.get(flow.kind, 'changing text')} {flow.label} in {_WHERE[flow.where]}{site}{_behind(flow)}",
        severity=severity or _milder(flow),
        location=Location(flow.row, flow.column),
        recoverable_tokens=None,
        fix=fix,
    )


def _milder(flow: Flow) -> Severity | None:
    """A severity below the rule's own, for what changes seldom or may well never change."""
    return _MILDER.get(flow.kind)


_MILDER: Final[dict[str, Severity]] = {
    "variable": "info",
    "date": "info",
    "trim": "info",
    "deployed": "info",
    "blank": "warning",
    "mapping": "warning",
}
_LEAD: Final = {
    "clock": "time of day",
    "date": "date",
    "id": "identifier",
    "random": "random value",
    "sampled": "random choice",
    "shuffled": "shuffled order",
    "unordered": "unordered iteration",
    "mapping": "mapping in the order its caller gives it:",
    "replica": "text of one process or host",
    "state": "state of the machine",
    "counter": "counter",
    "docs": "retrieved text",
    "signed": "signed URL",
    "address": "address of an object without a text of its own:",
    "image": "image that is another one each time:",
    "json_format": "argument that spells the same JSON otherwise:",
    "moving": "message inserted at a place that moves:",
    "cache_key": "cache key of one request alone:",
    "bypass": "setting with which the prompt is computed again:",
    "breakpoint_limit": "too many cache breakpoints:",
    "no_breakpoint": "no cache breakpoint:",
    "user": "user text",
    "variable": "variable",
    "window": "history cut from the front",
    "edited": "earlier turns rewritten",
    "json_order": "JSON without sort_keys:",
    "blank": "block that writes the same words in every case, with other white space:",
    "trim": "optional block without `-`, left out it is a blank line or, rendered with trim_blocks, none:",
    "model": "argument that may change:",
    "deployed": "argument that each deployment sets:",
    "format": "argument that may change:",
    "choice": "argument that may change:",
}


def _behind(flow: Flow) -> str:
    if flow.where == "scope" or flow.kind in ("window", "edited", "moving"):
        return ""
    if not flow.tokens:
        return ", ahead of text of unknown length" if flow.more else ", with no static text behind it"
    return f", ahead of {'at least ' if flow.more else ''}{flow.tokens:,} tokens of static text"
