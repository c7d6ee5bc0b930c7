"""Hiding usage removes the usage-only events of a stream and not one byte more, wherever it is cut."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine_adapter import usage_filter
from engine_adapter.usage_filter import UsageFilter
from tests.engine_adapter.streams import DONE, USAGE, chat, chunk, every_way, pieces, sse, usage_only

CONTENT = sse(chunk({"content": "hi"}))
HIDDEN = sse(usage_only())


def passed(parts: list[bytes]) -> bytes:
    """All that a filter lets through."""
    keep = UsageFilter()
    return b"".join([keep.feed(part) for part in parts]) + keep.close()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("space", [" ", ""])
def test_only_the_usage_event_is_missing(end: str, space: str) -> None:
    """Cut anywhere, with any line ends, exactly the usage-only event is gone."""
    before, hidden, after = (
        sse(payload, end=end, space=space) for payload in (chunk({"content": "ü"}), usage_only(), "[DONE]")
    )
    for parts in every_way(before + hidden + after):
        assert passed(parts) == before + after


STAYS = {
    "usage beside choices": chunk({"content": "x"}, usage=USAGE),
    "usage null": chunk({"content": "x"}, usage=None),
    "empty choices without usage": chunk() | {"choices": []},
    "empty choices with null usage": chunk() | {"choices": [], "usage": None},
    "the word in the text": chunk({"content": 'the "usage" of {"choices":[],"usage":{}}'}),
    "usage that is no object": usage_only(5),
    "an error with usage": usage_only() | {"error": {"message": "no"}},
    "usage elsewhere": chunk(sglext={"usage": USAGE}),
}


@pytest.mark.parametrize("kind", STAYS)
def test_everything_else_stays(kind: str) -> None:
    """An event that is anything but usage passes byte for byte."""
    data = chat(chunk({"content": "hi"}), STAYS[kind])
    for parts in every_way(data):
        assert passed(parts) == data


GOES = {
    "as SGLang writes it": HIDDEN,
    "compact": b"data:" + json.dumps(usage_only(), separators=(",", ":")).encode() + b"\n\n",
    "usage first, choices null": sse({"usage": {}, "choices": None}),
    "without choices": sse({"object": "chat.completion.chunk", "usage": USAGE}),
    "over several lines": b"data: " + json.dumps(usage_only(), indent=1).replace("\n", "\ndata: ").encode() + b"\n\n",
    "after a comment of its own": b": late\n" + HIDDEN,
    "blank before the colon": b'data: {"choices" : [ ] , "usage" : {"prompt_tokens":1}}\n\n',
}


@pytest.mark.parametrize("kind", GOES)
def test_usage_in_any_spelling_goes(kind: str) -> None:
    """White space, key order and data lines do not matter."""
    for parts in every_way(CONTENT + GOES[kind] + DONE):
        assert passed(parts) == CONTENT + DONE


def test_blank_lines_and_comments_around_it_stay() -> None:
    """Line ends in front of the event and comments between events belong to nobody."""
    for parts in every_way(CONTENT + b"\n\n: ping\n\n\n" + HIDDEN + b"\n" + DONE):
        assert passed(parts) == CONTENT + b"\n\n: ping\n\n\n" + b"\n" + DONE


def test_events_pass_with_the_chunk_that_ends_them() -> None:
    """Only an unfinished event waits, and a chunk of whole events is handed back as the same object."""
    keep = UsageFilter()
    assert keep.feed(CONTENT) is CONTENT
    assert keep.feed(CONTENT[:-1]) == b""
    assert keep.feed(CONTENT[-1:] + CONTENT + CONTENT[:9]) == CONTENT * 2
    assert keep.feed(CONTENT[9:] + HIDDEN + DONE[:3]) == CONTENT
    assert keep.close() == DONE[:3]


@pytest.mark.parametrize("end", ["\r\n\r\n", "\r\r"])
def test_events_with_carriage_returns_do_not_wait_either(end: str) -> None:
    """A CR may be half a CRLF; the event is over all the same."""
    event = CONTENT.strip() + end.encode()
    keep = UsageFilter()
    assert keep.feed(event[:5]) + keep.feed(event[5:]) == event


def test_an_unfinished_end_is_judged_too() -> None:
    """Usage without its blank line is withheld; half an event is not lost."""
    for parts in every_way(CONTENT + HIDDEN.rstrip()):
        assert passed(parts) == CONTENT
    for parts in every_way(CONTENT + HIDDEN[:-9]):
        assert passed(parts) == CONTENT + HIDDEN[:-9]


def test_an_event_beyond_the_bound_passes_unseen() -> None:
    """Memory is bounded: a huge event is forwarded while it arrives, and hiding goes on behind it."""
    huge = sse(usage_only() | {"pad": "x" * 2 * usage_filter.EVENT_BYTES})
    data = CONTENT + huge + HIDDEN + DONE
    parts = list(pieces(data, range(0, len(data), 65_536)))
    assert passed(parts) == passed([data]) == CONTENT + huge + DONE
    keep = UsageFilter()
    waiting = 0
    for part in parts:
        waiting += len(part) - len(keep.feed(part))
        assert waiting <= usage_filter.EVENT_BYTES + len(part) + len(HIDDEN)


SMALL = b'data:{"usage":{}}'
TOKENS = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", SMALL, SMALL, SMALL + b"\r\r", CONTENT, b": c", b"x" * 9]),
    max_size=14,
).map(b"".join)
BOUNDS = st.integers(len(SMALL) - 1, len(SMALL) + 6) | st.just(usage_filter.EVENT_BYTES)


@settings(deadline=None)
@given(TOKENS, st.lists(st.integers(0, 300), max_size=9), BOUNDS)
@example(data=b"\r\n" + SMALL + b"\r\n\r\n", cuts=[len(SMALL) + 5], bound=len(SMALL) + 5)
def test_cuts_do_not_matter(data: bytes, cuts: list[int], bound: int) -> None:
    """Whatever the bytes, the cuts and the bound, the same bytes pass."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usage_filter, "EVENT_BYTES", bound)
        assert passed(list(pieces(data, [cut for cut in cuts if cut < len(data)]))) == passed([data])
