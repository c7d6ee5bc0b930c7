"""W3C Trace Context: what is a parent and what is none, and the headers that go on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.trace_context import Parent, read_parent, traceparent, without

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
VALID = f"00-{TRACE}-{SPAN}-01".encode()


def parent_of(*values: bytes, state: tuple[bytes, ...] = ()) -> Parent | None:
    """What these traceparent and tracestate headers say."""
    headers = [(b"traceparent", value) for value in values] + [(b"tracestate", value) for value in state]
    return read_parent([(b"content-type", b"application/json"), *headers])


@pytest.mark.parametrize(
    ("value", "flags"),
    [
        (VALID, 1),
        (f"00-{TRACE}-{SPAN}-00".encode(), 0),
        (f"00-{TRACE}-{SPAN}-03".encode(), 3),
        (f"00-{TRACE}-{SPAN}-ff".encode(), 3),
        (f"cc-{TRACE}-{SPAN}-01".encode(), 1),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like".encode(), 1),
    ],
)
def test_a_parent(value: bytes, flags: int) -> None:
    """Of any version to come too, with the flags that are known."""
    parent = parent_of(value)
    assert parent == (TRACE, SPAN, flags, "")
    assert parent.sampled == bool(flags & 1)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"garbage",
        VALID + b"-more",  # version 00 has no more
        VALID + b".what",
        f"cc-{TRACE}-{SPAN}-01.what".encode(),
        f"ff-{TRACE}-{SPAN}-01".encode(),
        f"00-{'0' * 32}-{SPAN}-01".encode(),
        f"00-{TRACE}-{'0' * 16}-01".encode(),
        VALID.upper(),
        VALID[:-1],
        VALID.replace(b"-", b"_"),
        b" " + VALID,
        VALID + b"\n",
    ],
)
def test_none(value: bytes) -> None:
    """Anything else is no parent, whatever its tracestate says."""
    assert parent_of(value, state=(b"a=1",)) is None


def test_two_parents_are_none() -> None:
    """Nobody can be the child of two spans."""
    assert parent_of(VALID, VALID) is None
    assert parent_of() is None


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        ((b"a=1",), "a=1"),
        ((b"a=1,b=2", b"c=3"), "a=1,b=2,c=3"),
        ((b"a=1 , b=2,\t,", b""), "a=1,b=2"),
        ((b"tenant@system=v;x:y/z",), "tenant@system=v;x:y/z"),
        ((b"a=1,a=2",), ""),
        ((b"A=1",), ""),
        ((b"a=",), ""),
        ((b"a",), ""),
        ((b"a=b=c",), ""),
        ((b"a=\xe9",), ""),
        ((",".join(f"k{n}=v" for n in range(32)).encode(),), ",".join(f"k{n}=v" for n in range(32))),
        ((",".join(f"k{n}=v" for n in range(33)).encode(),), ""),
        ((b"a=" + b"v" * 257,), ""),
    ],
)
def test_tracestate(state: tuple[bytes, ...], kept: str) -> None:
    """Joined in order; a bad one is dropped whole, and the parent stays."""
    parent = parent_of(VALID, state=state)
    assert parent is not None
    assert parent.state == kept


@given(st.lists(st.binary(max_size=80), max_size=3), st.lists(st.binary(max_size=80), max_size=3))
def test_never_an_error(parents: list[bytes], states: list[bytes]) -> None:
    """Whatever a client sends."""
    parent_of(*parents, state=tuple(states))


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.integers(0, 3))
def test_what_we_say_is_understood(trace: int, span: int, flags: int) -> None:
    """A header made here is read as what it was made of."""
    header = traceparent(f"{trace:032x}", f"{span:016x}", flags)
    assert read_parent([header]) == (f"{trace:032x}", f"{span:016x}", flags, "")


def test_without() -> None:
    """Both headers go, nothing else, in order."""
    headers = [(b"a", b"1"), (b"traceparent", VALID), (b"b", b"2"), (b"tracestate", b"x=y"), (b"a", b"3")]
    assert without(headers) == [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]
