"""Carries a replica's batches over one Redis stream. No request waits for it.

A stream and not publish/subscribe, because a reader that was away or starts late finds there what it missed; one
stream for all, so that in a cluster everything is in one slot. Its length is bounded by bytes (HISTORY_BYTES over the
mean size of an entry), and the key goes when nobody has used it for an hour. Entry ids are the server's clock, so
ages are told without the gateways' clocks.

Each time it connects it says hello, and reads from before it was away: batches are numbered, what is here already is
skipped. Whatever fails, the connection is dropped and made anew after a growing, random pause; requests go on with
what is known here. One log line a change of state.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, Never

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import MovedError, RedisError

from gateway.shared.redis_errors import reason_of
from gateway.shared.replica import BEAT_S, Replica
from gateway.shared.settings import RedisConfig
from prefix.errors import ConfigError

HISTORY_S: Final = 600.0
"""How far back a replica reads that starts."""
HISTORY_BYTES: Final = 64 << 20
FLUSH_S: Final = 0.01
"""What comes within this time is sent together."""
_ANSWER_S: Final = 2.0
"""The longest wait for an answer of the server."""
_BLOCK_MS: Final = 500
_MARGIN_S: Final = 5.0
_MEET_S: Final = 0.3
_LOOK_S: Final = 5.0
_PAUSE_S: Final = (0.1, 5.0)
_FIELD: Final = b"b"
_KEPT_S: Final = 3600

_log = logging.getLogger("prefixgate")
State = Literal["connecting", "connected", "away"]


class RedisLink:
    """Follows and fills the stream while it is entered. Use as an async context manager.

    looked: waits until the workers known now were looked at, so many seconds at most: what was placed on a worker can
    only be learned when it is here. why: it is away, None while it is not. lag_s: age of what was applied last.
    """

    def __init__(
        self, config: RedisConfig, password: str | None, replica: Replica, looked: Callable[[float], Awaitable[None]]
    ) -> None:
        self.state: State = "connecting"
        self.why: str | None = None
        self.lag_s: float | None = None
        self.publish_failures = 0
        self._config = config
        self._key = config.key
        self._password = password
        connect(config, password, cluster=False)  # says what is wrong with the URL
        self._replica = replica
        self._looked = looked
        self._cluster = False
        self._wake = asyncio.Event()
        self._now = time.monotonic
        self._heard_at: float | None = None
        self._clock_ms = 0.0  # what the server's clock shows when ours shows 0
        self._entry_bytes = 1024.0
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "RedisLink":
        self._replica.outbox.wake = self._wake.set
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()), loop.create_task(self._listen_for_ends())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        pause = _PAUSE_S[0]
        while True:
            client = connect(self._config, self._password, cluster=self._cluster)
            try:
                await self._talk(client)
            except* (RedisError, OSError) as group:
                error = _first(group)
            finally:
                await client.aclose()
            if isinstance(error, MovedError) and not self._cluster:
                self._cluster = True
                continue
            pause = _PAUSE_S[0] if self.state == "connected" else min(_PAUSE_S[1], 2 * pause)
            self._away(reason_of(error, self._key))
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - so that not all come at once

    async def _talk(self, client: Any) -> Never:
        """Until it fails."""
        self._replica.hello()
        hello = await self._publish(client)
        first = self._heard_at is None
        away_s = HISTORY_S if self._heard_at is None else self._now() - self._heard_at + _MARGIN_S
        self._came(first=first)
        if first:
            await self._meet(client, hello)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send(client))
            tasks.create_task(
                self._receive(client, max(0, _ms(hello) - int(away_s * 1000)), _ms(hello) if first else 0)
            )
        raise AssertionError("both go on until one fails")

    async def _publish(self, client: Any) -> bytes:
        """Send everything that waits; the id of the last entry."""
        outbox, last = self._replica.outbox, b""
        while (data := self._replica.batch(self._now())) is not None:
            most = int(min(200_000, max(1024, HISTORY_BYTES / self._entry_bytes)))
            began = self._now()
            try:
                last = await client.xadd(self._key, {_FIELD: data}, maxlen=most, approximate=True)
            except (RedisError, OSError):
                self.publish_failures += 1
                raise
            outbox.acknowledge()
            self._clock_ms = _ms(last) - 1000 * (began + self._now()) / 2
            self._entry_bytes += 0.05 * (len(data) + 64 - self._entry_bytes)
            if not len(outbox):
                break
        return last

    async def _send(self, client: Any) -> None:
        kept_at = float("-inf")
        while True:
            if self._now() - kept_at > _KEPT_S / 60:
                kept_at = self._now()
                await client.expire(self._key, _KEPT_S)
            try:
                async with asyncio.timeout(BEAT_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(FLUSH_S)
            self._wake.clear()
            await self._publish(client)

    async def _meet(self, client: Any, hello: bytes) -> None:
        """Learn which workers there are, and wait for them."""
        until, last = self._now() + _MEET_S, hello
        while self._now() < until:
            for name, data in await self._read(client, last, int(_MEET_S * 1000)):
                self._replica.inbox.meet(data)
                last = name
        await self._looked(_LOOK_S)

    async def _receive(self, client: Any, start_ms: int, hello_ms: int) -> None:
        """hello_ms: what is older was told before this replica was there."""
        last = b"%d-0" % start_ms
        while True:
            for name, data in await self._read(client, last, _BLOCK_MS):
                last = name
                now = self._now()
                delay_s = max(0.0, (self._clock_ms + 1000 * now - _ms(name)) / 1000)
                lag_s = self._replica.inbox.apply(data, now, delay_s=delay_s, news=_ms(name) >= hello_ms)
                if lag_s is not None and _ms(name) >= hello_ms:
                    self.lag_s = lag_s
            self._heard_at = self._now()
            await asyncio.sleep(0)

    async def _read(self, client: Any, last: bytes, block_ms: int) -> list[tuple[bytes, bytes]]:
        """The entries after this one, soon. One without our field is empty, and unreadable."""
        answer = await client.xread({self._key: last}, count=16, block=block_ms)
        return [(name, fields.get(_FIELD, b"")) for _, entries in answer for name, fields in entries]

    async def _listen_for_ends(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._replica.inbox.forget_silent(self._now())

    def _came(self, *, first: bool) -> None:
        self.state, self.why = "connected", None
        _log.info("redis %s: connected%s", self._config.shown, "" if first else " again, what was missed is told")

    def _away(self, why: str) -> None:
        if why != self.why:
            _log.warning("redis %s: %s; this gateway goes on with what it knows itself", self._config.shown, why)
        self.state, self.why = "away", why


def connect(config: RedisConfig, password: str | None, *, cluster: bool) -> Any:
    """A client; nothing is sent yet. Raises ConfigError for options in the URL that there are not."""
    assert config.url is not None
    options: dict[str, Any] = {"protocol": 2, "socket_timeout": _ANSWER_S, "socket_connect_timeout": _ANSWER_S}
    if password is not None:
        options["password"] = password
    if config.ca_file is not None and config.url.startswith("rediss://"):
        options["ssl_ca_certs"] = config.ca_file
    try:
        if cluster:
            return RedisCluster.from_url(config.url, **options)
        return Redis.from_url(config.url, retry=Retry(NoBackoff(), 0), **options)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"redis: {config.shown}: {error}") from None


async def check_redis(config: RedisConfig, password: str | None) -> None:
    """Whether a gateway could share its state there. Raises ConfigError that says why not."""
    client = connect(config, password, cluster=False)
    try:
        await client.xread({config.key: b"0"}, count=1)
        await client.expire(config.key, _KEPT_S)
    except MovedError:
        return  # a cluster: its nodes are found when it serves
    except (RedisError, OSError) as error:
        raise ConfigError(f"redis {config.shown}: {reason_of(error, config.key)}") from None
    finally:
        await client.aclose()


def _ms(name: bytes) -> int:
    """The time in an entry's id."""
    return int(name.partition(b"-")[0])


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    """One of the errors, whichever group it is in."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error
