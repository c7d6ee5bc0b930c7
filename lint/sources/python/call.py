"""One call with its arguments evaluated, and what sources of changing text return."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lint.sources import names
from lint.sources.python import formats
from lint.sources.python.module import chain
from lint.sources.python.origins import narrow, of_call
from lint.sources.python.scope import Scope, place
from lint.sources.python.values import (
    DEFAULTED,
    EMPTY,
    ENVIRONMENT,
    UNKNOWN,
    Map,
    Part,
    Seq,
    Text,
    Value,
    is_own,
    items_of,
    marked,
    parts_of,
    retag,
    volatile,
)

_STAYS = frozenset({"window", "edited", "unordered", "shuffled"})
"""What hits a list and not what a call makes of it."""
_LOOKS_UP = frozenset("get load fetch find lookup list read query search".split())
"""First words of functions to which an id is a key, and no part of what they return."""
_WRITES = frozenset(
    """format render build make create compose prompt text template fill header system instructions message str wrap
    dumps string join content preamble""".split()
)
"""Words of functions that put what they are given into a text."""
_OF_ONE = frozenset({"choice", "choices"})
"""Draws that vary a prompt on purpose, more often than they choose its examples."""
_RANDOM = frozenset({"random", "sampled", "shuffled"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its arguments evaluated. rest: values of `*args` and `**kwargs` that are not known."""

    node: ast.Call
    scope: Scope
    positional: tuple[Value, ...]
    named: Mapping[str, Value]
    places: Mapping[str, tuple[int, int]]

    @property
    def everything(self) -> tuple[Value, ...]:
        """All argument values."""
        return (*self.positional, *self.named.values())

    def first(self) -> Value:
        """The first positional argument, or nothing."""
        return self.positional[0] if self.positional else EMPTY

    def part(self, kind: str, label: str | None = None) -> Part:
        """A part that comes from this call."""
        row, column = place(self.node)
        return Part(kind, label or formats.shown(self.node), row, column)


def carried(call: Call) -> tuple[Part, ...]:
    """What changes in any argument, as far as a result may carry it; an identifier may as well be what something is
    found by, unless the call is one that writes text."""
    found = names.words(chain(call.node.func).rpartition(".")[2])
    lost = {*_STAYS, "id"} if found and found[0].removeprefix("a") in _LOOKS_UP else _STAYS
    parts = (part for value in call.everything for part in volatile(told(value)) if part.kind not in lost)
    writes = not _WRITES.isdisjoint(found)
    return tuple(replace(part, loose=part.loose or (part.kind == "id" and not writes)) for part in parts)


def told(value: Value) -> Value:
    """A value less the objects in it, of which nobody knows which fields are read."""
    if isinstance(value, Map) and value.made:
        return EMPTY
    return Seq(tuple(map(told, value.items)), value.marks) if isinstance(value, Seq) else value


def origin(call: Call, name: str, kind: str) -> Value | None:
    """What a call of a source of this kind returns; None when it is no source after all."""
    if kind in _RANDOM and call.scope.seeded and name.startswith("random."):
        return UNKNOWN
    if name in ("set", "frozenset"):
        order = replace(call.part("unordered"), loose=is_own(call.first()))
        return marked(Seq(items_of(call.first())), order) if call.positional else UNKNOWN
    if kind == "state" and name not in ("os.getcwd", "pathlib.Path.cwd") and not _runs_git(call):
        return UNKNOWN
    if kind == ENVIRONMENT:
        other = call.positional[1:] or (call.named.get("default", EMPTY),)
        return Text((call.part(DEFAULTED if parts_of(other[0]) else kind),))
    if kind == "sampled":
        loose = chain(call.node.func).rpartition(".")[2] in _OF_ONE or _of_numbers(call)
        return Seq(items_of(call.first()), (replace(call.part(kind), loose=loose),))
    part = Text((replace(call.part(kind), loose=kind == "random"),))
    return retag(part, narrow("", formats.known(call.first()))) if name == "time.strftime" else part


def _of_numbers(call: Call) -> bool:
    """Whether what is drawn are numbers, which only pick something."""
    drawn = call.node.args[0] if call.node.args else None
    return isinstance(drawn, ast.Call) and call.scope.resolve(drawn.func) == "range"


def made_by(call: Call, argument: str) -> Value:
    """What a function without parameters returns that was given as this argument; of anything else, the argument."""
    node = next((keyword.value for keyword in call.node.keywords if keyword.arg == argument), None)
    if isinstance(node, ast.Lambda):
        return call.scope.run.evaluate(node.body, call.scope)
    if isinstance(node, ast.Name | ast.Attribute):
        function = call.scope.function(node)
        kind = of_call(call.scope.resolve(node))
        if function is not None:
            return call.scope.run.call(function, call.scope, (), {})[0]
        if kind is not None:
            row, column = place(node)
            return Text((Part(kind, formats.shown(node), row, column),))
    return call.named[argument]


def _runs_git(call: Call) -> bool:
    words = " ".join(part.text or "" for value in call.everything for part in parts_of(value))
    return any(word in words for word in ("git", "pwd", "hostname", "date"))
