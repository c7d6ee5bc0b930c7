"""prefix.place: from a path of keys and indices to bytes and JSON pointers."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.body import parse_body
from prefix.place import Places, literal, pointer
from tests.prefix.strategies import JSON


def paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every value inside a value, with its path."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(at, value), *(found for key, part in inner for found in paths(part, (*at, key)))]


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4), st.sampled_from([None, 0, 2]))
def test_the_bytes_at_a_path_are_the_value_there(body: dict[str, Any], indent: int | None) -> None:
    """For every value of a random body, whatever the white space; and its pointer is RFC 6901's."""
    raw = json.dumps(body, indent=indent).encode()
    places = Places(parse_body(raw))
    for path, value in paths(body)[1:]:
        span = places.find(path)
        assert span is not None
        assert json.loads(raw[span.start : span.end]) == value
        assert [step.replace("~1", "/").replace("~0", "~") for step in pointer(path).split("/")[1:]] == [
            str(step) for step in path
        ]


@pytest.mark.parametrize(
    "path",
    [
        ("b",),
        ("b", "y"),
        ("a", "y"),
        ("a", 0),
        ("a", "x", 3),
        ("a", "x", "0"),
        ("a", "x", 0, "z"),
        ("twice", "k"),
        ("twice", "other"),
    ],
)
def test_what_is_not_there_or_ambiguous_has_no_bytes(path: tuple[str | int, ...]) -> None:
    """Absent, of another type, or in an object with duplicate keys."""
    raw = b'{"a":{"x":[1,2,3]},"twice":{"k":1,"other":2,"k":3}}'
    assert Places(parse_body(raw)).find(path) is None


def test_items_and_literals() -> None:
    """No array has no items; a literal is the shortest JSON, in UTF-8."""
    places = Places(parse_body(b'{"a":[ 1 , "x" ],"b":2}'))
    span = places.find(("a",))
    assert [tuple(item) for item in places.items(span)] == [(7, 8), (11, 14)]
    assert places.items(places.find(("b",))) == places.items(None) == []
    assert literal({"t": "é\n\u2028"}) == '{"t":"é\\n\u2028"}'.encode()
