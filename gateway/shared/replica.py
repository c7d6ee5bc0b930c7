"""This gateway as one of several: what it tells when, and what it does with what it hears, whatever carries it.

A transport calls `hello` whenever it is connected (again), sends what `batch` gives until that is None, soon after
`outbox.wake` and at least every BEAT_S, and hands what arrives to `inbox`. Nothing else is needed; time is given.
"""

from collections.abc import Callable
from typing import Final, Protocol

from gateway.limits import Limiter
from gateway.models import Models
from gateway.shared.inbox import Inbox
from gateway.shared.messages import Bye, Decision, Hello, Learned, Spent
from gateway.shared.outbox import Outbox

BEAT_S: Final = 1.0
"""A replica with nothing to tell says at least so often that it is there."""

LEARNED_S: Final = 5.0
"""How often it tells what it learned, when it learned something."""

ANSWER_S: Final = 0.1
"""Greetings that come within this time are answered together."""


class Decisions(Protocol):
    """Where operators' decisions are kept: gateway.membership, or nowhere. tell: hears what was decided here."""

    tell: Callable[[Decision], None]

    @property
    def decisions(self) -> list[Decision]: ...
    def learn(self, decision: Decision) -> None: ...


class Replica:
    """One of the gateways of a fleet. own: its id, another one each time it starts. name, release: for people."""

    def __init__(
        self, own: str, name: str, release: str, models: Models, membership: Decisions, limiter: Limiter
    ) -> None:
        self.name = name
        self.outbox = Outbox(own)
        self.inbox = Inbox(own, models, membership, limiter, self._asked, self._missed)
        self._release = release
        self._models = models
        self._membership = membership
        self._limiter = limiter
        self._asking = self._missing = False
        self._dropped = 0
        self._asked_at = self._answered_at = self._learned_at = self._sealed_at = float("-inf")
        self._learned: dict[str, int] = {}
        models.told = self.outbox
        membership.tell = self.outbox.tell
        limiter.share()

    def hello(self) -> None:
        """The others can be told something (again): everything they may not know, and ask for what they know.

        What customers spent while nobody could be told is forgiven.
        """
        self._limiter.spending()
        self._limiter.tell_open()
        self._introduce(asks=True)

    def bye(self) -> None:
        """This replica ends."""
        self.outbox.tell(Bye())

    def batch(self, now: float) -> bytes | None:
        """What to send now; `outbox.acknowledge` once it arrived. None: nothing."""
        if self.outbox.dropped > self._dropped:  # among it may have been the end of a request
            self._dropped, self._asking = self.outbox.dropped, True
        if self._missing and now - self._asked_at >= BEAT_S:
            self._missing, self._asked_at = False, now
            self.outbox.tell(Hello(self.name, self._release, asks=True))
        if self._asking and now - self._answered_at >= ANSWER_S:
            self._asking, self._answered_at = False, now
            self._introduce(asks=False)
        if now - self._learned_at >= LEARNED_S:
            self._learned_at = now
            self._tell_learned(only_new=True)
        for customer, requests, tokens, is_open in self._limiter.spending():
            self.outbox.tell(Spent(now, customer, requests, tokens, is_open))
        if not len(self.outbox) and now - self._sealed_at < BEAT_S:
            return None
        self._sealed_at = now
        return self.outbox.seal(now)

    def _missed(self) -> None:
        self._missing = True
        self.outbox.wake()

    def _asked(self) -> None:
        self._asking = True
        self.outbox.wake()

    def _introduce(self, *, asks: bool) -> None:
        self.outbox.tell(Hello(self.name, self._release, asks))
        for decision in self._membership.decisions:
            self.outbox.tell(decision)
        self._tell_learned(only_new=False)
        self.outbox.tell_open()

    def _tell_learned(self, *, only_new: bool) -> None:
        for group in self._models:
            if group.observations and not (only_new and self._learned.get(group.name) == group.observations):
                self._learned[group.name] = group.observations
                scales = group.router.scales
                self.outbox.tell(Learned(group.name, group.observations, group.bytes_per_token, scales))
