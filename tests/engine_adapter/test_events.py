"""Framing: an event ends where two line ends meet, whichever they are."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine_adapter import events

ENDS = ["\n", "\r\n", "\r"]
TOKENS = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"data: 1", b"x", b":"]), max_size=24).map(b"".join)


@pytest.mark.parametrize("end", ENDS)
def test_events_end_at_a_blank_line(end: str) -> None:
    """LF, CR and CRLF all work, and the pieces are the very bytes."""
    whole = [f"data: {n}{end}{end}".encode() for n in range(3)]
    data = b"".join(whole) + b"data: unfin"
    assert list(events.split(data)) == [*whole, b"data: unfin"]
    assert events.last_end(data) == len(b"".join(whole))


def test_one_crlf_is_one_line_end() -> None:
    """The two bytes of a CRLF never pass for a blank line."""
    assert events.last_end(b"data: a\r\ndata: b\r\n") == 0
    assert list(events.split(b"data: a\r\ndata: b")) == [b"data: a\r\ndata: b"]


@settings(deadline=None)
@given(TOKENS)
def test_splitting_loses_nothing(data: bytes) -> None:
    """The events joined are the input, and none but the last lacks its end."""
    found = list(events.split(data))
    assert b"".join(found) == data
    assert all(events.last_end(event) == len(event) for event in found[:-1])


@settings(deadline=None)
@given(TOKENS, st.integers(0, 80))
def test_a_search_may_resume_near_the_end(data: bytes, cut: int) -> None:
    """Looking again from three bytes back finds an end whenever the whole would."""
    old = data[:cut]
    if not events.last_end(old):
        assert bool(events.last_end(data, max(len(old) - 3, 0))) == bool(events.last_end(data))


@settings(deadline=None)
@given(TOKENS, st.integers(0, 80))
@example(data=b"x\r\nx", cut=2)
def test_line_ends_become_line_feeds_in_any_number_of_steps(data: bytes, cut: int) -> None:
    """A CR at a cut waits for its LF, so rewriting what is there already changes nothing."""
    in_steps = events.with_line_feeds(events.with_line_feeds(data[:cut]) + data[cut:])
    assert in_steps == events.with_line_feeds(data)


@pytest.mark.parametrize(
    ("event", "name", "data"),
    [
        (b"data: {}\n\n", b"", b"{}"),
        (b"data: {}", b"", b"{}"),
        (b"data:{}\n", b"", b"{}"),
        (b"data:  x", b"", b" x"),
        (b"data: a\ndata: b\n\n", b"", b"a\nb"),
        (b"data\ndata: b", b"", b"\nb"),
        (b"\xef\xbb\xbfdata: {}\n\n", b"", b"{}"),
        (b": ping\ndata: {}\n\n", b"", b"{}"),
        (b"event: error\nid: 7\nretry: 10\ndata: {}\n\n", b"error", b"{}"),
        (b"data: {}\nevent:error", b"error", b"{}"),
        (b": comment\n\n", b"", b""),
        (b"datas: x", b"", b""),
        (b"", b"", b""),
    ],
)
def test_fields_of_an_event(event: bytes, name: bytes, data: bytes) -> None:
    """Comments and unknown fields say nothing; one space after the colon is not data."""
    found_name, found_data = events.parse(event)
    assert (found_name, found_data.strip(b"\n")) == (name, data.strip(b"\n"))


def test_data_lines_are_joined_by_line_feeds() -> None:
    """JSON spread over several data lines reads as one value."""
    lines = json.dumps({"a": [1, 2]}, indent=1).splitlines()
    event = "".join(f"data: {line}\n" for line in lines).encode()
    assert events.decode(events.parse(event)[1]) == {"a": [1, 2]}


@pytest.mark.parametrize("data", [b"", b"{", b'{"a":"\xff"}', b"[" * 5000, b"[DONE]", b"null"])
def test_what_is_not_json_says_nothing(data: bytes) -> None:
    """Broken, hostile or absent JSON is None, never an exception."""
    assert events.decode(data) is None
