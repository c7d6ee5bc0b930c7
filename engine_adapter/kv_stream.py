"""One stream of KV events, followed from its first message on: what it says is held, and whether that is all of it.

One idea: messages are numbered, so what is missing shows, and an engine sends what it still has again when asked (a
*replay*). Sans-IO: whoever owns the sockets passes frames in and asks for a replay when `replay_from` is set.

- A gap, a new connection, a silence: replay from the last message on. That one is repeated too, and when it is not
  the one we had, another process has taken over and everything is read from the start (a restart).
- An old number with a newer time is a restart as well, with an older time a repetition.
- What cannot be had again (no replay endpoint, a buffer that has moved on, an unreadable message): what is held is
  not known any more. It is forgotten, and the stream stays *incomplete* until the engine's cache is cleared.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from engine_adapter.kv_events import END_OF_REPLAY, Cleared, Message, Stored, read_message, sequence_number
from prefix.errors import EngineError
from prefix.pages import HeldPages

_WAITING = 256
"""Messages kept while a replay is on its way; more show as another gap behind it."""


@dataclass(slots=True)
class Counts:
    """What happened on a stream. messages: applied. gaps: jumps of the sequence. resyncs: replays that were needed.

    lost: messages that could not be had again. corrupt: unreadable messages. foreign: of another topic or rank.
    """

    messages: int = 0
    gaps: int = 0
    resyncs: int = 0
    restarts: int = 0
    clears: int = 0
    lost: int = 0
    corrupt: int = 0
    foreign: int = 0


class KvStream:
    """Follows one DP rank of an engine. topic, rank: as its messages must have them; an empty topic is any.

    replays: whether it can be asked for old messages. held: what it holds. seq: number of the last message.
    complete: whether nothing is missing in `held`. syncing: a replay that is needed is not over. lag_s: of the last
    live message. emptied: how often the cache was seen to be lost, by a clearing or a restart.
    trouble: the last thing that was wrong with a message.
    """

    def __init__(self, held: HeldPages, *, topic: bytes = b"", rank: int | None = None, replays: bool) -> None:
        self.held = held
        self.counts = Counts()
        self.seq: int | None = None
        self.complete = False
        self.syncing = True
        self.replay_from: int | None = None
        self.lag_s: float | None = None
        self.emptied = 0
        self.trouble: str | None = None
        self._topic = topic
        self._rank = rank
        self._replays = replays
        self._newest = -inf
        self._last = self._had = b""
        self._skew = 0.0
        self._asked: int | None = None
        self._answered = False
        self._waiting: deque[tuple[int, bytes, float]] = deque(maxlen=_WAITING)

    def connected(self) -> None:
        """There is a connection, the first or a new one: find out what was missed, and if it is the same process."""
        if self._replays:
            self._sync()
        elif self.seq is not None:
            self.syncing = True  # until the next message tells

    def disconnected(self) -> None:
        """The connection is gone."""
        self.syncing = True
        self.replay_from = self._asked = None
        self._waiting.clear()

    def check(self) -> None:
        """Nothing came for a while: is that all there is?"""
        if self._replays and not self.syncing and self._asked is None:
            self.replay_from = self.seq or 0

    def live(self, frames: Sequence[bytes], now: float) -> None:
        """A published message. now: seconds since the epoch."""
        try:
            topic, number, payload = frames
            seq = sequence_number(number)
        except (ValueError, EngineError) as error:
            self._unreadable(f"a message of {len(frames)} frames: {error}")
            return
        if self._topic and topic != self._topic:
            self.counts.foreign += 1
            self.trouble = f"topic {topic[:64]!r} instead of {self._topic!r}"
        elif self.syncing and self._replays:
            self._waiting.append((seq, payload, now))
        else:
            self._arrived(seq, payload, now)

    @property
    def asking(self) -> bool:
        """Whether answers to a replay request are still to come."""
        return self._asked is not None

    def asked(self) -> int | None:
        """The number from which a replay is to be asked for now, once; None: nothing to ask."""
        start, self.replay_from = self.replay_from, None
        if start is not None:
            self._asked, self._answered, self._had = start, False, self._last
        return start

    def replayed(self, frames: Sequence[bytes]) -> None:
        """One answer to a replay request: `[..., seq, payload]`."""
        if self._asked is None or len(frames) < 2:
            return  # of a request that was given up
        try:
            seq = sequence_number(frames[-2])
        except EngineError as error:
            self._unreadable(str(error))
            return
        if seq == END_OF_REPLAY:
            self._replay_ended()
        elif not self._answered:
            self._answered = True
            self._first_replayed(seq, frames[-1])
        else:
            self._replay(seq, frames[-1])

    def replay_failed(self) -> None:
        """No answer came in time: ask again, with a new socket."""
        self._asked, self.replay_from = None, self.seq or 0
        self.syncing = True

    def _sync(self) -> None:
        self.syncing = True
        self.replay_from = self.seq or 0

    def _first_replayed(self, seq: int, payload: bytes) -> None:
        """The message we had last, when it is the process we know and its buffer reaches back as far."""
        if self.seq is None:
            if seq:
                self._lose(seq)
            else:
                self.complete = True
            self._replay(seq, payload)
        elif seq == self._asked and payload != self._had:
            self._restart()
        else:
            self._replay(seq, payload)

    def _replay(self, seq: int, payload: bytes) -> None:
        if self._asked is None or (self.seq is not None and seq <= self.seq):
            return  # given up, or it came live in the meantime
        if self.seq is not None and seq > self.seq + 1:
            self._lose(seq - self.seq - 1)
        self._apply(seq, payload)

    def _replay_ended(self) -> None:
        asked, self._asked = self._asked, None
        if not self._answered:
            if self.seq is not None:
                self._restart()
                return
            self.complete = asked == 0
        if self.syncing:
            self.syncing = False
            self.counts.resyncs += 1
            waiting = list(self._waiting)
            self._waiting.clear()
            for seq, payload, now in waiting:
                self.live((self._topic, seq.to_bytes(8, "big"), payload), now)

    def _arrived(self, seq: int, payload: bytes, now: float) -> None:
        expected = 0 if self.seq is None else self.seq + 1
        if seq < expected:
            if self._is_newer(payload):
                self._restart()
                if not self._replays:
                    self._arrived(seq, payload, now)
            return
        if seq > expected:
            if self._replays:
                self.counts.gaps += 1
                self._sync()
                return
            self.counts.gaps += self.seq is not None
            self._lose(seq - expected)
        elif seq == 0:
            self.complete = True
        self.syncing = False
        message = self._apply(seq, payload)
        if message is not None:
            self._skew = min(self._skew, now - message.at)
            self.lag_s = now - message.at - self._skew

    def _apply(self, seq: int, payload: bytes) -> Message | None:
        """The next message, read; None when it cannot be."""
        self.seq, self._last = seq, payload
        try:
            message = read_message(payload)
        except EngineError as error:
            self._unreadable(str(error))
            return None
        self.counts.messages += 1
        self._newest = max(self._newest, message.at)
        if self._rank is not None and message.rank not in (None, self._rank):
            self.counts.foreign += 1
            self.trouble = f"events of DP rank {message.rank} where those of rank {self._rank} were expected"
            return message
        for event in message.events:
            if isinstance(event, Stored):
                self.held.store(event.pages, event.tier)
            elif isinstance(event, Cleared):
                self._cleared()
            else:
                self.held.remove(event.names, event.tier)
        return message

    def _cleared(self) -> None:
        self.held.clear()
        self.complete = True
        self.counts.clears += 1
        self.emptied += 1

    def _restart(self) -> None:
        """Another process publishes here: its messages from the first on."""
        self.counts.restarts += 1
        self.emptied += 1
        self._forget()
        self.seq, self._last, self._newest, self._skew = None, b"", -inf, 0.0
        self._asked = None
        if self._replays:
            self._sync()

    def _lose(self, messages: int) -> None:
        self.counts.lost += max(0, messages)
        self._forget()

    def _unreadable(self, trouble: str) -> None:
        self.counts.corrupt += 1
        self.trouble = trouble
        self._forget()

    def _forget(self) -> None:
        self.held.clear()
        self.complete = False

    def _is_newer(self, payload: bytes) -> bool:
        """Whether a message with an old number was made after the last one."""
        try:
            return read_message(payload).at > self._newest
        except EngineError as error:
            self._unreadable(str(error))
            return False
