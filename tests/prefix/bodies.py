"""Hypothesis strategies for whole conversations, and what no level may touch in them."""

import json
from collections import Counter
from typing import Any

from hypothesis import strategies as st

from prefix.body import Body, parse_body
from prefix.scan import Span, elements, members
from tests.prefix.strategies import JSON, tools

PROSE = st.text("ab é\u0301\u0327\r\n\t []:;x", max_size=24)
NONCE_LINE = "x-anthropic-billing-header: cc_version=2.1.7; cch=9f8e7;"
PIECES = st.one_of(
    PROSE,
    st.just("\r\n"),
    st.just("cafe\u0301 \n"),
    st.just(NONCE_LINE + "\n"),
    st.just("Now: 2026-03-03T09:14:07Z\n"),
    st.just("Request 6f1c2d34-5b6a-4c7d-8e9f-0a1b2c3d4e5f.\n"),
)
SYSTEM = st.lists(PIECES, max_size=4).map("".join)
EXTRA = st.dictionaries(st.text("xyz_", min_size=1, max_size=4).map("x-{}".format), JSON, max_size=2)


def contents(text: st.SearchStrategy[str], kind: str = "text") -> st.SearchStrategy[Any]:
    """A content: a string, or parts."""
    part = st.one_of(
        st.builds(lambda said: {"type": kind, "text": said}, text),
        st.builds(lambda said: {"type": kind, "text": said, "cache_control": {"type": "ephemeral"}}, text),
        st.just({"type": "image_url", "image_url": {"url": "https://h/i.png?sig=1"}}),
    )
    return st.one_of(text, st.lists(part, max_size=3))


@st.composite
def tool_turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """An assistant's parallel calls and their results, in any order, complete or not."""
    ids = draw(st.lists(st.sampled_from(["c1", "c2", "c3", "é"]), min_size=1, max_size=4, unique=True))
    arguments = st.sampled_from(['{"b": 1,  "a": 2.50}', "{}", "not json", {"b": 1, "a": 2}])
    calls = [
        {"id": name, "type": "function", "function": {"name": "f", "arguments": draw(arguments)}} for name in ids
    ]
    answered = draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))]
    results = [{"role": "tool", "tool_call_id": name, "content": draw(PROSE)} for name in answered]
    assistant = {"role": "assistant", "content": None, "reasoning_content": draw(PROSE), "tool_calls": calls}
    return [assistant, *results]


@st.composite
def chats(draw: st.DrawFn) -> dict[str, Any]:
    """An OpenAI chat body: system texts anywhere, tools, results, and fields that must stay."""
    messages: list[dict[str, Any]] = []
    for kind in draw(st.lists(st.sampled_from(["system", "developer", "user", "assistant", "tools"]), max_size=6)):
        if kind == "tools":
            messages += draw(tool_turns())
        else:
            said = SYSTEM if kind in ("system", "developer") else PIECES
            messages.append({"role": kind, "content": draw(contents(said)), **draw(EXTRA)})
    schema = {"type": "json_schema", "json_schema": {"strict": True, "schema": draw(JSON)}}
    body = {"model": "m", "messages": messages, "response_format": schema, "temperature": 0.50, **draw(EXTRA)}
    if draw(st.booleans()):
        body["tools"] = draw(tools())
    return body


@st.composite
def responses(draw: st.DrawFn) -> dict[str, Any]:
    """A Responses body: instructions, and an input that is a string or items."""
    items = st.one_of(
        st.builds(lambda said: {"role": "user", "content": said}, contents(PIECES, "input_text")),
        st.builds(lambda said: {"role": "developer", "content": said}, contents(SYSTEM, "input_text")),
        st.builds(lambda name: {"type": "function_call", "call_id": name, "arguments": "{ }"}, st.sampled_from("ab")),
        st.builds(lambda name: {"type": "function_call_output", "call_id": name}, st.sampled_from("ab")),
        st.just({"type": "reasoning", "summary": []}),
    )
    given = draw(st.one_of(PIECES, st.lists(items, max_size=6)))
    return {"model": "m", "instructions": draw(SYSTEM), "input": given, **draw(EXTRA)}


@st.composite
def anthropic(draw: st.DrawFn) -> dict[str, Any]:
    """An Anthropic messages body: a top-level system, tool uses and their results as parts."""
    ids = draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3))
    uses = [{"type": "tool_use", "id": name, "name": "f", "input": {"b": 1, "a": 2}} for name in ids]
    results = [
        {"type": "tool_result", "tool_use_id": name, "content": "r\r\n"} for name in draw(st.permutations(ids))
    ]
    said = [{"type": "text", "text": draw(PIECES)}] if draw(st.booleans()) else []
    turns = [{"role": "user", "content": "Hi \r\n"}, {"role": "assistant", "content": uses or "Hello"}]
    turns += [{"role": "user", "content": [*results, *said] or "Go on"}]
    return {"model": "m", "system": draw(contents(SYSTEM)), "messages": turns, "max_tokens": 64, **draw(EXTRA)}


BODIES = st.one_of(chats(), responses(), anthropic())
INDENTS = st.sampled_from([None, 0, 2])


def raw_of(body: Any, indent: int | None = None) -> bytes:
    """A body as bytes, with spellings of numbers that no JSON library writes."""
    text = json.dumps(body, indent=indent, ensure_ascii=indent is None)
    return text.replace("0.5,", "5.00e-01,").replace(": 64", ": 12345678901234567890123").encode()


def untouchable(raw: bytes) -> tuple[dict[str, bytes], Counter[bytes], list[bytes]]:
    """What no level but `hoist` may change: other members, turns that are not the operator's, strict tools.

    The turns come as a multiset: results may change places.
    """
    body = parse_body(raw)
    rewritable = ("tools", "functions", "messages", "input", "system", "instructions")
    rest = {name: raw[span.start : span.end] for name, span in body.spans.items() if name not in rewritable}
    strict = sorted(part for part in _array(body, "tools") if b'"strict": true' in part)
    return rest, Counter(piece for turn in _turns(body) for piece in _atoms(turn)), strict


def said_in_order(raw: bytes) -> list[bytes]:
    """The turns that are neither the operator's nor results, in their order."""
    body = parse_body(raw)
    pieces = [piece for turn in _turns(body) for piece in _atoms(turn)]
    return [piece for piece in pieces if not any(mark in piece for mark in _RESULTS)]


_RESULTS = (b'"tool_call_id"', b'"tool_result"', b'"function_call_output"')


def _turns(body: Body) -> list[bytes]:
    turns = _array(body, "messages") or _array(body, "input")
    return [turn for turn in turns if json.loads(turn).get("role") not in ("system", "developer")]


def _atoms(turn: bytes) -> list[bytes]:
    """A turn, or each part of one that has results among its parts."""
    if b'"tool_result"' not in turn:
        return [turn]
    (content,) = (member.value for member in members(turn, 0) if member.name == "content")
    return [turn[item.start : item.end] for item in elements(turn, content)]


def _array(body: Body, name: str) -> list[bytes]:
    span = body.spans.get(name, Span(0, 0))
    if body.raw[span.start : span.start + 1] != b"[":
        return []
    return [body.raw[item.start : item.end] for item in elements(body.raw, span)]
