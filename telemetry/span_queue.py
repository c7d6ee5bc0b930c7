"""Spans on their way out: the request appends its facts, a thread makes spans, encodes and delivers them.

A collector that is down, slow or silent costs requests nothing: so many wait, further ones are dropped and counted.
What cannot be delivered within the sender's patience is lost and counted too; one line says so, and one when it works
again. The thread gives the interpreter back every few requests, so that it holds no stream up.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from telemetry.span_facts import Finished
from telemetry.span_wire import Encoder, Span, encode

_log = logging.getLogger("prefixgate")
MOST_WAITING: Final = 2048
"""Requests whose spans wait."""
BATCH: Final = 256
_AT_ONCE: Final = 8
"""Requests whose spans are made before the interpreter goes to whoever waits for it: a third of a millisecond."""
_EVERY_S: Final = 1.0
_FIRST_PAUSE_S: Final = 0.5


class Undelivered(Exception):
    """A message that was not taken, and why. again: it may be, later. after_s: the collector's wish."""

    def __init__(self, why: str, *, again: bool = False, after_s: float = 0.0) -> None:
        super().__init__(why)
        self.again = again
        self.after_s = after_s


class Sender(Protocol):
    """Takes encoded messages to a collector; blocks at most `timeout_s`, or little longer."""

    timeout_s: float

    def send(self, body: bytes) -> None:
        """Raises Undelivered."""

    def close(self) -> None:
        """No more messages."""


class SpanQueue:
    """make: the spans of one request, called in the thread. `start`, then `put`, then `close`."""

    def __init__(self, make: Callable[[Finished], list[Span]], encoder: Encoder, sender: Sender) -> None:
        self._make, self._encoder, self._sender = make, encoder, sender
        self._waiting: deque[Finished] = deque()
        self._counts = {"sent": 0, "dropped": 0, "failed": 0}
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._complained = False
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)

    def start(self) -> None:
        """Deliver from now on."""
        self._thread.start()

    def put(self, done: Finished) -> None:
        """Have a request's spans delivered soon."""
        waiting = len(self._waiting)
        if waiting >= MOST_WAITING:
            self._counts["dropped"] += 1 + len(done.trace.attempts)
            return
        self._waiting.append(done)
        if waiting + 1 >= BATCH and not self._wake.is_set():
            self._wake.set()

    def counts(self) -> dict[str, int]:
        """Spans so far: sent, dropped because too many waited, failed to be delivered."""
        return dict(self._counts)

    def close(self, timeout_s: float) -> None:
        """Deliver what waits and stop; blocks up to `timeout_s`, what is left then is lost."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wake.wait(_EVERY_S)
            self._wake.clear()
            while self._waiting:
                self._deliver()
        self._sender.close()

    def _deliver(self) -> None:
        encoded: list[bytes] = []
        for number in range(min(BATCH, len(self._waiting))):
            encoded += [encode(span) for span in self._make(self._waiting.popleft())]
            if number % _AT_ONCE == 0:
                time.sleep(0)
        outcome = "sent" if self._sent(self._encoder.message(encoded)) else "failed"
        self._counts[outcome] += len(encoded)

    def _sent(self, body: bytes) -> bool:
        last, pause = time.monotonic() + self._sender.timeout_s, _FIRST_PAUSE_S
        while True:
            try:
                self._sender.send(body)
            except Undelivered as error:
                wait = max(pause, error.after_s)
                if not error.again or time.monotonic() + wait > last or self._ended.wait(wait):
                    self._complain(f"spans are lost: {error}")
                    return False
                pause *= 2
            else:
                if self._complained:
                    _log.info("spans are delivered again")
                    self._complained = False
                return True

    def _complain(self, text: str) -> None:
        if not self._complained:
            self._complained = True
            _log.error("%s", text)
