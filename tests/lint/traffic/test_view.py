"""lint.traffic.view: the view as prefix.divergence writes it, only faster."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint.traffic.view import view
from prefix.divergence import view_bytes
from prefix.errors import BodyError

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9).map(lambda number: round(number, 3)) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES, _VALUES)
def test_the_same_bytes(messages: Any, tools: Any) -> None:
    """Whatever a body holds, texts of any script and control codes among it."""
    body = {"tools": tools, "model": "m", "messages": messages}
    assert view(body) == view_bytes(body)


@pytest.mark.parametrize("odd", ["\ud83d", 1 << 70, -(1 << 70)])
def test_what_msgspec_cannot_write(odd: Any) -> None:
    """Is written all the same, at any depth."""
    deep: list[Any] = [odd]
    for _ in range(5000):
        deep = [deep]
    for value in ([odd], deep):
        assert view({"messages": value}) == view_bytes({"messages": value})


def test_what_is_no_json() -> None:
    """Is an error of this project."""
    with pytest.raises(BodyError):
        view({"messages": [object()]})
