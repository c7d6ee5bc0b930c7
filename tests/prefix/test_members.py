"""prefix.members: members are set where they are, or at the front, and no other byte moves."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.body import parse_body
from prefix.members import member_edits
from prefix.scan import splice
from tests.prefix.strategies import JSON


def with_members(raw: bytes, members: dict[str, bytes]) -> bytes:
    """The body with these members."""
    return splice(raw, member_edits(parse_body(raw), members))


@pytest.mark.parametrize(
    ("raw", "members", "expected"),
    [
        (b'{"a": 1}', {"b": b"2"}, b'{"b":2,"a": 1}'),
        (b'{"a" : 1 , "c":3}', {"a": b"2"}, b'{"a" : 2 , "c":3}'),
        (b" { } ", {"b": b"2", "c": b"[]"}, b' {"b":2,"c":[] } '),
        (b'{"a":1}', {"a": b"2", "b": b"{}"}, b'{"b":{},"a":2}'),
        (b'{"a":1}', {}, b'{"a":1}'),
    ],
)
def test_in_place_or_at_the_front(raw: bytes, members: dict[str, bytes], expected: bytes) -> None:
    """White space included."""
    assert with_members(raw, members) == expected


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=2), JSON, max_size=4),
    st.dictionaries(st.text("abc", min_size=1, max_size=2), JSON, max_size=3),
)
def test_any_members_of_any_body(body: dict[str, Any], members: dict[str, Any]) -> None:
    """The body reads as if the members had been sent."""
    raw = json.dumps(body).encode()
    new = with_members(raw, {name: json.dumps(value).encode() for name, value in members.items()})
    assert json.loads(new) == body | members
