"""Which line of source makes what was found in traffic.

A prompt's constant text stands in the source too, mostly as it is. So a place in a prompt is looked up by the text
around it: where the text that ends before the value is followed by a hole of a template (`{name}`, `{{ name }}`,
`%s`, `" + name`), or a hole by the text behind the value, the value is put in there. The data flow of the source
(lint.sources) then says where it comes from: the flow of the same kind, in that file. What has no text of its own
(an order, a window) is linked by kind alone, and only when one flow in all of the source can be meant.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from lint.rule import Location, Related
from lint.sources.flow import Flow, FlowDocument
from lint.traffic.losses import Loss

_FLOWS: Final[dict[str, tuple[str, ...]]] = {
    "clock": ("clock", "date"),
    "date": ("date", "clock"),
    "request_id": ("id", "random"),
    "hostname": ("replica",),
    "counter": ("counter", "state"),
    "environment": ("state",),
    "signed_url": ("signed",),
    "key_order": ("json_order",),
    "json_format": ("json_order",),
    "tool_order": ("shuffled", "unordered", "sampled"),
    "tool_set": ("sampled", "unordered"),
    "text_order": ("shuffled", "sampled", "unordered"),
    "few_shot_order": ("shuffled", "sampled", "unordered"),
    "window_slid": ("window",),
    "history_edited": ("edited",),
    "model": ("model",),
    "response_format": ("format",),
    "tool_choice": ("choice",),
    **dict.fromkeys(("text", "system_text", "new_message"), ("user", "docs", "variable", "id", "random")),
}
_HOLE: Final = r"""(?:\{\{[^{}]*\}\}|\$?\{[^{}]*\}|%s|%\(\w+\)s|["']\s*\+\s*[\w.()\[\]]+(?:\s*\+\s*f?["'])?)"""
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
_SIZES: Final = (40, 20, 10, 5)
_LEAST: Final = 4
_ENOUGH: Final = 12
_DEAREST: Final = 32


class _Hole(NamedTuple):
    """Where a template has a hole at the place that was found. score: characters of constant text that agree."""

    document: FlowDocument
    start: int
    text: str
    score: int


def made_at(loss: Loss, origins: Sequence[FlowDocument]) -> Related | None:
    """The place in these documents that makes what a loss found; None when none, or more than one, can be meant."""
    kinds = _FLOWS.get(loss.kind, ())
    hole = max((hole for document in origins for hole in _holes(loss, document)), key=lambda h: h.score, default=None)
    if hole is not None:
        flow = _source_of(hole, kinds)
        return _flow(hole.document, flow) if flow is not None else _place(hole)
    lines = _lines(loss)
    near = [document for document in origins if any(line in document.text for line in lines)] if lines else origins
    found = [(document, flow) for document in near for flow in document.flows if flow.kind in kinds]
    return _flow(*found[0]) if len(found) == 1 else None


def _holes(loss: Loss, document: FlowDocument) -> Iterator[_Hole]:
    """The hole between most of the text around the value: source seldom has all of it on one line."""
    before, after = loss.context.before.rpartition("\n")[2], loss.context.after.partition("\n")[0]
    for size in _SIZES:
        tail, head = before[-size:].lstrip(), after[:size].rstrip()
        for one, other in ((tail, head), (tail, ""), ("", head)):
            if max(len(one.strip()), len(other.strip())) < _LEAST:
                continue
            match = re.search(f"{re.escape(one)}({_HOLE}){re.escape(other)}", document.text)
            if match is not None:
                yield _Hole(document, match.start(1), match[1], len(one.strip()) + len(other.strip()))
                return


def _source_of(hole: _Hole, kinds: Sequence[str]) -> Flow | None:
    """The flow that fills a hole: of a kind that fits, and named in the hole, in its line, or the only one."""
    flows = [flow for kind in kinds for flow in hole.document.flows if flow.kind == kind]
    names = set(_NAME.findall(hole.text))
    row = hole.document.text.count("\n", 0, hole.start) + 1
    named = [flow for flow in flows if flow.row == row or names.intersection(_NAME.findall(flow.label))]
    return named[0] if named else flows[0] if len(flows) == 1 else None


def _lines(loss: Loss) -> list[str]:
    """What the constant text around the place says, line by line."""
    pieces = (loss.context.before, loss.context.after, loss.context.behind)
    lines = [line.strip()[:_DEAREST] for piece in pieces for line in piece.split("\n")]
    return [line for line in lines if len(line) >= _ENOUGH]


def _flow(document: FlowDocument, flow: Flow) -> Related:
    return Related(document.filename, Location(flow.row, flow.column), flow.label)


def _place(hole: _Hole) -> Related:
    text = hole.document.text
    row, column = text.count("\n", 0, hole.start) + 1, hole.start - text.rfind("\n", 0, hole.start)
    name = _NAME.search(hole.text)
    return Related(hole.document.filename, Location(row, column), name[0] if name else hole.text)
