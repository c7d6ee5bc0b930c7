"""prefix.frame: the members of an object are found exactly, or not at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.errors import BodyError
from prefix.frame import check_depth, split_members
from prefix.scan import MAX_DEPTH
from tests.prefix.strategies import JSON

VALUES = st.one_of(st.sampled_from(['"a"', '"a, \\"b\\": 1"', "1", "12", "1.0", "true", "[]", '{"a":1}', '["a",1]']))
PAIRS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "\\u0061"]), VALUES), max_size=5)


@given(PAIRS, st.sampled_from(["", " ", "\n "]))
def test_members_that_occur_twice_are_never_overlooked(pairs: list[tuple[str, str]], gap: str) -> None:
    """Whatever the values are and however keys are spelled; else each member has its own bytes."""
    raw = (
        gap + "{" + ",".join(f'{gap}"{name}"{gap}:{gap}{value}{gap}' for name, value in pairs) + "}" + gap
    ).encode()
    names = [json.loads(f'"{name}"') for name, _ in pairs]
    frame = split_members(raw)
    if len(set(names)) < len(names):
        assert frame is None
        return
    assert frame is not None
    assert [(name, (frame.slice(name) or b"").decode()) for name in frame.spans] == list(
        zip(names, [value for _, value in pairs], strict=True)
    )


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_values_are_parsed_once(body: dict[str, Any]) -> None:
    """The very same object each time; None for what is not there."""
    frame = split_members(json.dumps(body).encode())
    assert frame is not None
    for name, value in body.items():
        assert frame.value(name) == value
        assert frame.value(name) is frame.value(name)
    assert frame.value("no such member\0\0") is None


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}])
def test_depth_is_counted_from_the_body(wrap: Any) -> None:
    """The body is the first level; one more than MAX_DEPTH is refused where the member stands."""
    value: Any = 1
    for _ in range(MAX_DEPTH - 1):
        value = wrap(value)
    check_depth(value, 0)
    with pytest.raises(BodyError) as caught:
        check_depth(wrap(value), 17)
    assert caught.value.offset == 17
