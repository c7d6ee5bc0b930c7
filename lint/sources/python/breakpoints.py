"""Cache breakpoints of Anthropic call sites: none where a long prefix could be cached, or more than the API takes.

Judged only when the whole of system text and tools is known: markers may hide in anything else.
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching (at most 4 markers; 1,024 tokens at least).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lint.sources.flow import CHARS_PER_TOKEN, Flow
from lint.sources.python.scope import Hit
from lint.sources.python.values import STATIC, Map, Seq, Spread, Value, parts_of

MOST: Final = 4
LEAST_TOKENS: Final = 1024
_MARK: Final = "cache_control"
_CALLS: Final = ("messages.create", "messages.stream", "messages.parse")


def breakpoint_flows(hit: Hit) -> Iterator[Flow]:
    """`breakpoint_limit` or `no_breakpoint` of one call."""
    if hit.guessed or not hit.name.endswith(_CALLS) or "messages" not in hit.arguments:
        return
    marks = sum(_marks(value) for value in hit.arguments.values()) + (_MARK in hit.arguments)
    prefix = [hit.arguments[key] for key in ("tools", "system") if key in hit.arguments]
    parts = [part for value in prefix for part in parts_of(value)]
    tokens = sum(part.chars for part in parts) // CHARS_PER_TOKEN
    known = all(part.kind == STATIC and not part.open for part in parts)
    if marks > MOST:
        yield Flow("breakpoint_limit", f"{marks} markers", hit.row, hit.column, hit.name, hit.row, "scope", 0, True)
    elif not marks and known and tokens >= LEAST_TOKENS and not _opaque(hit.arguments["messages"]):
        label = f"no marker on {tokens:,} tokens"
        yield Flow("no_breakpoint", label, hit.row, hit.column, hit.name, hit.row, "scope", tokens, True)


def _marks(value: Value) -> int:
    if isinstance(value, Map):
        return sum((key == _MARK) + _marks(inner) for key, inner in value.entries)
    return sum(_marks(item) for item in value.items) if isinstance(value, Seq) else 0


def _opaque(value: Value) -> bool:
    """Whether messages come from elsewhere, and may be marked there."""
    if isinstance(value, Seq):
        return any(isinstance(item, Spread) or _opaque(item) for item in value.items)
    return not isinstance(value, Map)
