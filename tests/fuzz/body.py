"""canonicalize: any bytes are refused with a place or rewritten by moving their own bytes, and never twice."""

import json
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import TABLE
from prefix.canonical import Level, canonicalize
from prefix.errors import BodyError
from prefix.split import split
from tests.prefix.strategies import JSON, dump, tools

_LEVELS: Final[tuple[Level, ...]] = ("off", "safe", "normalize", "hoist")
_MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "tool", ""]), "content": JSON}), max_size=4
)
_BODIES = st.fixed_dictionaries({"model": JSON, "messages": st.one_of(_MESSAGES, JSON)}, optional={"tools": tools()})
_INSERTS = st.one_of(
    st.binary(max_size=4),
    st.sampled_from([b"[", b"{", b'"', b"\\ud800", b'"tools":', b"1e999", b"NaN", b"\\u0000", b","]),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A request body with a few edits somewhere in its bytes."""
    data = dump(draw(_BODIES), draw(st.sampled_from([None, 1])))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 20)))
        piece = data[start:end] * 2 if draw(st.booleans()) else draw(_INSERTS)
        data = data[:start] + piece + data[end:]
    return data


@given(st.one_of(damaged(), st.binary(max_size=40)), st.sampled_from(_LEVELS))
def canonical_body(data: bytes, level: Level) -> None:
    """The property."""
    try:
        done = canonicalize(data, level=level)
    except BodyError as error:
        assert error.code in TABLE
        assert error.offset is None or 0 <= error.offset <= len(data)
        return
    assert done.changed == (done.body != data)
    if done.changed:
        json.loads(done.body)  # what is rewritten was understood; what was not goes on as it came
    assert canonicalize(done.body, level=level).body == done.body
    if level == "off":  # does not look at the body
        assert done.body == data
        return
    if level == "safe":
        assert sorted(done.body.translate(None, b" \t\r\n")) == sorted(data.translate(None, b" \t\r\n"))
    parts = split(data)
    assert parts.stable_prefix.bytes >= 0
    assert parts.suffix.bytes >= 0
