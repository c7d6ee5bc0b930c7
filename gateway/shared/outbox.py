"""What this replica has to tell: noted on the request path in a few microseconds, sent in batches by somebody else.

Bounded: when nobody takes the batches, the oldest messages are dropped and counted. A batch stays the next one until
it is acknowledged, so one whose fate is unknown is sent again under the same number, and readers skip what they have.
Requests that are open are kept apart, to be told anew to replicas that were away. Pure: time is an argument.
"""

import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from gateway.router import Route
from gateway.shared.messages import (
    MOST_COUNT,
    VERSION,
    Batch,
    FirstToken,
    Forgot,
    Message,
    Open,
    Placed,
    Released,
    encode,
    pack,
)

MOST_WAITING: Final = 8192
"""Messages that wait, at most."""

BATCH_MESSAGES: Final = 256
BATCH_BYTES: Final = 64 << 10
"""A batch ends after so many messages, or the message with which its blocks exceed so many bytes."""


def _nobody() -> None:
    """Nobody waits to send."""


def _count(number: int) -> int:
    """Clients and engines may say any number; a message carries one that makes sense."""
    return max(0, min(number, MOST_COUNT))


class Outbox:
    """Messages of the replica with this id, in order.

    wake: called when a message waits after none did. dropped: messages that nobody will hear. told: messages that
    were acknowledged.
    """

    def __init__(self, replica: str, most_waiting: int = MOST_WAITING) -> None:
        self.replica = replica
        self.wake: Callable[[], None] = _nobody
        self.told = 0
        self.dropped = 0
        self._most = most_waiting
        self._waiting: deque[Message] = deque()
        self._open: dict[int, list[Message]] = {}  # by the id of the Route, which is alive as long as its request
        self._flights = 0
        self._batches = 0
        self._sealed: tuple[bytes, int] | None = None

    def __len__(self) -> int:
        """Messages that wait."""
        return len(self._waiting) + (self._sealed[1] if self._sealed is not None else 0)

    def placed(
        self,
        model: str,
        route: Route,
        blocks: Sequence[int],
        prompt_tokens: int,
        max_output_tokens: int | None,
        now: float,
    ) -> None:
        """A request of this base model was routed here."""
        try:
            packed = pack(blocks)
        except struct.error:  # hashes of another width, of a block source that is ours alone
            self.dropped += 1
            return
        self._flights += 1
        most = None if max_output_tokens is None else _count(max_output_tokens)
        told = Placed(now, self._flights, model, route.worker, packed, _count(prompt_tokens), most)
        self._open[id(route)] = [told]
        self.tell(told)

    def first_token(self, route: Route, now: float) -> None:
        """Its prefill is over; only the first call is told."""
        told = self._open.get(id(route))
        if told is not None and len(told) == 1:
            assert isinstance(told[0], Placed)
            told.append(FirstToken(now, told[0].flight))
            self.tell(told[1])

    def released(self, route: Route, now: float, cached_tokens: int | None, output_tokens: int) -> None:
        """It ended."""
        told = self._open.pop(id(route), None)
        if told is not None:
            assert isinstance(told[0], Placed)
            cached = None if cached_tokens is None or cached_tokens < 0 else _count(cached_tokens)
            self.tell(Released(now, told[0].flight, cached, _count(output_tokens)))

    def forgot(self, worker: str) -> None:
        """An engine lost its cache."""
        self.tell(Forgot(worker))

    def tell(self, message: Message) -> None:
        """Any message."""
        waiting = self._waiting
        if not waiting:
            self.wake()
        elif len(waiting) >= self._most:
            waiting.popleft()
            self.dropped += 1
        waiting.append(message)

    def tell_open(self) -> None:
        """Every request that is open, once more: somebody may not know of it, or not of the end of others."""
        self.tell(Open([told[0].flight for told in self._open.values() if isinstance(told[0], Placed)]))
        for told in self._open.values():
            for message in told:
                self.tell(message)

    def seal(self, now: float) -> bytes:
        """The batch to send: the one that was not acknowledged, else the next, even when nothing waits."""
        if self._sealed is None:
            messages = list(self._next())
            self._batches += 1
            batch = Batch(VERSION, self.replica, self._batches, now, messages)
            self._sealed = encode(batch), len(messages)
        return self._sealed[0]

    def acknowledge(self) -> None:
        """The batch of `seal` has arrived."""
        if self._sealed is not None:
            self.told += self._sealed[1]
            self._sealed = None

    def _next(self) -> Iterator[Message]:
        size = 0
        for _ in range(min(BATCH_MESSAGES, len(self._waiting))):
            message = self._waiting.popleft()
            yield message
            size += len(message.blocks) if isinstance(message, Placed) else 0
            if size > BATCH_BYTES:
                return
