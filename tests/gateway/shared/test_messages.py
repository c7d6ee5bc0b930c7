"""gateway.shared.messages: what is said is what is heard."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.shared.messages import (
    VERSION,
    Batch,
    Bye,
    Decision,
    FirstToken,
    Forgot,
    Hello,
    Learned,
    Message,
    Placed,
    Released,
    Spent,
    decode,
    encode,
    pack,
    unpack,
)

NAMES = st.text(st.characters(codec="utf-8"), max_size=40)
COUNTS = st.integers(0, 1 << 53)
TIMES = st.floats(allow_nan=False, allow_infinity=False)
BLOCKS = st.lists(st.integers(0, (1 << 64) - 1), max_size=20)
RATIOS = st.floats(min_value=1e-6, max_value=1e6)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(Placed, TIMES, COUNTS, NAMES, NAMES, BLOCKS.map(pack), COUNTS, st.none() | COUNTS),
    st.builds(FirstToken, TIMES, COUNTS),
    st.builds(Released, TIMES, COUNTS, st.none() | COUNTS, COUNTS),
    st.builds(Forgot, NAMES),
    st.builds(Decision, NAMES, st.sampled_from(["added", "drained", "removed"]), COUNTS, NAMES),
    st.builds(Spent, TIMES, NAMES, COUNTS, st.integers(-(1 << 53), 1 << 53), COUNTS),
    st.builds(Learned, NAMES, COUNTS, RATIOS, st.dictionaries(NAMES, RATIOS, max_size=4)),
    st.builds(Hello, NAMES, NAMES, st.booleans()),
    st.builds(Bye),
)


@settings(max_examples=40)
@given(st.lists(MESSAGES, max_size=6), TIMES)
def test_a_batch_survives_the_way(messages: list[Message], sealed: float) -> None:
    """Encoded and decoded it is the same, and everything in it could be read."""
    batch = Batch(VERSION, "r", 1, sealed, messages)
    assert decode(encode(batch)) == (batch, 0)


@given(BLOCKS)
def test_blocks_survive_the_way(blocks: list[int]) -> None:
    """8 bytes each, in order; an incomplete one is left out."""
    assert list(unpack(pack(blocks))) == blocks
    assert list(unpack(pack(blocks) + b"\0")) == blocks


@given(st.binary(max_size=60) | st.lists(MESSAGES, min_size=1, max_size=3).map(lambda m: encode(m)))
def test_anything_else_is_a_decode_error(data: bytes) -> None:
    """Whatever somebody else writes there raises nothing but msgspec's own error."""
    try:
        decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    pytest.fail(f"decoded {data!r}")


@settings(max_examples=20)
@given(st.lists(MESSAGES, max_size=3), st.integers(1, 3))
def test_what_a_newer_one_added_is_left(messages: list[Message], count: int) -> None:
    """Further fields are ignored; unknown kinds are counted and cost no other message."""
    longer = [[*msgspec.msgpack.decode(encode(message)), "further"] for message in messages]
    strange = [["unheard-of", 1]] * count
    raw = msgspec.msgpack.encode([VERSION, "r", 1, 0.0, longer + strange, "more"])
    batch, unread = decode(raw)
    assert (batch.messages, unread) == (messages, len(strange))
