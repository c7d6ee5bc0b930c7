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

from collections.abc import Mapping
from typing import Literal

import msgspec

from engine_adapter import events
from engine_adapter.answer import Answer, read
from engine_adapter.dialects import DIALECTS
from engine_adapter.usage import Usage
from engine_adapter.usage_filter import EVENT_BYTES, UsageFilter
from prefix.errors import EngineError

Outcome = Literal["ok", "error", "truncated"]

RETAINED = 64 * 1024
_LAST_EVENTS = 3  # finish, usage and [DONE]: where a stream says how it ended
_GZIP = b"\x1f"  # no event starts so

_FIRST_EVENTS = 4  # a comment or two, and the one that starts the answer
_WINDOW = 192  # of the last chunk, to see what is cut


class StreamResult(msgspec.Struct, frozen=True):
    """What a stream said. text and finish_reason are the first choice's; text is "" without keep_text.

    done_seen: it reached its end, [DONE] or the event that stands for it. usage: the last one reported, None when
    there was none; usage_partial: the stream did not reach its end, so more may have been used. outcome: "error"
    after an error event, else "truncated" without an end. error: its message. tail: bytes still to forward.
    """

    text: str
    usage: Usage | None
    finish_reason: str | None
    done_seen: bool
    outcome: Outcome
    error: str | None
    tail: bytes
    usage_partial: bool
    id: str | None = None
    model: str | None = None


class StreamTap:
    """Sans-IO reader of one upstream stream: `feed` every chunk, then `close` once, however it ended.

    api: "openai" (chat and completions), "responses", "anthropic" or "sglang" (/generate). hide_usage: withhold
    usage-only events, where the dialect has such.
    choices: answers per prompt that the request asked for; cache_report: as for parse_usage.
    first_content turns True with the chunk that brings the first generated text, reasoning or tool call;
    response_id is there from the chunk on that tells it (Responses).
    Raises EngineError for an api it cannot read.
    """

    __slots__ = (
        "_answer",
        "_cache_report",
        "_choices",
        "_dialect",
        "_filter",
        "_forward",
        "_head_read",
        "_held",
        "_limit",
        "_long_end",
        "_opaque",
        "_parts",
        "_reads",
        "_window",
        "first_content",
        "response_id",
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
        if api not in DIALECTS:
            raise EngineError(f"cannot read streams of api {api!r}; known: {', '.join(DIALECTS)}")
        self.first_content = False
        self.response_id: str | None = None
        self._dialect, self._choices, self._cache_report = DIALECTS[api], choices, cache_report
        self._filter = UsageFilter() if hide_usage and self._dialect.hides_usage else None
        self._forward = self._filter.feed if self._filter else None
        self._answer = Answer(keep_text)
        self._reads = keep_text  # every event, not only the last ones
        self._head_read = not self._dialect.head
        self._long_end = False  # the last event began and was too long to be kept
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
        self.response_id = self.response_id or answer.id
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
            id=answer.name or self._answer.name,
            model=answer.model or self._answer.model,
        )

    def _look_for_content(self, chunk: bytes) -> None:
        if self._opaque:
            return
        if chunk.startswith(_GZIP) and not self._held:
            self._opaque, self._filter, self._forward = True, None, None
            return
        window = self._window + chunk
        self.first_content = self._dialect.content.search(window) is not None
        self._window = window[-_WINDOW:]
        names = self._dialect.id
        if names is not None and self.response_id is None and (told := names.search(window)) is not None:
            self.response_id = told[1].decode()

    def _settle(self) -> None:
        """Bring what is retained back to its bound: read it or drop it, up to the last whole events."""
        data = b"" if self._opaque else events.with_line_feeds(b"".join(self._parts))
        end = self._dialect.end
        if end is not None and len(data) > EVENT_BYTES:
            self._long_end = self._long_end or end.search(data) is not None
        rest = self._unread(data)
        if len(rest) > EVENT_BYTES:
            rest = b""
        self._parts[:] = [rest]
        self._held, self._limit = len(rest), max(RETAINED, min(2 * len(rest), EVENT_BYTES))

    def _unread(self, data: bytes) -> bytes:
        several, error = self._dialect.several, self._dialect.error
        self._reads = self._reads or any(data.find(mark) >= 0 for mark in several) or error.search(data) is not None
        if self._reads:
            cut = events.last_end(data)
            self._read(data[:cut])
            return data[cut:]
        self._read_head(data)
        rest = _last_events(data)
        self._read_last(data[: len(data) - len(rest)], self._answer)  # they may end what a long event follows
        return rest

    def _read_rest(self) -> Answer:
        if self._opaque:
            return self._answer
        data = events.with_line_feeds(b"".join(self._parts))
        if not self._reads and self._dialect.error.search(data) is None:
            self._read_head(data)
            last = self._read_last(data, Answer(keep_text=False, usages=self._counted()))
            if last.settled and self._answer.error is None:
                return last
        self._read(data)
        self._answer.done = self._answer.done or (self._long_end and data.endswith(b"\n\n"))
        return self._answer

    def _read_head(self, data: bytes) -> None:
        if not self._head_read:
            self._head_read = True
            for event in data.split(b"\n\n", _FIRST_EVENTS)[:_FIRST_EVENTS]:
                read(self._answer, event, self._dialect.reader)

    def _counted(self) -> dict[int, Mapping[str, object]]:
        """What the last events add their counts to."""
        return dict(self._answer.usages) if self._dialect.head else {}

    def _read_last(self, data: bytes, answer: Answer) -> Answer:
        for event in data.rsplit(b"\n\n", _LAST_EVENTS + 1)[-_LAST_EVENTS - 1 :]:
            read(answer, event, self._dialect.reader)
        return answer

    def _read(self, data: bytes) -> None:
        for event in data.split(b"\n\n"):
            read(self._answer, event, self._dialect.reader)


def _last_events(data: bytes) -> bytes:
    """The whole events in the last RETAINED / 2 bytes, and the one that reaches into them if it is not too long."""
    middle = len(data) - RETAINED // 2
    rest = data[data.rfind(b"\n\n", 0, middle) + 2 :] if data.rfind(b"\n\n", 0, middle) >= 0 else data
    if len(rest) <= EVENT_BYTES:
        return rest
    following = data.find(b"\n\n", middle)
    return data[following + 2 :] if following >= 0 else b""
