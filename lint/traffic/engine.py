"""From requests, one after the other, to what they lost and why.

Each request is compared with the turn before it, or else with the nearest prior of its template. What comes again
behind the place where the two part (prefix.realign) was lost to the difference, not to being new; only then is the
cause asked for (prefix.causes). No pattern decides: a date that never changes costs nothing and is not mentioned.
"""

from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from lint.costing import Summary
from lint.sources.flow import FlowDocument
from lint.traffic.context import context
from lint.traffic.facts import Facts
from lint.traffic.form import same_form
from lint.traffic.known import LONGEST_VALUE, KnownCauses
from lint.traffic.linking import made_at
from lint.traffic.logged import Logged
from lint.traffic.losses import WEAK, Loss, Losses
from lint.traffic.scope import MEMBERS as SCOPE
from lint.traffic.scope import schema_in_prompt
from lint.traffic.seen import Request, Seen, block_keys
from prefix.causes import Cause, value_text
from prefix.divergence import first_divergence, view_bytes
from prefix.parameters import parameter_changes
from prefix.realign import Run, common_prefix, realign

_LEAST_WEAK: Final = 256
"""Bytes that must come again for words alone to count: less is what any two texts share."""
_SHORT: Final = 2048
_LINKED: Final = 64
_LEAST_END: Final = 24
_SHARED_LISTS: Final = frozenset(("tool_order", "tool_set"))


class Traffic(NamedTuple):
    """A log, read. requests: how many. losses: the most costly first. bytes: of all prompts. templates: which one
    each request is of. facts: what it says of times and tokens. summary: what mending all causes is worth,
    when it was replayed."""

    filename: str
    requests: int
    bytes: int
    losses: tuple[Loss, ...]
    templates: Sequence[int] = ()
    facts: Facts = Facts()
    summary: Summary | None = None

    def linked(self, origins: Sequence[FlowDocument]) -> "Traffic":
        """With the line of source that makes each of the most costly causes, where it is in these documents."""
        for loss in self.losses[:_LINKED]:
            loss.made_at = made_at(loss, origins)
        return self


class TrafficEngine:
    """Takes requests in the order of the log."""

    def __init__(self) -> None:
        self._seen = Seen()
        self._losses = Losses()
        self._known = KnownCauses()
        self._templates = array("i")
        self._facts = Facts()
        self._bytes = 0

    def add(self, body: Mapping[str, Any], row: int) -> None:
        """One parsed request body. row: the line it stands in. Raises BodyError when it is no JSON."""
        self.add_logged(Logged(dict(body)), row)

    def add_logged(self, logged: Logged, row: int) -> None:
        """One request, and what its log says of it."""
        body = same_form(logged.body)
        view = view_bytes(body)
        request = Request(len(self._templates), row, body, view, self._seen.template(view))
        keys = block_keys(view, repr((request.template, *(body.get(name) for name in SCOPE))))
        nearest = self._seen.nearest(keys)
        prior = self._seen.turn_before(body) or self._seen.in_session(logged.session, body) or nearest
        if prior is not None:
            self._compare(prior, nearest, request)
        self._losses.sent(request.template, len(view))
        self._seen.add(request, keys, logged.session)
        self._templates.append(request.template)
        self._bytes += len(view)
        self._facts.add(logged, len(view))

    def result(self, filename: str) -> Traffic:
        """What all of them lost."""
        return Traffic(
            filename, len(self._templates), self._bytes, self._losses.result(), self._templates, self._facts
        )

    def _compare(self, prior: Request, nearest: Request | None, request: Request) -> None:
        """nearest: what it shares with this prior is cached anyway."""
        cached = common_prefix(nearest.view, request.view) if nearest is not None else 0
        same = cached if prior is nearest else common_prefix(prior.view, request.view)
        parted = _session_change(prior.body, request.body)
        if parted is not None:
            lost = same if parted.kind == "response_format" else same - cached
            if lost > 0:
                self._count(parted, prior, request, lost)
            return
        runs = realign(prior.view, request.view, same)
        again = sum(run.length for run in runs) or _same_end(prior.view, request.view, same)
        lost = again - max(0, cached - same)
        if lost <= 0:
            return
        cause = self._known.cause(prior, request, same)
        if cause is None or cause.kind == "appended":
            return
        kind = "text_order" if cause.kind in WEAK and _crossing(runs) else cause.kind
        if kind not in WEAK or lost >= _LEAST_WEAK:
            self._count(cause, prior, request, lost, kind)

    def _count(
        self, cause: "Cause | Parted", prior: Request, request: Request, lost: int, kind: str | None = None
    ) -> None:
        pointer = cause.path
        if cause.kind in _SHARED_LISTS:
            pointer = "/" + pointer.split("/")[1]
        values = cause.a and cause.a[:LONGEST_VALUE], cause.b and cause.b[:LONGEST_VALUE]
        loss = Loss(kind or cause.kind, request.template, pointer, cause.offset, values, request.number, request.row)
        known = self._losses.add(loss, lost)
        if known is not None and loss.offset is not None:
            known.context = context(prior.body, request.body, loss.kind, pointer, loss.offset, cause.b)


class Parted(NamedTuple):
    """What changed between two turns of one conversation beside its text; named as prefix.causes.Cause."""

    kind: str
    path: str
    a: str | None
    b: str | None
    offset: int | None = None


def _session_change(a: Mapping[str, Any], b: Mapping[str, Any]) -> Parted | None:
    """Of a conversation that goes on: another model, adapter or format."""
    if all(a.get(name) == b.get(name) for name in (*SCOPE, "response_format")):
        return None
    where = first_divergence(a, b)
    if where is None or where.reason != "append" or where.path.count("/") != 2:
        return None
    for change in parameter_changes(a, b):
        return Parted(change.kind, f"/{change.name}", change.a, change.b)
    formats = [value_text(body["response_format"]) if body.get("response_format") else None for body in (a, b)]
    if formats[0] == formats[1] or not schema_in_prompt(b):
        return None
    return Parted("response_format", "/response_format", formats[0], formats[1])


def _same_end(a: bytes, b: bytes, start: int) -> int:
    """What two short prompts have in common at their ends: too little text for runs, but a small log is one too."""
    if max(len(a), len(b)) > _SHORT:
        return 0
    end = common_prefix(a[start:][::-1], b[start:][::-1])
    return end if end >= _LEAST_END else 0


def _crossing(runs: list[Run]) -> bool:
    """The same pieces in another order."""
    return any(later.a < earlier.a for earlier, later in pairwise(runs))
