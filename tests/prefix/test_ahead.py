"""prefix.ahead: the guess where the messages lie is right, or the body is read as if nobody had guessed."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.ahead import messages_span
from prefix.body import Body, BodyCache, parse_body
from prefix.errors import BodyError
from prefix.frame import split_members
from prefix.scan import MAX_DEPTH
from tests.prefix.strategies import JSON

AHEAD = ("stop", "stream_options")
BEHIND = ("model", "tools", "stream", "user", "n", "metadata", "x-own", "temperature")
TRICKY = st.text('a]}[{,":\\ é\n', max_size=12) | st.sampled_from(['"}], "model": "x"', "]}", '}],"tools":['])
PART = st.dictionaries(st.sampled_from(["type", "text", "user", "n", "model"]), TRICKY | st.just([1]), max_size=3)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": TRICKY | st.lists(PART, max_size=2)},
    optional={"user": st.just([]), "n": JSON, "name": TRICKY},
)


@st.composite
def chats(draw: st.DrawFn) -> bytes:
    """Chat bodies with brackets in texts and members named alike inside and outside, in any order and spacing."""
    fields: dict[str, Any] = {name: draw(JSON) for name in draw(st.sets(st.sampled_from(BEHIND), max_size=4))}
    fields |= {
        name: draw(st.dictionaries(TRICKY, TRICKY) | st.lists(TRICKY))
        for name in draw(st.sets(st.sampled_from(AHEAD)))
    }
    fields["messages"] = draw(st.lists(MESSAGE, max_size=4) | JSON)
    order = list(fields)
    random.Random(draw(st.integers(0, 9))).shuffle(order)
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    indent = draw(st.sampled_from([None, 1]))
    return json.dumps({name: fields[name] for name in order}, separators=separators, indent=indent).encode()


def whole(raw: bytes) -> Body:
    """The body, split without guessing."""
    frame = split_members(raw)
    assert frame is not None
    return Body(raw, frame)


@given(st.lists(chats(), min_size=1, max_size=3))
def test_a_guess_never_changes_what_a_body_says(bodies: list[bytes]) -> None:
    """Members, slices, spans and values are those of the body split whole, known bodies or not."""
    cache = BodyCache()
    for raw in bodies * 3:
        expected = whole(raw)
        for parsed in (parse_body(raw), parse_body(raw, cache)):
            assert parsed.spans == expected.spans
            for name in (*expected.spans, "absent"):
                assert (name in parsed) == (name in expected)
                assert parsed.slice(name) == expected.slice(name)
                assert parsed.value(name) == expected.value(name)


@pytest.mark.parametrize(
    ("raw", "messages"),
    [
        (b'{"model":"m","messages":[{"role":"user"}]}', b'[{"role":"user"}]'),
        (b'{"stream_options": {"include_usage": true}, "stop": ["a", "b"], "messages": [{}]}', b"[{}]"),
        (b' {"messages": [1, []] , "model": "m"} ', b"[1, []]"),
        (b'{"n":1,"messages":[{"content":"a]}"}],"tools":[]}', b'[{"content":"a]}"}]'),
        (b'{"messages":[{"content":"\\"}],\\"model\\":"}],"model":"m"}', b'[{"content":"\\"}],\\"model\\":"}]'),
    ],
)
def test_messages_of_common_bodies_are_found(raw: bytes, messages: bytes) -> None:
    """First, last or in between, whatever their texts hold."""
    span = messages_span(raw)
    assert span is not None
    assert raw[span.start : span.end] == messages


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"messages":"none"}',
        b'{"metadata":{"messages":[1]},"model":"m"}',
        b'{"metadata":{"a":{"b":1}},"messages":[1]}',
        b'{"prompt":"' + b"x" * 2000 + b'","messages":[]}',
        b'{"messages":[' + b"[]," * 100 + b"0]}",
        b'{"messages":[1,2',
    ],
)
def test_what_cannot_be_told_cheaply_is_not_guessed(raw: bytes) -> None:
    """Long or nested values in front, or many brackets: no guess, no more than a few jumps."""
    assert messages_span(raw) is None


def test_a_wrong_guess_is_noticed() -> None:
    """A member of a message that is named like one of the body: the parser refuses the guess, the body is right."""
    raw = b'{"messages":[{"content":[],"model":1}],"model":"m"}'
    span = messages_span(raw)
    assert span is not None
    assert raw[span.start : span.end] == b'[{"content":[]'
    assert parse_body(raw).value("messages") == [{"content": [], "model": 1}]
    assert parse_body(raw).value("model") == "m"


DEEP = b"[" * 200 + b"]" * 200
MESSAGES = b'"messages":[{"role":"user","content":"hi"}]'


@pytest.mark.parametrize(
    ("raw", "code", "offset"),
    [
        (b'{"messages":[{"content":"\xff"}],"model":"m"}', "invalid_utf8", 25),
        (b"{" + MESSAGES + b',"user":"\xff"}', "invalid_utf8", 53),
        (b"{" + MESSAGES + b"," + MESSAGES + b"}", "duplicate_key", 45),
        (b'{"model":"a",' + MESSAGES + b',"model":"a"}', "duplicate_key", 57),
        (
            b"{" + MESSAGES + b',"x":' + b"[" * 200 + b"0," * 200 + b"0" + b"]" * 200 + b"}",
            "too_deep",
            49 + MAX_DEPTH - 1,
        ),
        (b'{"messages":[{"content":"\\q"}],"model":"m"}', "invalid_json", 25),
        (b'{"messages":[{"content":"a\nb"}],"model":"m"}', "invalid_json", 26),
        (b"{" + MESSAGES + b',"model":nul}', "invalid_json", 53),
        (b'{"messages":[{"content":[],"n":1}],"model":"m"', "invalid_json", 46),
    ],
)
def test_refusals_name_the_place_in_the_clients_bytes(raw: bytes, code: str, offset: int) -> None:
    """Ahead of the messages, in them and behind them."""
    for cache in (BodyCache(), BodyCache(limit_bytes=0)):
        with pytest.raises(BodyError) as caught:
            parse_body(raw, cache)
        assert (caught.value.code, caught.value.offset) == (code, offset)


@pytest.mark.parametrize(("value", "code"), [(b"1" * 5000, "invalid_type"), (b'{"a":' + DEEP + b"}", "too_deep")])
def test_values_refused_when_read_are_placed_in_the_body(value: bytes, code: str) -> None:
    """A number nobody can read, tools that nest too deep: the offset counts the messages ahead of them."""
    raw = b"{" + MESSAGES + b',"tools":' + value + b"}"
    cache = BodyCache()
    for _ in range(3):
        with pytest.raises(BodyError) as caught:
            parse_body(raw, cache).value("tools")
        assert (caught.value.code, caught.value.offset) == (code, raw.index(value))
        with pytest.raises(BodyError) as caught:
            parse_body(raw, cache).once(lambda frame: frame.value("tools"))
        assert caught.value.offset == raw.index(value)


def test_messages_that_nest_too_deep_are_refused_when_read() -> None:
    """As without a guess."""
    raw = b'{"messages":' + DEEP + b',"model":"m"}'
    with pytest.raises(BodyError, match="deeper than"):
        parse_body(raw, BodyCache()).value("messages")


def test_what_some_engine_may_accept_stays_opaque() -> None:
    """NaN or a lone surrogate, beside the messages or in them."""
    for raw in (b"{" + MESSAGES + b',"n":NaN}', b'{"messages":[{"content":"\\ud800"}],"model":"m"}'):
        assert parse_body(raw, BodyCache()).opaque == "not_strict_json"
