"""prefix.normalize: nonces, line ends, blanks and Unicode form of system text; and what must not change."""

import json
import subprocess
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given

from prefix.canonical import Canonical, Rules, canonicalize
from prefix.errors import BodyError, ConfigError
from prefix.normalize import clean
from tests.cases import case, wire
from tests.prefix.bodies import BODIES, INDENTS, NONCE_LINE, SYSTEM, raw_of, said_in_order, untouchable

USER = {"role": "user", "content": "hey"}


def normalized(body: Any, **rules: Any) -> Canonical:
    """A body at level normalize."""
    return canonicalize(body if isinstance(body, bytes) else wire(body), level="normalize", rules=Rules(**rules))


def kinds(result: Canonical) -> list[str]:
    """The kinds of all changes."""
    return [change.kind for change in result.changes]


@given(BODIES, INDENTS)
def test_twice_is_once_and_nothing_else_is_touched(body: dict[str, Any], indent: int | None) -> None:
    """Idempotent on random bodies of every shape; other members, turns and strict tools keep their bytes."""
    raw = raw_of(body, indent)
    once = normalized(raw)
    assert normalized(once.body) == Canonical(once.body, ())
    assert once.changed == (once.body != raw)
    assert untouchable(once.body) == untouchable(raw)
    assert said_in_order(once.body) == said_in_order(raw)


def test_what_stands_behind_a_stripped_nonce_is_not_the_first() -> None:
    """A nonce of the next message stays when the first one keeps an image only: once is as good as twice."""
    nonce = "x-anthropic-billing-header: cc_version=1;"
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    first = {"role": "system", "content": [{"type": "text", "text": nonce}, image]}
    once = normalized(wire({"messages": [first, {"role": "system", "content": nonce}]}))
    assert json.loads(once.body)["messages"] == [
        {"role": "system", "content": [image]},
        {"role": "system", "content": nonce},
    ]
    assert normalized(once.body).body == once.body


@given(SYSTEM)
def test_clean_text_is_in_one_form(text: str) -> None:
    """LF, no blanks before a line's end, NFC; and its kinds say what was done."""
    new, done = clean(text)
    assert clean(new) == (new, [])
    assert all(line == line.rstrip(" \t\r") for line in new.split("\n"))
    assert unicodedata.is_normalized("NFC", new)
    assert (done == []) == (new == text)
    assert new.count("\n") == text.count("\n")


def test_case_04_the_nonce_is_stripped_where_it_stands_first() -> None:
    """A and B become one body, byte for byte the expected one; a user who quotes the line is left alone."""
    given_case = case(4)
    expected = given_case["expected"]
    for key in "AB":
        result = normalized(given_case["input"][key])
        assert result.body == wire(expected["after_opt_in_strip"])
        assert kinds(result) == ["nonce_stripped"]
    quoting = json.loads(normalized(given_case["input"]["quoting_user"]).body)
    assert quoting["messages"][1]["content"] == expected["quoting_user_text_unchanged"]
    assert quoting["messages"][0] == expected["after_opt_in_strip"]["messages"][0]


@pytest.mark.parametrize(
    ("system", "stripped"),
    [
        (f"{NONCE_LINE}\r\nYou help.", "You help."),
        (f"{NONCE_LINE}\n{NONCE_LINE}\nYou help.", "You help."),
        (f"{NONCE_LINE}\n\nYou help.", "\nYou help."),
        (NONCE_LINE, ""),
        ([{"type": "text", "text": NONCE_LINE}], [{"type": "text", "text": ""}]),
        (
            [{"type": "text", "text": f"{NONCE_LINE}\nYou help."}, {"type": "text", "text": "More."}],
            [{"type": "text", "text": "You help."}, {"type": "text", "text": "More."}],
        ),
        (
            [{"type": "text", "text": NONCE_LINE, "cache_control": {}}, {"type": "text", "text": "More."}],
            [{"type": "text", "text": "", "cache_control": {}}, {"type": "text", "text": "More."}],
        ),
        (
            [{"type": "text", "text": NONCE_LINE}, {"type": "text", "text": f"{NONCE_LINE}\nYou help."}],
            [{"type": "text", "text": "You help."}],
        ),
        ([NONCE_LINE, "You help."], ["You help."]),
    ],
)
def test_nonces_in_every_place_a_system_text_has(system: Any, stripped: Any) -> None:
    """String or parts, chat, Anthropic or Responses: the line goes, a part that is more than the line stays."""
    chat = normalized({"messages": [{"role": "system", "content": system}, USER]})
    assert json.loads(chat.body) == {"messages": [{"role": "system", "content": stripped}, USER]}
    anthropic = normalized({"system": system, "messages": [USER]})
    assert json.loads(anthropic.body) == {"system": stripped, "messages": [USER]}
    developer = normalized({"input": [{"role": "developer", "content": system}, USER]})
    assert json.loads(developer.body) == {"input": [{"role": "developer", "content": stripped}, USER]}
    if isinstance(system, str):
        answer = normalized({"instructions": system, "input": "hey"})
        assert json.loads(answer.body) == {"instructions": stripped, "input": "hey"}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": NONCE_LINE}],
        [USER, {"role": "system", "content": NONCE_LINE}],
        [{"role": "system", "content": "You help."}, {"role": "system", "content": NONCE_LINE}],
        [{"role": "system", "content": [{"type": "text", "text": "You."}, {"type": "text", "text": NONCE_LINE}]}],
        [{"role": "system", "content": [{"type": "image_url"}, {"type": "text", "text": NONCE_LINE}]}],
        [{"role": "system", "content": f"Never say\n{NONCE_LINE}"}],
        [{"role": "system", "content": "x-anthropic-billing-header: explain it to users when they ask"}],
        [{"role": "assistant", "content": NONCE_LINE}, {"role": "tool", "content": NONCE_LINE}],
    ],
)
def test_the_same_line_anywhere_else_stays(messages: list[Any]) -> None:
    """Only as the first system block, only as the line it is."""
    raw = wire({"messages": messages})
    assert normalized(raw) == Canonical(raw, ())


def test_a_later_array_is_not_the_first_block() -> None:
    """Once the nonce is dropped and no text follows it there, the next message's text is not first."""
    first = {"role": "system", "content": [{"type": "text", "text": NONCE_LINE}, {"type": "image_url"}]}
    second = {"role": "system", "content": [{"type": "image_url"}, {"type": "text", "text": NONCE_LINE}]}
    left = {"role": "system", "content": [{"type": "image_url"}]}
    assert normalized({"messages": [first, second]}).body == wire({"messages": [left, second]})


def test_stripping_is_a_choice_by_name() -> None:
    """A route may strip nothing; a name that does not exist is refused."""
    raw = wire(case(4)["input"]["A"])
    assert normalized(raw, strip=()) == Canonical(raw, ())
    with pytest.raises(ConfigError, match="anthropic-billing-header"):
        normalized(raw, strip=("billing",))


def test_only_the_literal_that_changes_is_written_anew() -> None:
    """White space, escapes and numbers around it stay, byte for byte."""
    raw = (
        b'{ "messages":[ {"content" : "caf\\u0065\\u0301 \\r\\nNo\\/w" ,"role":"system", "x":1.50},'
        b'\n {"role":"user","content":"caf\\u0065\\u0301 \\r\\n"} ] , "n":1E2 }'
    )
    result = normalized(raw)
    assert result.body == raw.replace(b"caf\\u0065\\u0301 \\r\\nNo\\/w", "café\\nNo/w".encode())
    assert [tuple(change) for change in result.changes] == [
        ("/messages/0/content", "line_ends"),
        ("/messages/0/content", "trailing_blanks"),
        ("/messages/0/content", "unicode_form"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": "a \r\n"},
        {"prompt": ["a \r\n", "b \r\n"], "suffix": "c \r\n"},
        {"text": "a \r\n", "sampling_params": {"stop": "\r\n"}},
        {"input_ids": [1, 2]},
        {"input": ["a \r\n"], "model": "embedder"},
        {"input": "a \r\n", "system": "a \r\n"},
        {"messages": [{"role": "user", "content": "a \r\n"}], "instructions": "a \r\n"},
        {"messages": [{"role": "system", "content": None}]},
        {"messages": [{"role": "system"}, {"role": ["system"], "content": "a \r\n"}, "system", None, 7]},
        {"messages": [{"role": "system", "content": {"text": "a \r\n"}}]},
        {"messages": [{"role": "system", "content": [7, None, {"type": ["text"], "text": "a \r\n"}, {"text": 7}]}]},
        {"messages": {"role": "system", "content": "a \r\n"}},
        {"messages": None, "system": None},
        {"system": 7, "messages": [], "tools": [7, None]},
    ],
)
def test_what_is_no_system_text_stays(body: Any) -> None:
    """Completions, SGLang's own API, members that mean nothing there, and values of the wrong type."""
    assert normalized(body) == Canonical(wire(body), ())


@pytest.mark.parametrize(
    "raw",
    [
        b'{"messages":[{"role":"system","content":"a \\r\\n","content":"b \\r\\n"}]}',
        b'{"messages":[{"role":"system","content":[{"type":"text","text":"a","text":"b \\r\\n"}]}]}',
        b'{"messages":[{"role":"system","content":"\\ud800 \\r\\n"}]}',
        b'{"messages":[{"role":"system","content":"a \\r\\n"}],"n":NaN}',
    ],
)
def test_ambiguous_and_lenient_bodies_stay(raw: bytes) -> None:
    """Duplicate keys, lone surrogates, NaN: two readers may see two texts, or an engine may take it as it is."""
    assert normalized(raw) == Canonical(raw, ())


def test_nesting_is_refused_and_hostile_text_is_bounded() -> None:
    """Depth is a named error; a long run of combining marks, which sorts in quadratic time, is left alone."""
    with pytest.raises(BodyError, match="deeper"):
        normalized(b'{"messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}")
    marks = "\u0301\u0327" * 200_000
    raw = wire({"messages": [{"role": "system", "content": "a" + marks}]})
    assert normalized(raw) == Canonical(raw, ())
    assert clean("a" + "\u0301\u0327" * 15)[1] == ["unicode_form"]
    assert clean("私は" * 40 + "cafe\u0301")[0] == "私は" * 40 + "café"


def test_properties_of_tools_that_are_not_strict_are_sorted() -> None:
    """By code point, at every depth; not in strict tools, nor in Responses tools that do not say `strict: false`."""
    schema = {"type": "object", "properties": {"b": {"type": "object", "properties": {"z": {}, "y": {}}}, "a": {}}}
    sorted_schema = '{"type":"object","properties":{"a":{},"b":{"type":"object","properties":{"y":{},"z":{}}}}}'
    plain: dict[str, Any] = {"type": "function", "function": {"name": "f", "parameters": schema}}
    flat = {"type": "function", "name": "f", "parameters": schema}
    for tool in (plain, {"name": "f", "input_schema": schema}, flat | {"strict": False}):
        result = normalized({"tools": [tool]})
        assert sorted_schema in result.body.decode()
        assert set(kinds(result)) == {"property_order"}
        assert not canonicalize(wire({"tools": [tool]})).changed
    for tool in (
        flat,
        flat | {"strict": True},
        {"type": "function", "function": plain["function"] | {"strict": True}},
    ):
        assert not normalized({"tools": [tool]}).changed
    assert normalized({"functions": [{"name": "f", "parameters": schema}]}).changed


def test_maps_whose_keys_only_look_like_properties_keep_their_order() -> None:
    """A default, an enum or $defs: order that somebody may read meaning into."""
    schema = {
        "$defs": {"b": {}, "a": {}},
        "default": {"properties": {"b": 1, "a": 2}},
        "patternProperties": {"b": {}, "a": {}},
    }
    assert not normalized({"tools": [{"name": "f", "parameters": schema}]}).changed


def test_other_processes_agree() -> None:
    """Another interpreter with another hash seed gives the same bytes at every level."""
    body = case(4)["input"]["A"] | {"tools": case(10)["input"]["B"]["tools"]}
    body["messages"][0]["content"][1]["text"] += "\r\nNow: 2026-03-03T09:14:07Z \r\n"
    code = (
        "import sys; from prefix.canonical import Rules, canonicalize; from prefix.hoist import Hoist\n"
        "rules = Rules(hoist=Hoist('rewrite', ('clock_second',)))\n"
        "sys.stdout.buffer.write(canonicalize(sys.stdin.buffer.read(), level=sys.argv[1], rules=rules).body)"
    )
    for level in ("normalize", "hoist"):
        runs = {
            subprocess.run(
                [sys.executable, "-c", code, level],
                input=wire(body),
                capture_output=True,
                check=True,
                env={"PYTHONHASHSEED": seed},
            ).stdout
            for seed in ("0", "4242")
        }
        (body_sent,) = runs
        assert b"cch=" not in body_sent
        assert (b"see latest user message" in body_sent) == (level == "hoist")
