"""Where two prompts part: the first difference, walking what the prompts are made of in the order it is rendered.

The view of a body is the compact JSON of the members that become the prompt, tools first, key order significant: two
views share a prefix about as far as two rendered prompts do. The walk over the values finds the place (a JSON
pointer, RFC 6901) and the reason, the bytes of the two views find the offset; the two agree by construction.
Definitions: tests/data/cases (each `divergence`). What may be behind a divergence is prefix.causes.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from prefix.errors import BodyError
from prefix.place import pointer
from prefix.realign import common_prefix

Reason = Literal["string", "key_order", "key_missing", "append", "value", "type"]

MEMBERS: Final = (
    ("tools", "functions"),
    ("system", "instructions"),
    ("messages", "input", "prompt", "text", "input_ids"),
)
"""The members a prompt is made of, in the order templates render them; of each group a body has one."""

_KINDS: Final = ((dict, "object"), ((list, tuple), "array"), (str, "string"), (bool, "boolean"), (type(None), "null"))
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference of two prompts.

    path: JSON pointer of the place, the same in both bodies. reason: `string` (two texts), `key_order` (the members
    of the object at path stand in another order: key_a, key_b), `key_missing` (only one has the member), `append`
    (only one has this element: the other's array ends), `value` (two numbers or booleans), `type`.
    char_offset: code points the two texts at path have in common, None when they are no texts.
    view_byte_offset: the first differing byte of the two views; view_bytes: their lengths.
    """

    path: str
    reason: Reason
    char_offset: int | None
    view_byte_offset: int
    view_bytes: tuple[int, int]
    key_a: str | None = None
    key_b: str | None = None


class _Missing:
    """Stands for what the other body does not have."""


MISSING: Final = _Missing()


class _Step(NamedTuple):
    """One pair of values the walk comes to. key: of the object or array around it; two keys when they differ."""

    key: str | int
    a: Any
    b: Any
    other_key: str | None = None


def first_divergence(a: Mapping[str, Any], b: Mapping[str, Any]) -> Divergence | None:
    """Where the prompts of two parsed request bodies part; None when their views are identical.

    Values are as a JSON parser gives them, nested to any depth. Raises BodyError `invalid_json` when they are not.
    """
    view_a, view_b = view_bytes(a), view_bytes(b)
    if view_a == view_b:
        return None
    path, reason, step = _first_difference(prompt_members(a), prompt_members(b))
    return Divergence(
        path=path,
        reason=reason,
        char_offset=common_prefix(step.a, step.b) if reason == "string" else None,
        view_byte_offset=common_prefix(view_a, view_b),
        view_bytes=(len(view_a), len(view_b)),
        key_a=str(step.key) if reason == "key_order" else None,
        key_b=step.other_key,
    )


def view_bytes(body: Mapping[str, Any]) -> bytes:
    """The view of one body: compact JSON of its prompt members, UTF-8 (lone surrogates as they are)."""
    return compact_json(prompt_members(body))


def compact_json(value: Any) -> bytes:
    """A parsed value as compact JSON, key order as it is, nested to any depth. Raises BodyError `invalid_json`."""
    try:
        text = _ENCODER.encode(value)
    except RecursionError:
        text = "".join(_pieces(value))
    except (TypeError, ValueError) as error:
        raise BodyError("invalid_json", f"not a parsed JSON body: {error}") from None
    return text.encode("utf-8", "surrogatepass")


def value_at(body: Any, path: str) -> Any:
    """The value at a JSON pointer, MISSING when there is none."""
    for part in path.split("/")[1:]:
        if isinstance(body, list):
            body = body[int(part)] if part.isdigit() and int(part) < len(body) else MISSING
        else:
            name = part.replace("~1", "/").replace("~0", "~")
            body = body.get(name, MISSING) if isinstance(body, Mapping) else MISSING
    return body


def prompt_members(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a prompt is made of, in order: of each group the member that is there, one that is not null before one
    that is."""
    chosen: dict[str, Any] = {}
    for group in MEMBERS:
        present = sorted((key for key in group if key in body), key=lambda key: body[key] is None)
        chosen |= {key: body[key] for key in present[:1]}
    return chosen


def _first_difference(a: dict[str, Any], b: dict[str, Any]) -> tuple[str, Reason, _Step]:
    """Depth first with a stack of its own: a deep body cannot overflow Python's."""
    path: list[str | int] = []
    stack = [_prompt_steps(a, b)]
    while True:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            path.pop()
            continue
        reason = _reason(step)
        if reason == "key_order":
            return pointer(path), reason, step
        path.append(step.key)
        if reason is not None:
            return pointer(path), reason, step
        if isinstance(step.a, dict):
            stack.append(_member_steps(step.a, step.b))
        elif isinstance(step.a, (list, tuple)):
            stack.append(_element_steps(step.a, step.b))
        else:
            path.pop()


def _prompt_steps(a: dict[str, Any], b: dict[str, Any]) -> Iterator[_Step]:
    for key in itertools.chain.from_iterable(MEMBERS):
        if key in a or key in b:
            yield _Step(key, a.get(key, MISSING), b.get(key, MISSING))


def _member_steps(a: dict[str, Any], b: dict[str, Any]) -> Iterator[_Step]:
    for key_a, key_b in zip(a, b, strict=False):
        if key_a == key_b:
            yield _Step(key_a, a[key_a], b[key_b])
        elif key_a not in b:
            yield _Step(key_a, a[key_a], MISSING)
        elif key_b not in a:
            yield _Step(key_b, MISSING, b[key_b])
        else:
            yield _Step(key_a, a[key_a], b[key_b], key_b)
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    for key in list(longer)[len(shorter) :]:
        yield _Step(key, a.get(key, MISSING), b.get(key, MISSING))


def _element_steps(a: Sequence[Any], b: Sequence[Any]) -> Iterator[_Step]:
    for place, (x, y) in enumerate(zip(a, b, strict=False)):
        if not (type(x) is type(y) is int and x == y):  # token ids come by the hundred thousand
            yield _Step(place, x, y)
    if len(a) != len(b):
        place = min(len(a), len(b))
        yield _Step(place, a[place] if place < len(a) else MISSING, b[place] if place < len(b) else MISSING)


def _reason(step: _Step) -> Reason | None:
    """Why this pair is a difference; None when it is none, or one further inside."""
    a, b = step.a, step.b
    if step.other_key is not None:
        return "key_order"
    if a is MISSING or b is MISSING:
        return "append" if type(step.key) is int else "key_missing"
    if _kind(a) != _kind(b):
        return "type"
    if isinstance(a, str):
        return "string" if a != b else None
    if isinstance(a, (dict, list, tuple)):
        return None
    return "value" if _ENCODER.encode(a) != _ENCODER.encode(b) else None


def _kind(value: Any) -> str:
    return next((kind for types, kind in _KINDS if isinstance(value, types)), "number")


class _Ready(str):
    """JSON text that is written already."""

    __slots__ = ()


def _pieces(root: Any) -> Iterator[str]:
    """Compact JSON of a value too deep for the encoder, piece by piece."""
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            stack.append(_Ready("}"))
            for place, key in reversed(list(enumerate(value))):
                stack += (value[key], _Ready(f"{',' if place else ''}{_ENCODER.encode(key)}:"))
            stack.append(_Ready("{"))
        elif isinstance(value, (list, tuple)):
            stack.append(_Ready("]"))
            for place in reversed(range(len(value))):
                stack += (value[place], _Ready("," if place else ""))
            stack.append(_Ready("["))
        else:
            yield value if type(value) is _Ready else _ENCODER.encode(value)
