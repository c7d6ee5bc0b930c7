"""What another replica told, done to this one's routers, limits and workers.

One idea: a request that another replica placed is a request in flight here too, so that overlap, queue and KV memory
of every worker are counted over the whole fleet, and its end teaches what an own one does. Idempotent: a replica's
batches are numbered, and one that was applied is not applied again. What a newer replica says and this one does not
understand is counted, told once in the log, and left.
"""

import logging
from collections.abc import Callable, Set
from typing import Final, Protocol

import msgspec

from gateway.models import ModelGroup, Models
from gateway.router import Route
from gateway.shared.messages import (
    VERSION,
    Batch,
    Bye,
    Decision,
    FirstToken,
    Forgot,
    Head,
    Hello,
    Learned,
    Message,
    Open,
    Placed,
    Released,
    Spent,
    decode,
    decode_head,
    unpack,
)
from prefix.errors import RoutingError

GONE_S: Final = 10.0
"""A replica that was not heard of for so long has ended: what it had open is over."""

MOST_REPLICAS: Final = 1000
"""Replicas remembered, those that have ended too."""

_log = logging.getLogger("prefixgate")


class Membership(Protocol):
    """Who is told of operators' decisions."""

    def learn(self, decision: Decision) -> None: ...


class Spending(Protocol):
    """Who is told of customers' spending at other replicas; age_s: how long ago it was."""

    def spent_elsewhere(self, customer: str, requests: int, tokens: int, now: float, age_s: float) -> None: ...
    def open_elsewhere(self, gateway: str, customer: str, count: int) -> None: ...
    def gone_elsewhere(self, gateway: str) -> None: ...


class Peer:
    """Another replica. flights: its open requests, in our routers. name, release: None until it said hello."""

    __slots__ = ("flights", "heard_at", "name", "release")

    def __init__(self, heard_at: float) -> None:
        self.heard_at = heard_at
        self.name: str | None = None
        self.release: str | None = None
        self.flights: dict[int, tuple[ModelGroup, Route]] = {}


class Inbox:
    """Applies batches. own: this replica's id. greet: called when a replica wants to know what we know. ask: called
    when batches were missed, so that the others tell once more what is open.

    applied, unplaceable, repeated, missed, unreadable, unknown_version: messages (the last two: also whole batches
    that could not be read) by what became of them; missed: batches that never came.
    """

    def __init__(
        self,
        own: str,
        models: Models,
        membership: Membership,
        spending: Spending,
        greet: Callable[[], None],
        ask: Callable[[], None],
    ) -> None:
        self.peers: dict[str, Peer] = {}
        self.applied = self.unplaceable = self.repeated = self.missed = 0
        self.unreadable = self.unknown_version = 0
        self._own = own
        self._models = models
        self._membership = membership
        self._spending = spending
        self._greet, self._ask = greet, ask
        self._numbers: dict[str, int] = {}  # of the last batch of each, also of those that have ended
        self._complained: set[tuple[str, object]] = set()

    def apply(self, data: bytes, now: float, *, delay_s: float = 0.0, news: bool = True) -> float | None:
        """One batch, sent `delay_s` ago; the age in seconds of the oldest event in it, None: nothing was applied.

        now: this process's monotonic clock. news: False for what was sent before this replica said hello: its
        operators' decisions and greetings are left, as they may have been overtaken.
        """
        batch = self._read(data)
        if batch is None:
            return None
        peer = self._peer(batch, now)
        if peer is None:
            return None
        oldest = 0.0
        for message in batch.messages:
            at = now - delay_s
            if isinstance(message, Placed | FirstToken | Released | Spent):
                age = max(0.0, batch.sealed - message.at)
                oldest, at = max(oldest, age), at - age
            if news or not isinstance(message, Decision | Hello):
                self._apply(batch.replica, peer, message, at, now)
        return delay_s + oldest

    def meet(self, data: bytes) -> None:
        """Only what operators decided; safe to do before and after `apply` of the same batch."""
        batch = self._read(data)
        for message in batch.messages if batch is not None else ():
            if isinstance(message, Decision):
                self._membership.learn(message)

    def forget_silent(self, now: float) -> None:
        """End what replicas have open that nobody hears of any more."""
        for name, peer in tuple(self.peers.items()):
            if now - peer.heard_at > GONE_S:
                _log.warning("replica %s was not heard of for %.0f s: taken for ended", peer.name or name, GONE_S)
                self._gone(name, peer, now)

    def _read(self, data: bytes) -> Batch | None:
        """None: our own, or not to be understood."""
        head: Head | None = None
        try:
            head = decode_head(data)
            if head.replica == self._own:
                return None
            if head.version != VERSION:
                self.unknown_version += 1
                self._complain(head.replica, head.version, f"speaks version {head.version}, this one {VERSION}")
                return None
            batch, unread = decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.unreadable += 1
            self._complain(head.replica if head else "?", "batch", "sent what is no batch of messages")
            return None
        if unread:
            self.unreadable += unread
            self._complain(head.replica, "message", "sent messages of a kind that this one does not know")
        return batch

    def _complain(self, replica: str, about: object, what: str) -> None:
        """Once."""
        if (replica, about) not in self._complained and len(self._complained) < MOST_REPLICAS:
            self._complained.add((replica, about))
            _log.warning("replica %s %s: ignored, and counted in GET /workers", replica, what)

    def _peer(self, batch: Batch, now: float) -> Peer | None:
        """Who sent it; None when it is here already."""
        last = self._numbers.pop(batch.replica, None)
        self._numbers[batch.replica] = batch.number if last is None else max(last, batch.number)
        if len(self._numbers) > MOST_REPLICAS:
            del self._numbers[next(iter(self._numbers))]
        if last is not None:
            if batch.number <= last:
                self.repeated += 1
                return None
            if batch.number > last + 1:
                self.missed += batch.number - last - 1
                self._ask()
        peer = self.peers.get(batch.replica)
        if peer is None:
            peer = self.peers[batch.replica] = Peer(now)
        peer.heard_at = now
        return peer

    def _apply(self, replica: str, peer: Peer, message: Message, at: float, now: float) -> None:
        self.applied += 1
        match message:
            case Placed():
                self._place(peer, message, at)
            case FirstToken() | Released():
                self._continue(peer, message, at)
            case Forgot():
                self._models.forget(message.worker)
            case Decision():
                self._membership.learn(message)
            case Spent():
                self._spend(replica, message, at, now)
            case Learned():
                self._adopt(message)
            case Hello():
                peer.name, peer.release = message.name, message.release
                if message.asks:
                    self._greet()
            case Open(flights):
                self._close(peer, peer.flights.keys() - flights, at)
            case Bye():
                self._gone(replica, peer, at)

    def _place(self, peer: Peer, message: Placed, at: float) -> None:
        if message.flight in peer.flights:
            return  # told once more, for those who were away
        group = self._models.named(message.model)
        try:
            if group is None:
                raise RoutingError(f"no worker serves {message.model!r} here")
            most = message.max_output_tokens
            route = group.router.adopt(
                message.worker, unpack(message.blocks), message.prompt_tokens, at, max_output_tokens=most
            )
        except RoutingError:  # a worker that is not up here yet, or not any more
            self.applied -= 1
            self.unplaceable += 1
        else:
            peer.flights[message.flight] = group, route

    def _continue(self, peer: Peer, message: FirstToken | Released, at: float) -> None:
        """The first token or the end of a request; one that could not be placed here has none."""
        found = peer.flights.get(message.flight)
        if found is None:
            return
        group, route = found
        if isinstance(message, FirstToken):
            group.router.on_first_token(route, at)
        else:
            del peer.flights[message.flight]
            cached, output = message.cached_tokens, message.output_tokens
            group.router.release(route, at, cached_tokens=cached, output_tokens=output)

    def _adopt(self, message: Learned) -> None:
        if (group := self._models.named(message.model)) is not None:
            group.adopt(message.observations, message.bytes_per_token, message.scales)

    def _spend(self, replica: str, message: Spent, at: float, now: float) -> None:
        self._spending.spent_elsewhere(message.customer, message.requests, message.tokens, now, now - at)
        self._spending.open_elsewhere(replica, message.customer, message.open)

    def _gone(self, replica: str, peer: Peer, now: float) -> None:
        del self.peers[replica]
        self._spending.gone_elsewhere(replica)
        self._close(peer, set(peer.flights), now)

    def _close(self, peer: Peer, flights: Set[int], now: float) -> None:
        """These have ended, nobody knows how."""
        for flight in flights:
            group, route = peer.flights.pop(flight)
            group.router.release(route, now, cached_tokens=None, output_tokens=0)
