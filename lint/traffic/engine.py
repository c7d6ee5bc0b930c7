"""From requests, one after the other, to what they lost and why.

Each request is compared with the turn before it, or else with the nearest prior of its template. What comes again
behind the place where the two part (prefix.realign) was lost to the difference, not to being new; only then is the
cause asked for (prefix.causes). No pattern decides: a date that never changes costs nothing and is not mentioned.
"""

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from lint.breakpoints import blocks, model_of
from lint.costing import Summary
from lint.providers import bills_by_breakpoint
from lint.sources.flow import FlowDocument
from lint.traffic.context import context
from lint.traffic.facts import Facts
from lint.traffic.forks import Forks
from lint.traffic.form import same_form
from lint.traffic.formless import FORMS, alike
from lint.traffic.inserts import moved_insert
from lint.traffic.known import LONGEST_VALUE, KnownCauses
from lint.traffic.linking import made_at
from lint.traffic.logged import Logged, told
from lint.traffic.losses import WEAK, Loss, Losses
from lint.traffic.naming import closer
from lint.traffic.pairs import Parted, around, in_newest, is_batch, kind_of, same_end, session_change
from lint.traffic.scope import MEMBERS as SCOPE
from lint.traffic.seen import Request, Seen, block_keys
from lint.traffic.tails import Tails
from lint.traffic.view import view as view_of
from lint.traffic.watcher import Exchange, Note
from lint.traffic.watchers import watchers
from prefix.causes import Cause
from prefix.realign import common_prefix, realign

_LEAST_WEAK: Final = 256
"""Bytes that must come again for words alone to count: less is what any two texts share."""
_PART: Final = 3
"""Or this part of a short prompt, in one piece."""
_LEAST_SHARE: Final = 0.005
"""Of a template's input: words that cost less are not worth one."""
_END: Final = len(b"]}")
"""What closes a view: one that another begins with but for that is all of it."""
_LINKED: Final = 64
_SHARED_LISTS: Final = frozenset(("tool_order", "tool_set"))


class Traffic(NamedTuple):
    """A log, read. requests: how many. losses: the most costly first. bytes: of all prompts. notes: what is to be
    said beside the losses. tells: what the log says beside the bodies (lint.traffic.logged). templates: which one
    each request is of. facts: what it says of times and tokens. summary: what mending all causes is worth, when it
    was replayed."""

    filename: str
    requests: int
    bytes: int
    losses: tuple[Loss, ...]
    notes: tuple[Note, ...] = ()
    tells: frozenset[str] = frozenset()
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
        self._forks = Forks()
        self._tails = Tails()
        self._watchers = watchers()
        self._tells: frozenset[str] = frozenset()
        self._templates = array("i")
        self._facts = Facts()
        self._bytes = 0

    def add(self, logged: Logged, row: int) -> None:
        """One request, and what its log says of it. row: the line it stands in. Raises BodyError for a body that is
        no JSON."""
        marked, body = logged.body, same_form(logged.body)
        view = view_of(body)
        request = Request(len(self._templates), row, body, view, self._seen.template(view))
        keys = block_keys(view, repr((request.template, *(body.get(name) for name in SCOPE))))
        nearest = self._seen.nearest(keys)
        before = self._seen.turn_before(body) or self._seen.in_session(logged.session, body)
        cached = common_prefix(nearest.view, view) if nearest is not None else 0
        goes_on = nearest is not None and cached >= len(nearest.view) - _END
        loss = self._compare(nearest if goes_on else before or nearest, nearest, cached, request)
        self._forks.see(request, nearest, loss)
        found = blocks(marked) if bills_by_breakpoint(model_of(marked)) else ()
        exchange = Exchange(request, logged, before, nearest, cached, keys, found)
        for watcher in self._watchers:
            watcher.see(exchange)
        self._tells |= told(logged)
        self._losses.sent(request.template, len(view))
        self._seen.add(request, keys, logged.session)
        self._templates.append(request.template)
        self._bytes += len(view)
        self._facts.add(logged, len(view))

    def result(self, filename: str) -> Traffic:
        """What all of them lost."""
        losses = tuple(loss for loss in self._losses.result() if self._named(loss))
        notes = tuple(note for watcher in self._watchers for note in watcher.notes(losses))
        count = len(self._templates)
        return Traffic(filename, count, self._bytes, losses, notes, self._tells, self._templates, self._facts)

    def _named(self, loss: Loss) -> bool:
        """Give a loss its closest name; False for one that nothing could be done about."""
        if (loss.kind in WEAK or loss.kind == "text_order") and loss.share < _LEAST_SHARE:
            return False
        one_set, constant = self._tails.are_one_set(loss), self._tails.are_constant(loss)
        name = "forked_template" if self._forks.is_fork(loss) else closer(loss, one_set=one_set, constant=constant)
        loss.kind = name or loss.kind
        return name is not None

    def _compare(self, prior: Request | None, nearest: Request | None, cached: int, request: Request) -> Loss | None:
        """nearest: what it shares with this prior, `cached` bytes, is cached anyway."""
        if prior is None or is_batch(request.body):
            return None
        same = cached if prior is nearest else common_prefix(prior.view, request.view)
        parted = session_change(prior.body, request.body)
        if parted is not None:
            lost = same if parted.kind == "response_format" else same - cached
            return self._count(parted, prior, request, lost) if lost > 0 else None
        insert = moved_insert(prior.body, request.body)
        if insert is not None and cached <= same:
            moved = Parted("moving_insert", insert.pointer, insert.text, None)
            return self._count(moved, prior, request, insert.lost)
        return self._compare_text(prior, request, same, cached)

    def _compare_text(self, prior: Request, request: Request, same: int, cached: int) -> Loss | None:
        runs = realign(prior.view, request.view, same)
        again = sum(run.length for run in runs) or same_end(prior.view, request.view, same)
        elsewhere = max(0, cached - same)
        if again <= elsewhere and not self._is_form(prior, request, same, again, elsewhere):
            return None
        cause = self._known.cause(prior, request, same)
        if cause is None or cause.kind == "appended":
            return None
        if cause.kind in FORMS and not in_newest(request.body, cause.path):
            again = max(again, alike(prior.view, request.view, same))
        kind, lost = kind_of(cause, runs, prior.body, request.body), again - elsewhere
        weak = lost < _LEAST_WEAK and not (runs and lost * _PART > len(request.view))
        if lost <= 0 or (kind in WEAK and weak):
            return None
        self._tails.see(request, kind, same, runs)
        return self._count(cause, prior, request, lost, kind)

    @staticmethod
    def _is_form(prior: Request, request: Request, same: int, again: int, elsewhere: int) -> bool:
        """Little comes again as it was, but more would in one form."""
        few = again * 2 < len(request.view) - same
        return few and alike(prior.view, request.view, same) > elsewhere

    def _count(
        self, cause: Cause | Parted, prior: Request, request: Request, lost: int, kind: str | None = None
    ) -> Loss:
        pointer = cause.path
        if cause.kind in _SHARED_LISTS:
            pointer = "/" + pointer.split("/")[1]
        values = cause.a and cause.a[:LONGEST_VALUE], cause.b and cause.b[:LONGEST_VALUE]
        loss = Loss(kind or cause.kind, request.template, pointer, cause.offset, values, request.number, request.row)
        known = self._losses.add(loss, lost)
        if known is not None and loss.offset is not None:
            known.context = context(prior.body, request.body, loss.kind, pointer, loss.offset, cause.b)
        if loss.occurrences:
            loss.around = around(request.body, cause)
        return loss
