"""Cache breakpoints of a request body, for the APIs that cache nothing without them: Anthropic's and Bedrock's.

A prompt is blocks - tools, then system text, then messages, each tool and each part of a content one block - and a
breakpoint stands behind a block: `cache_control` on it (a top-level one stands behind the last block), or in
Bedrock's Converse API a `cachePoint` after it. The numbers are lint.providers'.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lint.providers import BREAKPOINTS, DEFAULT_LIFETIME, LIFETIMES, smallest_prefix
from prefix.divergence import compact_json
from prefix.system import SYSTEM_ROLES
from prefix.tokens import BYTES_PER_TOKEN

_MARK: Final = "cache_control"
_POINT: Final = "cachePoint"
_UNDER: Final = 0.6
_OVER: Final = 1.5
"""Tokens are estimated from bytes: below or above a minimum is said only of what is this far from it."""


class Block(NamedTuple):
    """pointer: JSON pointer. content: compact JSON, without its mark. ttl: of the breakpoint behind it, None when
    none is there. front: it is tools or system text."""

    pointer: str
    content: bytes
    ttl: str | None
    front: bool


class Fault(NamedTuple):
    """What is wrong with the breakpoints of one body. kind: for which rule. pointer: where."""

    kind: str
    message: str
    pointer: str


def model_of(body: Mapping[str, Any]) -> str:
    """The model's name, whatever the API calls it; Bedrock and Vertex keep it out of the bodies of Anthropic's."""
    name = body.get("model") or body.get("modelId") or ("claude" if body.get("anthropic_version") else "")
    return str(name)


def blocks(body: Mapping[str, Any]) -> list[Block]:
    """All blocks of a parsed body, in the order they are cached in."""
    found: list[Block] = []
    for pointer, item, front in _items(body):
        point = item.get(_POINT) if isinstance(item, dict) and len(item) == 1 else None
        if point is not None:
            if found:
                found[-1] = found[-1]._replace(ttl=_ttl(point))
            continue
        mark = item.get(_MARK) if isinstance(item, dict) else None
        plain = {key: value for key, value in item.items() if key != _MARK} if mark else item
        found.append(Block(pointer, compact_json(plain), _ttl(mark) if mark else None, front))
    if body.get(_MARK) and found and found[-1].ttl is None:
        found[-1] = found[-1]._replace(ttl=_ttl(body[_MARK]))
    return found


def _marked_by_others(body: Mapping[str, Any]) -> bool:
    """LiteLLM is told to set the marks."""
    return bool(body.get("cache_control_injection_points"))


def _items(body: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """Pointer, block and whether it stands before the conversation."""
    config = body.get("toolConfig")
    tools = [("/tools", body.get("tools"))]
    if isinstance(config, dict):
        tools.append(("/toolConfig/tools", config.get("tools")))
    for pointer, listed in tools:
        for at, tool in enumerate(listed if isinstance(listed, list) else ()):
            yield f"{pointer}/{at}", tool, True
    for place, part in _parts("/system", body.get("system")):
        yield place, part, True
    turns = body.get("messages")
    for at, turn in enumerate(turns if isinstance(turns, list) else ()):
        for place, part in _message(f"/messages/{at}", turn) if isinstance(turn, dict) else ():
            yield place, part, turn.get("role") in SYSTEM_ROLES


def _message(pointer: str, turn: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parts of a message. What is beside its content (calls) is a part of its own, a mark is its last part's."""
    parts = list(_parts(f"{pointer}/content", turn.get("content")))
    if turn.get("tool_calls"):
        parts.append((f"{pointer}/tool_calls", {"tool_calls": turn["tool_calls"]}))
    if turn.get(_MARK) and parts and isinstance(parts[-1][1], dict):
        place, part = parts[-1]
        parts[-1] = place, {**part, _MARK: turn[_MARK]}
    yield from parts


def _parts(pointer: str, content: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(content, str):
        yield pointer, {"type": "text", "text": content}
    for at, part in enumerate(content if isinstance(content, list) else ()):
        yield f"{pointer}/{at}", part


def _ttl(mark: Any) -> str:
    ttl = mark.get("ttl") if isinstance(mark, dict) else None
    return ttl if ttl in LIFETIMES else DEFAULT_LIFETIME


def faults(body: Mapping[str, Any], found: Sequence[Block]) -> Iterator[Fault]:
    """What can be said of one body alone. found: its blocks. Nothing for models that need no breakpoints."""
    minimum = smallest_prefix(model_of(body))
    if minimum is None or not minimum.marked or not found:
        return
    marked = [at for at, block in enumerate(found) if block.ttl is not None]
    if not marked:
        yield from () if _marked_by_others(body) else _unmarked(found, minimum.tokens)
        return
    if len(marked) > BREAKPOINTS:
        where = found[marked[BREAKPOINTS]].pointer
        yield Fault("breakpoint_limit", f"{len(marked)} breakpoints, and the API takes {BREAKPOINTS}", where)
    tokens = _tokens(found[: marked[-1] + 1])
    if tokens < minimum.tokens * _UNDER:
        said = f"about {tokens:,} tokens up to the last breakpoint, and no fewer than {minimum.tokens:,} are cached"
        yield Fault("breakpoint_below_minimum", said, found[marked[-1]].pointer)
    yield from _lifetimes(found, marked)


def _unmarked(found: Sequence[Block], least: int) -> Iterator[Fault]:
    """The tools and the system text alone are long enough to be cached."""
    front = [block for block in found if block.front]
    tokens = _tokens(front)
    if tokens >= least * _OVER:
        said = f"about {tokens:,} tokens of tools and system text and no breakpoint: nothing of it is cached"
        yield Fault("no_breakpoint", said, front[-1].pointer)


def _lifetimes(found: Sequence[Block], marked: list[int]) -> Iterator[Fault]:
    for at in marked:
        longer = [late for late in marked if late > at and _seconds(found[late]) > _seconds(found[at])]
        if longer:
            said = f"a breakpoint that lives {found[longer[0]].ttl} behind one that lives {found[at].ttl}"
            yield Fault("ttl_order", f"{said}: the longer lifetime has to come first", found[longer[0]].pointer)
            return


def _seconds(block: Block) -> float:
    return LIFETIMES[block.ttl or DEFAULT_LIFETIME]


def _tokens(some: Sequence[Block]) -> int:
    return round(sum(len(block.content) for block in some) / BYTES_PER_TOKEN)
