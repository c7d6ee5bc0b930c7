"""What the processes of one gateway tell each other of requests and customers, as replicas do over Redis.

One idea: each process is a replica (gateway.shared), and the parent the medium. A request that one process placed is
in flight in the routers of all, and what one customer spends at one is spent at all, some milliseconds later. The
parent listens too: it shows what workers hold, and tells a process that begins what was learned. With a Redis the
processes are its replicas instead, one each.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Mapping
from secrets import token_bytes
from typing import Any, ClassVar, Final

from gateway.limits import Limiter
from gateway.models import Models
from gateway.processes.messages import Told
from gateway.shared.inbox import Inbox
from gateway.shared.messages import VERSION, Batch, Bye, Decision, Head, Hello, Learned, Spent, decode_head, encode
from gateway.shared.outbox import Outbox
from gateway.shared.redis_start import redis_link
from gateway.shared.replica import Replica
from gateway.shared.settings import RedisConfig
from gateway.version import __version__

EVERY_S: Final = 0.01
_LEARNED_EVERY_S: Final = 1.0


class Sharing:
    """Of one process; `start` when its loop runs. name: another one at each start. say: tells all others."""

    def __init__(self, name: str, models: Models, limiter: Limiter, say: Callable[[Told], None]) -> None:
        self._models, self._limiter, self._say = models, limiter, say
        self._outbox = Outbox(name)
        self._outbox.wake = self._soon
        self._inbox = Inbox(name, models, _Fleet(), limiter, self._outbox.tell_open, self._ask)
        self._timer: asyncio.TimerHandle | None = None
        self._told: Mapping[str, int] = {}
        models.told = self._outbox
        limiter.share()

    def start(self) -> None:
        """Ask the others for what they have open, and tell from now on what is learned."""
        self._ask()
        self._learned()

    def _ask(self) -> None:
        self._outbox.tell(Hello(self._outbox.replica, __version__, asks=True))

    def hear(self, told: Told) -> None:
        """Apply what another process told."""
        self._inbox.apply(told.batch, time.monotonic())

    def greeting(self) -> Told:
        """What this process learned, for one that begins."""
        for learned in self._ratios({}):
            self._outbox.tell(learned)
        return self._sealed()

    def flush(self) -> None:
        """Tell what waits."""
        now = time.monotonic()
        for spent in self._limiter.spending():
            self._outbox.tell(Spent(now, spent.customer, spent.requests, spent.tokens, spent.open))
        while self._outbox:
            self._say(self._sealed())
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sealed(self) -> Told:
        batch = self._outbox.seal(time.monotonic())
        self._outbox.acknowledge()  # a pipe loses nothing
        return Told(batch)

    def _soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self.flush)

    def _learned(self) -> None:
        for learned in self._ratios(self._told):
            self._outbox.tell(learned)
        self._told = {group.name: group.observations for group in self._models}
        self.flush()
        asyncio.get_running_loop().call_later(_LEARNED_EVERY_S, self._learned)

    def _ratios(self, known: Mapping[str, int]) -> list[Learned]:
        """Of each model whose ratio changed since it was `known`."""
        groups = [group for group in self._models if group.observations != known.get(group.name, 0)]
        return [
            Learned(group.name, group.observations, group.bytes_per_token, group.router.scales) for group in groups
        ]


class Heard:
    """The parent's count of what one process told, so that it can say goodbye for one that was killed."""

    def __init__(self) -> None:
        self._head: Head | None = None
        self._batches = 0

    def count(self, told: Told) -> None:
        """One more batch."""
        self._head = self._head or decode_head(told.batch)
        self._batches += 1

    def goodbye(self) -> Told | None:
        """What it would have said last; None when it never said anything."""
        if self._head is None:
            return None
        last = Batch(VERSION, self._head.replica, self._batches + 1, time.monotonic(), [Bye()])
        return Told(encode(last))


def over_redis(config: RedisConfig, password: str | None, models: Models, limiter: Limiter) -> Any:
    """A child's own link to the other processes and gateways, where there is a Redis. Raises ConfigError."""
    name = f"{socket.gethostname()} process {os.getpid()}"
    replica = Replica(token_bytes(8).hex(), name, __version__, models, _Fleet(), limiter)
    return redis_link().RedisLink(config, password, replica, _known)


class _Fleet:
    """Which workers there are, the parent alone decides, and learns from other gateways."""

    decisions: ClassVar[list[Decision]] = []

    def __init__(self) -> None:
        self.tell: Callable[[Decision], None] = self.learn

    def learn(self, decision: Decision) -> None:
        """The parent hears it too."""


async def _known(_: float) -> None:
    """The parent told which workers there are before anything else."""
