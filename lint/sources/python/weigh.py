"""Weighs what a call site was given: where in the prompt a part stands, and what static text stands behind it.

A prompt is tools, system text, then messages. The same clock that costs everything at the top costs nothing in the
last user turn, because nothing that could have been cached stands behind it; nor does a question ahead of static text
behind a conversation: no two requests share what is behind that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from lint.sources import names
from lint.sources.flow import CHARS_PER_TOKEN, PAGE_TOKENS, TEXT_TOKENS, Flow
from lint.sources.python.breakpoints import breakpoint_flows
from lint.sources.python.parameters import scope_flows
from lint.sources.python.scope import Hit
from lint.sources.python.values import DYNAMIC, NEUTRAL, PARAM, STATIC, Map, Part, Seq, Spread, Text, Value, parts_of

_ORDERED: Final = frozenset({"unordered", "shuffled", "sampled", "json_order", "json_format", "address"})
_WRITTEN: Final = frozenset("clock id random state counter replica".split())
"""What a message of a conversation says once and for all when it is written."""
_TOLD: Final = _WRITTEN - {"random"} | {"date", "unordered"}
"""What is told of something, as often as not: when a record was made, the names that stand in it."""
_WRITTEN_BY_CODE: Final = frozenset(
    "functions tools tool schema schemas parameters properties spec definition definitions example examples".split()
)
"""Last words of what stands in the code of whoever gives it, key by key."""
_DRAWN: Final = frozenset({"random", "sampled", "shuffled"})
_ASKED: Final = frozenset({"user", "docs"})
_LISTS: Final = frozenset({"window", "edited", "moving"})
_CERTAIN: Final = frozenset(
    """clock date id random sampled shuffled unordered replica state counter signed docs window""".split()
)
"""Kinds that change for sure, whatever the value is used for."""


class _Section(NamedTuple):
    where: str
    parts: tuple[Part, ...]


def flows(hits: list[Hit]) -> list[Flow]:
    """All of them, one per kind and place (the one with most behind it), in the order of the file."""
    best: dict[tuple[str, int, int], Flow] = {}
    for hit in sorted(hits, key=lambda hit: hit.guessed):
        for flow in (*_prompt(hit), *scope_flows(hit), *breakpoint_flows(hit)):
            key = (flow.kind, flow.row, flow.column)
            held = best.get(key)
            if held is None or (flow.more, flow.tokens) > (held.more, held.tokens):
                best[key] = flow
    return sorted(best.values(), key=lambda flow: (flow.row, flow.column, flow.kind))


class _Stand(NamedTuple):
    """Where a part stands. tokens, unknown: of static text behind it that it could cost; history: the conversation
    stands behind it; first: nothing that varies stands before it in the same text; behind: what a user said, or was
    found for that, stands before it there; late: a conversation stands before it."""

    part: Part
    where: str
    tokens: int
    unknown: bool
    history: bool
    first: bool
    behind: bool
    late: bool


def _prompt(hit: Hit) -> Iterator[Flow]:
    sections = _sections(hit.arguments)
    asked = any(part.kind == PARAM and _of_name(part.label) == "user" for s in sections for part in s.parts)
    for stand in _stands(sections):
        part = stand.part
        if hit.guessed and not _certain(stand):
            continue
        judged = _judge(stand)
        if judged is not None:
            kind, more = judged
            kind = "variable" if kind == "docs" and not asked and names.is_vague(part.label) else kind
            where = stand.where
            loose = _is_of_one_request(stand) or (where not in ("tools", "system") and _is_loose(part, hit, stand))
            yield Flow(kind, part.label, part.row, part.column, hit.name, hit.row, where, stand.tokens, more, loose)


def _is_of_one_request(stand: _Stand) -> bool:
    """Whether what stands before a clock or an id, or around it in one record, is another one in each request too: to
    take the clock away would let nothing be shared."""
    part = stand.part
    told = part.kind in _TOLD and (stand.behind or (part.loose and part.kind not in _ORDERED))
    return told and stand.where != "tools"


def _is_loose(part: Part, hit: Hit, stand: _Stand) -> bool:
    """Whether a part may well be of this request alone, or nobody knows that something else stands behind it: items
    of its caller's, what is drawn for a prompt of its own, the folder or the diff that one task is about, a
    conversation that is only returned, a turn of one."""
    if part.kind == PARAM:
        return stand.where == "turn" or stand.tokens < TEXT_TOKENS
    if part.kind == "image":
        return stand.tokens < TEXT_TOKENS
    if part.kind == "state" or (part.kind in _WRITTEN and stand.where in ("turn", "history")):
        return True
    return part.loose or (hit.guessed and part.kind in _DRAWN) or (hit.kept and part.kind in _LISTS | _ORDERED)


def _stands(sections: list[_Section]) -> Iterator[_Stand]:
    """Where each part stands that varies and has a place in the source."""
    chars, unknown, history = 0, False, False
    talk = next((at for at, section in enumerate(sections) if _is_talk(section)), len(sections))
    for index in range(len(sections) - 1, -1, -1):
        section = sections[index]
        alone = section.where == "last"
        own, open_ = (0, False) if alone else (chars, unknown)
        varies, asked, late = _first_varying(section), _first_asked(section), index > talk
        for at in range(len(section.parts) - 1, -1, -1):
            part = section.parts[at]
            if part.kind == STATIC:
                own, open_ = own + part.chars, open_ or part.open
            elif part.kind != DYNAMIC and part.row:
                tokens = own // CHARS_PER_TOKEN
                talked = history and not alone
                yield _Stand(part, section.where, tokens, open_, talked, at <= varies, at > asked, late)
        chars, unknown = (chars + own, unknown or open_) if alone else (own, open_)
        history = history or section.where == "history"


def _is_talk(section: _Section) -> bool:
    """Whether this is a conversation so far, or the place for one: another one in each request."""
    varies = not section.parts or any(part.kind != STATIC for part in section.parts)
    return varies and section.where in ("turn", "history")


def _first_varying(section: _Section) -> int:
    """The index of the first part that is another one in each request."""
    for at, part in enumerate(section.parts):
        if part.kind == PARAM and _of_name(part.label) != "neutral":
            return at
        if section.where == "last" and part.kind != STATIC and (part.kind != PARAM or part.label):
            return at
    return len(section.parts)


def _first_asked(section: _Section) -> int:
    """The index of the first part that is one request's by its name, or was retrieved for it."""
    asked = (at for at, p in enumerate(section.parts) if (p.kind if p.kind != PARAM else _of_name(p.label)) in _ASKED)
    return next(asked, len(section.parts))


def _certain(stand: _Stand) -> bool:
    """Whether a part of a prompt that was only guessed changes for sure, and costs something there."""
    if stand.part.kind not in _CERTAIN or stand.where == "turn":
        return False
    return stand.tokens >= PAGE_TOKENS or stand.history or stand.part.kind in _ORDERED


def _judge(stand: _Stand) -> tuple[str, bool] | None:
    """The kind of a part and whether unknown amounts stand behind it; None when it does no harm there."""
    part, where, tokens, unknown = stand.part, stand.where, stand.tokens, stand.unknown
    kind = part.kind if part.kind != PARAM else _of_name(part.label)
    if kind in _LISTS:
        return (kind, True) if where == "history" else None
    if kind == "neutral" or kind in NEUTRAL or (kind == "json_order" and _has_its_order(part.label)):
        return None
    if kind == "image" and (where == "history" or stand.late):
        return None
    if kind == "signed":
        return kind, unknown or stand.history
    if where in ("last", "prompt", "history"):
        if not stand.first or (stand.late and where == "last"):
            return None
        enough = tokens >= (TEXT_TOKENS if where == "last" or part.kind == PARAM else PAGE_TOKENS) or (
            unknown and where != "history"
        )
        return (kind, unknown) if enough else None
    if part.kind == PARAM and where == "tools":
        return (kind, True) if names.is_of_one_user(part.label) else None
    if part.kind == PARAM or kind == "docs":
        return (kind, unknown) if not stand.late and (tokens >= TEXT_TOKENS or unknown) else None
    talk = stand.history and not (kind == "state" and "cwd" in part.label)
    return kind, unknown or talk or where == "tools" or kind in _ORDERED


def _has_its_order(label: str) -> bool:
    """Whether JSON comes from code that always writes it alike: items of a conversation, schemas."""
    return "[]" in label or not _WRITTEN_BY_CODE.isdisjoint(names.words(label)[-1:])


def _of_name(label: str) -> str:
    kind = names.classify(label)
    root, items, _ = label.partition("[]")
    if items and kind in (None, "neutral"):
        retrieved = label.rpartition(".")[2] in ("text", "content", "page_content", "body")
        return names.classify(root) or ("docs" if retrieved else "variable")
    return kind or "variable"


def _sections(arguments: dict[str, Value]) -> list[_Section]:
    sections = [
        _Section(where, parts_of(arguments[key]))
        for key, where in (
            ("tools", "tools"),
            ("functions", "tools"),
            ("system", "system"),
            ("instructions", "system"),
        )
        if key in arguments
    ]
    sections += [_Section("prompt", parts_of(arguments[key])) for key in ("prompt", "text") if key in arguments]
    for key in ("messages", "input"):
        if key in arguments:
            sections += _messages(arguments[key], key)
    return sections


def _messages(value: Value, key: str) -> list[_Section]:
    if not isinstance(value, Seq):
        single = isinstance(value, Text) and key == "input"
        return [_Section("last" if single else "history", parts_of(value))]
    sections = [_Section("history", value.marks)] if value.marks else []
    last = _last_turn(value)
    for index, item in enumerate(value.items):
        if isinstance(item, Map):
            role = _role(item)
            copied = not role and item.get("role") is not None
            where = "system" if role in ("system", "developer") else "last" if index >= last else "turn"
            where = "history" if copied else where
            sections.append(_Section(where, _content(item)))
        else:
            sections.append(_Section("history" if _is_history(item) else "last", parts_of(item)))
    return sections


def _is_history(item: Value) -> bool:
    return isinstance(item, Spread | Seq) or any(part.kind in _LISTS for part in parts_of(item))


def _content(message: Map) -> tuple[Part, ...]:
    """What a message says; an object may have fields beside that, which are not sent."""
    return tuple(
        part
        for key, value in message.entries
        if (key == "content" or not message.made) and key not in ("role", "name", "type")
        for part in parts_of(value)
        if part.kind not in _LISTS
    )


def _role(message: Map) -> str:
    role = message.get("role")
    return "".join(part.text or "" for part in parts_of(role)) if role is not None else ""


def _last_turn(messages: Seq) -> int:
    """The index of the last message that is not the assistant's."""
    for index in range(len(messages.items) - 1, -1, -1):
        item = messages.items[index]
        if isinstance(item, Map) and _role(item) in ("assistant", "ai"):
            continue
        return index
    return 0
