"""Where the data flow stands: the names it knows in one function, and what one module has used up."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from lint.sources.python.module import Function, Module
from lint.sources.python.values import DYNAMIC, Part, Seq, Text, Value, parts_of

MAX_STEPS = 100_000
MAX_DEPTH = 6


class OutOfSteps(Exception):
    """The module needs more steps than a linter may spend on one file."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A prompt handed to a call site. name: of the site; arguments: what was given, by what it is. guessed: it is no
    site that we know, only something that is called or built like a prompt."""

    name: str
    row: int
    column: int
    arguments: dict[str, Value]
    places: dict[str, tuple[int, int]]
    guessed: bool = False


@dataclass(slots=True)
class Run:
    """The analysis of one module."""

    module: Module
    call: Callable[[Function, Scope, tuple[Value, ...], Mapping[str, Value]], tuple[Value, Mapping[str, Value]]]
    execute: Callable[[Iterable[ast.stmt], Scope], None]
    evaluate: Callable[[ast.expr, Scope], Value]
    fields: Callable[[Run, str], Mapping[str, Value]]
    globals: dict[str, Value] = field(default_factory=dict)
    instances: dict[str, dict[str, Value]] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)
    entered: set[int] = field(default_factory=set)
    steps: int = 0

    def step(self) -> None:
        """Count one statement or expression. Raises OutOfSteps."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise OutOfSteps


@dataclass(slots=True)
class Scope:
    """One function being followed. env: names, and dotted names of attributes, to values; walks: loop variable to the
    list it walks over; aged: those of them that a loop tells old from new; orders: what leaves the order of the loops
    around open; bounded: what is done here is done as often as needed, or when something is too long; born: how
    many orders were open when a name was bound; fixed: parameters that are left at a
    true or false default; seeded: the random module has a fixed seed."""

    run: Run
    env: dict[str, Value] = field(default_factory=dict)
    owner: str | None = None
    active: tuple[int, ...] = ()
    walks: dict[str, str] = field(default_factory=dict)
    aged: set[str] = field(default_factory=set)
    orders: tuple[Part, ...] = ()
    fixed: Mapping[str, bool] = field(default_factory=dict)
    closures: dict[str, Function] = field(default_factory=dict)
    returned: list[Value] = field(default_factory=list)
    seeded: bool = False
    top: bool = False
    bounded: bool = False
    born: dict[str, int] = field(default_factory=dict)

    def resolve(self, node: ast.expr) -> str:
        """The dotted name a callee was imported as, or "" when it is no imported or built-in name."""
        words: list[str] = []
        while isinstance(node, ast.Attribute):
            words.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.env:
            return ""
        base = self.run.module.imports.get(node.id, "" if words else node.id)
        return ".".join([base, *reversed(words)]) if base else ""

    def function(self, node: ast.expr) -> Function | None:
        """The function of this module that a callee names."""
        functions = self.run.module.functions
        if isinstance(node, ast.Name):
            return self.closures.get(node.id) or functions.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self.owner if node.value.id in ("self", "cls") or node.value.id == self.me() else node.value.id
            return functions.get(f"{owner}.{node.attr}")
        return None

    def decides(self, test: ast.expr) -> bool | None:
        """What a condition is, when it is a parameter that is left at its default."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.decides(test.operand)
            return None if inner is None else not inner
        return self.fixed.get(test.id) if isinstance(test, ast.Name) else None

    def branch(self) -> Scope:
        """The same place, with names of its own."""
        return Scope(
            self.run,
            dict(self.env),
            self.owner,
            self.active,
            dict(self.walks),
            self.aged,
            self.orders,
            self.fixed,
            self.closures,
            self.returned,
            self.seeded,
            self.top,
            self.bounded,
            self.born,
        )

    def collected(self, held: Value, name: str = "") -> Value:
        """What loops collected, in their order. name: under which; a loop that begins it anew has no order in it."""
        new = tuple(part for part in self.orders[self.born.get(name, 0) :] if part not in parts_of(held))
        if not new:
            return held
        return Seq(held.items, (*held.marks, *new)) if isinstance(held, Seq) else Text((*new, *parts_of(held)))

    def me(self) -> str | None:
        """What this method calls its own object."""
        return next((name for name, value in self.env.items() if value is SELF), None)


SELF: Value = Text((Part(DYNAMIC, label="self"),))


def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Row and column, from 1."""
    return node.lineno, node.col_offset + 1
