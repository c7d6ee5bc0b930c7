"""What an expression may put into a prompt: text with holes, lists and mappings of it.

A value is never computed; it is the *shape* of what the program would build: static text of known or unknown
length, and parts that change, each with the place in the source it came from. That is all a prefix cache cares about.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

MAX_PARTS = 256
MAX_TEXT = 50_000
STATIC, DYNAMIC, PARAM, ENVIRONMENT, DEFAULTED = "static", "dynamic", "param", "environment", "defaulted"
INDEX = "index"
"""The place in a loop: a counter for what is handed over inside it, and for nothing else."""
NEUTRAL = frozenset({STATIC, DYNAMIC, PARAM, ENVIRONMENT, DEFAULTED, INDEX, "instance"})
ORDER = frozenset({"unordered", "shuffled"})


@dataclass(frozen=True, slots=True)
class Part:
    """A run of text of one nature. row, column: of its source, from 1; chars: of static text whose length is known;
    open: static text of unknown length (a file, an imported constant); text: the characters, when they are known;
    loose: a choice or an order of what may be in this request alone."""

    kind: str
    label: str = ""
    row: int = 0
    column: int = 0
    chars: int = 0
    open: bool = False
    text: str | None = None
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A string, or anything that is not a list or mapping we follow."""

    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Spread:
    """Unknown many items of a list: what came from one value, such as `*history`."""

    value: Text


@dataclass(frozen=True, slots=True)
class Seq:
    """A list, tuple or set display; marks are changes that hit its order or length as a whole."""

    items: tuple[Value, ...] = ()
    marks: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Map:
    """A mapping or an object; entries keep their order, the last of equal keys wins. made: by a class of which
    nothing more is known."""

    entries: tuple[tuple[str, Value], ...] = ()
    made: bool = False

    def get(self, key: str) -> Value | None:
        """The value at a key, or None."""
        for name, value in reversed(self.entries):
            if name == key:
                return value
        return None


Value = Text | Spread | Seq | Map
EMPTY = Text()
NOT_GIVEN = "None"
"""The label of an argument of a constructor that is None unless it is given."""
UNKNOWN = Text((Part(DYNAMIC),))
FILE = Text((Part(STATIC, open=True),))


@functools.lru_cache(maxsize=1024)
def literal(text: str) -> Text:
    """Known characters."""
    return Text((Part(STATIC, chars=len(text), text=text if len(text) <= MAX_TEXT else None),)) if text else EMPTY


def parts_of(value: Value) -> tuple[Part, ...]:
    """Everything a value would write, in order; at most MAX_PARTS parts."""
    if isinstance(value, Text) and len(value.parts) <= MAX_PARTS:
        return value.parts
    out: list[Part] = []
    stack: list[Value] = [value]
    while stack and len(out) < MAX_PARTS:
        top = stack.pop()
        if isinstance(top, Text):
            out.extend(top.parts)
        elif isinstance(top, Spread):
            out.extend(top.value.parts)
        elif isinstance(top, Seq):
            out.extend(top.marks)
            stack.extend(reversed(top.items))
        else:
            stack.extend(inner for _, inner in reversed(top.entries))
    return tuple(out[:MAX_PARTS])


def order_of(value: Value) -> tuple[Part, ...]:
    """What says in which order its items come: what hits them as a whole, and not the lists inside them."""
    if isinstance(value, Map):
        return () if value.made else parts_of(value)
    if not isinstance(value, Seq):
        return parts_of(value)
    return (
        *value.marks,
        *(part for item in value.items if isinstance(item, Text | Spread) for part in parts_of(item)),
    )


def concat(*values: Value) -> Text:
    """Their texts one behind the other."""
    parts = tuple(part for value in values for part in parts_of(value))
    return Text(parts[:MAX_PARTS])


def volatile(value: Value) -> tuple[Part, ...]:
    """The parts that are known to change from one request to the next."""
    return tuple(part for part in parts_of(value) if part.kind not in NEUTRAL)


def is_own(value: Value) -> bool:
    """Whether nothing in a value is known to be in other requests too: it came from the caller, or from a call."""
    return all(part.kind in (PARAM, DYNAMIC) for part in parts_of(value))


def retag(value: Value, kinds: dict[str, str]) -> Value:
    """The same value with the kinds of its parts renamed."""
    return mapped(value, lambda part: replace(part, kind=kinds[part.kind]) if part.kind in kinds else part)


def mapped(value: Value, change: Callable[[Part], Part]) -> Value:
    """The same value with each of its parts changed."""
    if isinstance(value, Text):
        return Text(tuple(map(change, value.parts)))
    if isinstance(value, Spread):
        inner = mapped(value.value, change)
        return Spread(inner) if isinstance(inner, Text) else inner
    if isinstance(value, Seq):
        return Seq(tuple(mapped(item, change) for item in value.items), tuple(map(change, value.marks)))
    return Map(tuple((key, mapped(inner, change)) for key, inner in value.entries), value.made)


def without(value: Value, kinds: frozenset[str]) -> Value:
    """The same value less the parts of these kinds: what `sorted` does to an unknown order."""
    if isinstance(value, Text):
        return Text(tuple(part for part in value.parts if part.kind not in kinds))
    if isinstance(value, Seq):
        items = tuple(without(item, kinds) for item in value.items)
        return Seq(items, tuple(part for part in value.marks if part.kind not in kinds))
    return value


def marked(value: Value, part: Part) -> Value:
    """The same value, with a change that hits it as a whole."""
    if isinstance(value, Seq):
        return Seq(value.items, (*value.marks, part))
    return Text((part, *parts_of(value))[:MAX_PARTS])


def join(first: Value, second: Value) -> Value:
    """What either branch may leave behind: the one that changes more, then the longer one."""
    return first if first == second or weight(first) >= weight(second) else second


def weight(value: Value) -> tuple[int, int]:
    """How much a value changes, and how long it is."""
    parts = parts_of(value)
    return sum(part.kind not in NEUTRAL for part in parts), len(parts)


def items_of(value: Value) -> tuple[Value, ...]:
    """The items of a list; of anything else, unknown many of it."""
    if isinstance(value, Seq):
        return (*(Text((mark,)) for mark in value.marks), *value.items)
    return (Spread(concat(value)),) if parts_of(value) else ()


def param(value: Value) -> Part | None:
    """The parameter that a value is, when it is nothing else."""
    if isinstance(value, Spread):
        value = value.value
    if isinstance(value, Text) and len(value.parts) == 1 and value.parts[0].kind == PARAM:
        return value.parts[0]
    return None
