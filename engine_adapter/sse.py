"""The tap on a streamed answer: bytes go on as they came, and what they said is known at the end.

One idea: forwarding and reading are separate. `feed` hands back the very chunk it was given (but for the usage
chunk a client did not ask for, see usage_filter) and only keeps it; events are parsed in `close`, from the end
of the stream backwards as far as needed. So a stream costs a list append per chunk, and memory is bounded:
once RETAINED bytes are held, all but the whole events in the last RETAINED / 2 bytes are dropped, the last few
of them read. With `keep_text`, or when several choices share the stream (their ends can lie far apart), all are.
An event of more than EVENT_BYTES is forwarded and not read: its text and usage are unknown.

A stream that starts with the magic of gzip is opaque: forwarded, never read, and `ok`, because its end shows
nowhere but in the transport. Cases 45, 47, 49 and 51 are the faults this module is built against.
"""

import re
from typing import Literal

import msgspec

from engine_adapter import events
from engine_adapter.answer import READERS, Answer, read
from engine_adapter.usage import Usage
from engine_adapter.usage_filter import EVENT_BYTES, UsageFilter
from prefix.errors import EngineError

Outcome = Literal["ok", "error", "truncated"]

RETAINED = 64 * 1024
_LAST_EVENTS = 3  # finish, usage and [DONE]: where a stream says how it ended
_GZIP = b"\x1f"  # no event starts so

# A non-empty text, or a call; `window` keeps enough of the last chunk to see one that is cut.
_CONTENT = re.compile(
    rb'"(?:content|text|reasoning_content|reasoning|refusal)"\s*:\s*"[^"]'
    rb'|"(?:tool_calls|output_ids)"\s*:\s*\[\s*[^\]\s]'
    rb'|"function_call"\s*:\s*\{'
)
_WINDOW = 64
# Further choices in one stream, by the spellings of their index (a false positive only costs parsing).
_SEVERAL = {"openai": (b'"index":1', b'"index": 1'), "sglang": (b'"index"',)}


class StreamResult(msgspec.Struct, frozen=True):
    """What a stream said. text and finish_reason are the first choice's; text is "" without keep_text.

    usage: the last one reported, None when there was none; usage_partial: the stream did not reach its [DONE],
    so more may have been used. outcome: "error" after an error event, else "truncated" without [DONE].
    error: the error event's message. tail: bytes still to forward.
    """

    text: str
    usage: Usage | None
    finish_reason: str | None
    done_seen: bool
    outcome: Outcome
    error: str | None
    tail: bytes
    usage_partial: bool


class StreamTap:
    """Sans-IO reader of one upstream stream: `feed` every chunk, then `close` once, however it ended.

    api: "openai" (chat and completions) or "sglang" (/generate). hide_usage: withhold usage-only events (openai).
    choices: answers per prompt that the request asked for; cache_report: as for parse_usage.
    first_content turns True with the chunk that brings the first generated text, reasoning or tool call.
    Raises EngineError for an api it cannot read.
    """

    __slots__ = (
        "_answer",
        "_api",
        "_cache_report",
        "_choices",
        "_filter",
        "_forward",
        "_held",
        "_limit",
        "_opaque",
        "_parts",
        "_reads",
        "_window",
        "first_content",
    )

    def __init__(
        self,
        *,
        api: str = "openai",
        hide_usage: bool = False,
        keep_text: bool = True,
        choices: int = 1,
        cache_report: bool | None = None,
    ) -> None:
        if api not in READERS:
            raise EngineError(f"cannot read streams of api {api!r}; known: {', '.join(READERS)}")
        self.first_content = False
        self._api, self._choices, self._cache_report = api, choices, cache_report
        self._filter = UsageFilter() if hide_usage and api == "openai" else None
        self._forward = self._filter.feed if self._filter else None
        self._answer = Answer(keep_text)
        self._reads = keep_text  # every event, not only the last ones
        self._parts: list[bytes] = []
        self._held, self._limit = 0, RETAINED
        self._window = b""
        self._opaque = False

    def feed(self, chunk: bytes) -> bytes:
        """The bytes to forward now: `chunk` itself unless usage is hidden."""
        if not self.first_content:
            self._look_for_content(chunk)
        self._parts.append(chunk)
        self._held += len(chunk)
        if self._held > self._limit:
            self._settle()
        return chunk if self._forward is None else self._forward(chunk)

    def close(self) -> StreamResult:
        """The stream is over, by its own end or not."""
        tail = self._filter.close() if self._filter else b""
        answer = self._read_rest()
        self._parts.clear()
        usage = answer.usage(choices=self._choices, cache_report=self._cache_report)
        complete = answer.done or self._opaque
        return StreamResult(
            text="".join(answer.first.text),
            usage=usage,
            finish_reason=answer.first.finish_reason,
            done_seen=answer.done,
            outcome="error" if answer.error is not None else "ok" if complete else "truncated",
            error=answer.error,
            tail=tail,
            usage_partial=usage is not None and not answer.done,
        )

    def _look_for_content(self, chunk: bytes) -> None:
        if self._opaque:
            return
        if chunk.startswith(_GZIP) and not self._held:
            self._opaque, self._filter, self._forward = True, None, None
            return
        window = self._window + chunk
        self.first_content = _CONTENT.search(window) is not None
        self._window = window[-_WINDOW:]

    def _settle(self) -> None:
        """Bring what is retained back to its bound: read it or drop it, up to the last whole events."""
        rest = b"" if self._opaque else self._unread(events.with_line_feeds(b"".join(self._parts)))
        if len(rest) > EVENT_BYTES:
            rest = b""
        self._parts[:] = [rest]
        self._held, self._limit = len(rest), max(RETAINED, min(2 * len(rest), EVENT_BYTES))

    def _unread(self, data: bytes) -> bytes:
        self._reads = self._reads or any(data.find(mark) >= 0 for mark in _SEVERAL[self._api])
        if self._reads:
            cut = events.last_end(data)
            self._read(data[:cut])
            return data[cut:]
        rest = _last_events(data)
        self._read_last(data[: len(data) - len(rest)], self._answer)  # they may end what a long event follows
        return rest

    def _read_rest(self) -> Answer:
        if self._opaque:
            return self._answer
        data = events.with_line_feeds(b"".join(self._parts))
        if not self._reads and not _mentions_error(data):
            last = self._read_last(data, Answer(keep_text=False))
            if last.settled:
                return last
        self._read(data)
        return self._answer

    def _read_last(self, data: bytes, answer: Answer) -> Answer:
        for event in data.rsplit(b"\n\n", _LAST_EVENTS + 1)[-_LAST_EVENTS - 1 :]:
            read(answer, event, READERS[self._api])
        return answer

    def _read(self, data: bytes) -> None:
        for event in data.split(b"\n\n"):
            read(self._answer, event, READERS[self._api])


def _mentions_error(data: bytes) -> bool:
    """One search for most streams; an answer's own words have their quotes escaped."""
    return data.find(b"error") >= 0 and (data.find(b'"error"') >= 0 or data.find(b"event:") >= 0)


def _last_events(data: bytes) -> bytes:
    """The whole events in the last RETAINED / 2 bytes, and the one that reaches into them if it is not too long."""
    middle = len(data) - RETAINED // 2
    rest = data[data.rfind(b"\n\n", 0, middle) + 2 :] if data.rfind(b"\n\n", 0, middle) >= 0 else data
    if len(rest) <= EVENT_BYTES:
        return rest
    following = data.find(b"\n\n", middle)
    return data[following + 2 :] if following >= 0 else b""
