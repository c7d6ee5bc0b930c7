"""prefix.body and prefix.scan: raw slices, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.body import CONTROL_KEYS, parse_body
from prefix.errors import BodyError
from prefix.scan import MAX_DEPTH, Span, elements, members, splice, value_end
from tests.prefix.strategies import JSON


@given(st.dictionaries(st.text(), JSON, max_size=6), st.sampled_from([None, 0, 2]))
def test_slices_are_the_clients_bytes(body: dict[str, Any], indent: int | None) -> None:
    """Every member's slice parses to its value and lies in the body where it was written."""
    raw = json.dumps(body, indent=indent).encode()
    parsed = parse_body(raw)
    assert set(parsed.spans) == set(body)
    for name, span in parsed.spans.items():
        assert json.loads(raw[span.start : span.end]) == body[name]
        assert parsed.value(name) == body[name]


@given(JSON)
def test_value_end_finds_the_end(value: Any) -> None:
    """The end of any JSON value is found, whatever follows it."""
    raw = json.dumps(value).encode()
    assert value_end(raw + b" , 1]", 0) == len(raw)


@given(st.lists(JSON, max_size=5), st.dictionaries(st.text(), JSON, max_size=5))
def test_containers_come_apart(items: list[Any], pairs: dict[str, Any]) -> None:
    """Elements and members have the values and names they were written with."""
    raw = json.dumps(items, indent=1).encode()
    assert [json.loads(raw[s.start : s.end]) for s in elements(raw, Span(0, len(raw)))] == items
    raw = json.dumps(pairs).encode()
    assert {m.name: json.loads(raw[m.value.start : m.value.end]) for m in members(raw, 0)} == pairs


@pytest.mark.parametrize(
    ("raw", "code", "offset"),
    [
        (b"", "invalid_json", 0),
        (b"nope", "invalid_json", 0),
        (b'{"a":01}', "invalid_json", 6),
        ('{"ü":"x"} é'.encode(), "invalid_json", 11),
        (b'{"a":1}x', "invalid_json", 7),
        (b"[1]", "not_an_object", 0),
        (b'"text"', "not_an_object", 0),
        (b'{"a":"\xff"}', "invalid_utf8", 6),
        (b'{"model":"m","model":"m"}', "duplicate_key", 13),
        (b'{"\\u006dodel":"m", "model":"m"}', "duplicate_key", 19),
        (b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}", "too_deep", MAX_DEPTH + 4),
        (b'{"a":' + b'{"b":' * 300 + b"1" + b"}" * 301, "too_deep", MAX_DEPTH * 5),
    ],
)
def test_what_no_engine_can_accept_is_refused_with_its_place(raw: bytes, code: str, offset: int) -> None:
    """Malformed, too deep, not UTF-8 or ambiguous bodies are refused with code and byte offset."""
    with pytest.raises(BodyError) as caught:
        parse_body(raw)
    assert (caught.value.code, caught.value.offset) == (code, offset)


def test_deep_messages_are_refused_when_they_are_read() -> None:
    """Nesting over the limit inside messages is refused without recursion."""
    raw = b'{"messages":' + b"[" * 200 + b"]" * 200 + b"}"
    with pytest.raises(BodyError, match="deeper than"):
        parse_body(raw).value("messages")


@pytest.mark.parametrize("raw", [b'{"x":1,"x":2}', b'{"x":12,"x":1}', b'{"x":"a","x":"a","y":[]}'])
def test_other_duplicates_pass_and_the_last_one_counts(raw: bytes) -> None:
    """Duplicates of keys the gateway does not read are the client's business."""
    assert "x" not in CONTROL_KEYS
    parsed = parse_body(raw)
    assert parsed.value("x") == json.loads(raw)["x"]
    assert parsed.raw == raw


@pytest.mark.parametrize("raw", [b'{"temperature":NaN}', b'{"a":"\\ud800 x"}', b'{"a":-Infinity,"b":"\\udfff"}'])
def test_what_some_engine_may_accept_is_opaque(raw: bytes) -> None:
    """NaN and lone surrogates are forwarded untouched: the body says it must not be rewritten."""
    parsed = parse_body(raw)
    assert parsed.opaque == "not_strict_json"
    assert repr(parsed.value(next(iter(parsed.spans)))) == repr(next(iter(json.loads(raw).values())))


def test_numbers_keep_their_spelling() -> None:
    """Big integers, exponents and trailing zeros stay as written."""
    raw = b'{"seed":123456789012345678901234567890,"t":1.0e0,"u":1.50,"v":1e999}'
    parsed = parse_body(raw)
    assert parsed.slice("seed") == b"123456789012345678901234567890"
    assert [parsed.slice(name) for name in "tuv"] == [b"1.0e0", b"1.50", b"1e999"]
    assert parsed.value("seed") == 123456789012345678901234567890


def test_splice_leaves_all_other_bytes() -> None:
    """Only the spans change; an empty span inserts."""
    assert splice(b"0123456789", {Span(2, 4): b"--", Span(0, 0): b"<", Span(9, 10): b""}) == b"<01--45678"


@pytest.mark.parametrize("raw", [b'{"model":' + b"1" * 5000 + b"}", b'{"x":NaN,"model":' + b"1" * 5000 + b"}"])
def test_numbers_beyond_reading_are_refused_by_name(raw: bytes) -> None:
    """More digits than Python reads is a named error, in a strict body and in a lenient one."""
    with pytest.raises(BodyError, match="more digits"):
        parse_body(raw).value("model")


def test_unread_numbers_of_any_length_pass() -> None:
    """A field nobody reads may hold them: it is the client's."""
    raw = b'{"seed":' + b"1" * 5000 + b',"model":"m"}'
    assert parse_body(raw).value("model") == "m"
