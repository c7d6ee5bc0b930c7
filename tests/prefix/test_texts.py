"""prefix.texts: what is named is what differs, and nothing else."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.realign import common_prefix
from prefix.texts import VOLATILE, TextChange, text_change
from prefix.volatile import KINDS
from tests.cases import case
from tests.prefix.strategies import JSON

RULES = "Rules: follow the refund policy. Be brief. Quote order numbers exactly."


def content(number: int, key: str) -> str:
    """The system text of a case's input."""
    found = case(number)["input"][key]["messages"][0]["content"]
    return found if isinstance(found, str) else str(found[0]["text"])


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # case 01, and clocks of other looks and lengths
        (
            content(1, "A"),
            content(1, "B"),
            ("clock", 28, "Tuesday, 3 March 2026, 09:14:07 AM CET", "Tuesday, 3 March 2026, 09:14:09 AM CET"),
        ),
        (f"Now: 9:59:59 {RULES}", f"Now: 10:00:00 {RULES}", ("clock", 5, "9:59:59", "10:00:00")),
        (
            f"[2026-03-03T09:14:07Z] {RULES}",
            f"[2026-04-01T00:00:01Z] {RULES}",
            ("clock", 1, "2026-03-03T09:14:07Z", "2026-04-01T00:00:01Z"),
        ),
        (f"ts=1772528047 {RULES}", f"ts=1772528049 {RULES}", ("clock", 3, "1772528047", "1772528049")),
        (
            f"Today is 3 March 2026. {RULES}",
            f"Today is 4 March 2026. {RULES}",
            ("date", 9, "3 March 2026", "4 March 2026"),
        ),
        # cases 04, 05, 07, 32, and two more ids
        (
            content(4, "A"),
            content(4, "B"),
            (
                "attribution",
                28,
                "cc_version=9.8.7.abc; cc_entrypoint=cli; cch=1a2b3;",
                "cc_version=9.8.7.abc; cc_entrypoint=cli; cch=9f8e7;",
            ),
        ),
        (content(5, "A"), content(5, "B"), ("environment", 160, "", " M src/b.py\n")),
        (
            "in /tmp/s-6f0c8f7e-1111-4aaa-8bbb-000000000001.json",
            "in /tmp/s-6f0c8f7e-1111-4aaa-8bbb-000000000002.json",
            (
                "request_id",
                10,
                "6f0c8f7e-1111-4aaa-8bbb-000000000001",
                "6f0c8f7e-1111-4aaa-8bbb-000000000002",
            ),
        ),
        (f"req_8Kx2mPq9Zt41 {RULES}", f"req_7Lw3nRs8Yu52 {RULES}", ("request_id", 4, "8Kx2mPq9Zt41", "7Lw3nRs8Yu52")),
        (f"Turn 9 of 20. {RULES}", f"Turn 10 of 20. {RULES}", ("counter", 5, "9 of 20", "10 of 20")),
        # form
        ("a\r\nb\r\nc", "a\nb\nc", ("whitespace", 1, "\r\n", "\n")),
        (f"Hi.  \n{RULES}", f"Hi.\n{RULES}", ("whitespace", 3, "  \n", "\n")),
        (f"\tHi.\n{RULES} A", f"    Hi.\n{RULES} B", ("whitespace", 0, "\t", "    ")),
        ("au cafe\u0301 noir", "au caf\u00e9 noir", ("unicode_form", 3, "cafe\u0301", "caf\u00e9")),
        (f"\ufeff{RULES}", RULES, ("unicode_form", 0, "\ufeffRules:", "Rules:")),
        (f"50\u00a0EUR. {RULES}", f"50 EUR. {RULES}", ("unicode_form", 0, "50\u00a0EUR.", "50")),
        ("o\u0302\u0323 x", "o\u0323\u0302 x", ("unicode_form", 0, "o\u0302\u0323", "o\u0323\u0302")),
        # JSON in a text: case 19
        ('{"path": "a", "edits": []}', '{"edits": [], "path": "a"}', ("key_order", 2, "path", "edits")),
        ('{"a": {"park": 1, "path": 2}}', '{"a": {"path": 2, "park": 1}}', ("key_order", 8, "park", "path")),
        ('{"a": 1}', '{"a":1}', ("json_format", 5, " ", "")),
        ('["\\u00e9"]', '["é"]', ("json_format", 2, "\\u00e9", "é")),
        ('Config: {"a": 1, "b": 2}. ' + RULES, 'Config: {"b": 2, "a": 1}. ' + RULES, ("key_order", 10, "a", "b")),
        ('Use {x}: {"a": [1, 2]} A', 'Use {x}: {"a": [1,2]} B', ("json_format", 18, " ", "")),
        ('{"a": 1, "b": 2}', '{\n "b": 2, "a": 1}', ("key_order", 1, "a", "b")),
        # order, and words
        ("Docs:\none\ntwo\nthree", "Docs:\ntwo\none\nthree", ("text_order", 6, "one", "two")),
        (content(27, "A"), content(27, "B"), ("text", 98, "17", "42")),
        ("You are Ann.", "You are Bob.", ("text", 8, "Ann", "Bob")),
        ("abc", "abcdef", ("text", 0, "abc", "abcdef")),
        ("", "x", ("text", 0, "", "x")),
        ('{"a": 1}', '{"a": 2}', ("text", 6, "1", "2")),
        ("[1", "[2", ("text", 0, "[1", "[2")),
    ],
)
def test_what_differs(a: str, b: str, expected: tuple[str, int, str, str]) -> None:
    """Kind, place and both values; the other way round the same with the values exchanged."""
    assert tuple(text_change(a, b)) == expected
    kind, start, *_ = text_change(b, a)
    assert (kind, start) == expected[:2]


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts(a: str, b: str) -> None:
    """There is always a name, it starts no later than the difference, and the values are at its place."""
    if a == b:
        return
    change = text_change(a, b)
    assert change.start <= common_prefix(a, b)
    assert a[: change.start] == b[: change.start]
    assert change.a != change.b
    if change.kind != "key_order":
        assert a.startswith(change.a, change.start)
        assert b.startswith(change.b, change.start)


@given(st.text(st.characters(min_codepoint=0xA1, max_codepoint=0x1EFF), max_size=30))
def test_forms_of_one_text_are_never_other_words(text: str) -> None:
    """NFC and NFD of a text differ in form alone."""
    composed, apart = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    if composed != apart:
        assert text_change(composed, apart).kind == "unicode_form"


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4))
def test_one_document_spelled_twice(value: dict[str, object]) -> None:
    """Indentation and escapes are JSON's spelling."""
    a, b = json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)
    assert text_change(a, b).kind == "json_format"


def test_a_difference_in_a_long_text_is_found_where_it_is() -> None:
    """With a megabyte before and behind it."""
    long = "word " * 200_000
    change = text_change(f"{long}Now: 09:14:07 {long}", f"{long}Now: 09:14:08 {long}")
    assert change == TextChange("clock", len(long) + 5, "09:14:07", "09:14:08")


def test_every_volatile_kind_has_a_cause() -> None:
    """A detector that is added must be named here too."""
    assert set(VOLATILE) == set(KINDS)
