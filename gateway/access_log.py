"""The access log: one JSON object a request, off the event loop, bounded, without a word of any prompt.

Opt-in (`access_log: stdout` or a file). The event loop only appends a record to a queue; a thread makes the lines and
writes them. When it cannot keep up, records are dropped and a line says how many. A file that was moved away (log
rotation) is opened anew. Ids join it to traces: `trace_id` and `span_id` are those of the request's SERVER
span or, where it has none, of the client's `traceparent`; `request_id` is the response's `x-prefixgate-request-id`,
`client_request_id` the client's own `x-request-id`.
"""

import logging
import sys
import threading
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from prefix.errors import ConfigError
from prefix.record import RequestRecord

_log = logging.getLogger("prefixgate")
MOST_WAITING: Final = 10_000
_EVERY_S: Final = 0.2
_LONGEST: Final = 256
"""Of any text in a line: model and prompt version are what a client says they are."""


class AccessLog:
    """Use as a context manager. target: `stdout`, a path, or None: nothing is written.

    Raises ConfigError when the file cannot be opened.
    """

    def __init__(self, target: str | None) -> None:
        self._path = None if target in (None, "stdout") else Path(target or "")
        self._on = target is not None
        self._waiting: deque[RequestRecord] = deque()
        self._dropped = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if self._path is not None:
            try:
                self._path.open("a").close()
            except OSError as error:
                raise ConfigError(f"access_log: {self._path}: {error.strerror}") from None

    def __enter__(self) -> Self:
        if self._on:
            self._thread = threading.Thread(target=self._run, name="access log", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def write(self, record: RequestRecord) -> None:
        """Have a line written soon."""
        if not self._on:
            return
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(record)
        else:
            self._dropped += 1

    def _run(self) -> None:
        ended, complaint = False, ""
        while not ended:
            ended = self._ended.wait(_EVERY_S)
            if self._waiting or self._dropped:
                try:
                    self._flush()
                except OSError as error:
                    if str(error) != complaint:
                        complaint = str(error)
                        _log.error("access log: %s: lines are lost", complaint)

    def _flush(self) -> None:
        lines: list[bytes] = []
        while self._waiting:
            lines.append(line(self._waiting.popleft()))
        if self._dropped:
            lines.append(msgspec.json.encode({"time": _stamp(datetime.now(UTC)), "dropped": self._dropped}))
            self._dropped = 0
        text = b"\n".join([*lines, b""]).decode()
        if self._path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(text)


def line(record: RequestRecord) -> bytes:
    """One record as JSON; what is unknown is null."""
    return msgspec.json.encode(_row(record))


def _row(record: RequestRecord) -> dict[str, Any]:
    return {
        "time": _stamp(datetime.fromtimestamp(record.started, UTC)),
        "request_id": record.request_id,
        "client_request_id": _short(record.client_request_id),
        "trace_id": record.trace_id,
        "span_id": record.span_id,
        "path": record.path,
        "status": record.status,
        "outcome": record.outcome,
        "error": record.error_type,
        "limit": record.limit,
        "customer": _short(record.customer),
        "route": record.route,
        "prompt_version": _short(record.prompt_version),
        "model": _short(record.model),
        "asked_model": _short(record.asked_model),
        "worker": record.worker,
        "reason": record.reason,
        "stream": record.stream,
        "retries": record.retries,
        "changes": record.changes,
        "input_tokens": record.input_tokens,
        "cached_tokens": record.cached_tokens,
        "expected_cached_tokens": record.expected_cached_tokens,
        "output_tokens": record.output_tokens,
        "usage_anomaly": record.usage_anomaly,
        "ttft_ms": None if record.ttft_s is None else round(1000 * record.ttft_s, 3),
        "duration_ms": round(1000 * record.duration_s, 3),
    }


def _short(text: str | None) -> str | None:
    return text if text is None else text[:_LONGEST]


def _stamp(when: datetime) -> str:
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
