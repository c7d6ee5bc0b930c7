"""A child: it proxies what comes over the connections it is given, and asks the parent to answer everything else.

It follows: which workers there are, the configuration, when to end. It ends with its parent, however that ends.
"""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from gateway.capture import Captures
from gateway.config import Config
from gateway.cors import Cors, options
from gateway.credentials import load_secrets
from gateway.errors import Refusal
from gateway.incoming import Receive, Scope, Send
from gateway.journal import Ended, Journal
from gateway.kv_feeds import KvFeeds
from gateway.misses import Misses
from gateway.models import Models
from gateway.otlp_settings import find_otlp
from gateway.paging import Paging
from gateway.processes.asked import ask
from gateway.processes.ends import Ends
from gateway.processes.fleet import Follower
from gateway.processes.messages import (
    Applied,
    Begin,
    Closed,
    Drain,
    Examine,
    Examined,
    Failed,
    Fleet,
    Kept,
    Leaving,
    Look,
    Reload,
    Standing,
    Started,
    ToChild,
    Told,
    WorkerStanding,
)
from gateway.processes.outbox import Outbox
from gateway.processes.response_ids import ToldIds
from gateway.processes.sharing import Sharing, over_redis
from gateway.processes.wire import Wire
from gateway.proxy import Proxy
from gateway.server import make_server
from gateway.tracing import Tracing
from gateway.upstream import Upstream
from gateway.version import __version__
from gateway.workers import Workers
from prefix.errors import ConfigError


class Child:
    """What serves in this process, from `Begin` on. wire, ends: to the parent. Raises ConfigError, Refusal."""

    def __init__(self, begin: Begin, wire: Wire[ToChild], ends: socket.socket) -> None:
        config = begin.config
        secrets = load_secrets(config, os.environ)
        self._wire = wire
        self._outbox = Outbox(wire)
        self._config = config
        self._taken = self._opening = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._workers = Workers(Models(config.policy))
        self._upstream = Upstream(config, secrets)
        self._captures = Captures(config.capture, secrets.capture, begin.secret)
        self._misses = Misses()
        otlp = find_otlp(config.otlp_endpoint, config.otlp_protocol, config.tracing, os.environ)
        self._tracing = Tracing(otlp, self._misses, __version__)
        self._follower = Follower(self._workers, self._upstream, self._outbox.say, time.monotonic)
        self._ids = ToldIds(self._outbox.say)
        self._journal = Journal(self._misses, self._finished)
        paging = Paging(config.kv_events)
        self._feeds = KvFeeds(config, self._workers, paging)
        self._proxy = Proxy(
            config,
            self._workers,
            self._upstream,
            self._follower.suspect,
            secrets,
            self._journal,
            self._tracing,
            self._ids,
            paging,
        )
        models, limiter = self._workers.models, self._proxy.admission.limiter
        self._sharing: Sharing | None = None
        self._redis: AbstractAsyncContextManager[object] = nullcontext()
        if config.redis.url is None:
            self._sharing = Sharing(f"process {os.getpid()}", models, limiter, wire.say)
        else:
            self._redis = over_redis(config.redis, secrets.redis, models, limiter)
        self._cors = Cors(config.cors_origins)
        self._server = make_server(self, config, lambda: self._config.body_timeout_s, lifespan="off", lost=self._lost)
        self._server.config.load()
        self._ends = Ends(ends, self._take, self._orphaned)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request of a client."""
        api = self._proxy.apis.find(scope["path"])
        if api is None:
            await self._ask(scope, receive, send)
            return
        if self._cors:
            send = self._cors.saying(scope, send)
        if scope["method"] == "OPTIONS":
            await options(api.allow, send)
        else:
            await self._proxy(api, scope, receive, send)

    async def run(self) -> None:
        """Serve until the parent says to end, or has gone."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._outbox.say, Leaving())
        hearing = loop.create_task(self._follow())
        telling = loop.create_task(self._begun())
        self._tracing.start()
        if self._sharing is not None:
            self._sharing.start()
        with self._captures:
            async with self._upstream, self._feeds, self._redis:
                await self._server.serve(sockets=[])
            self._journal.flush()
        await asyncio.to_thread(self._tracing.close)
        for task in (telling, hearing):
            task.cancel()
        await asyncio.gather(telling, hearing, return_exceptions=True)
        self._stand(0)
        await self._wire.finish()

    async def _begun(self) -> None:
        await self._server.accepting.wait()
        self._outbox.say(Started())

    async def _follow(self) -> None:
        async for message in self._wire.messages():
            self.hear(message)
        self._orphaned()

    def hear(self, message: ToChild) -> None:
        """Do what the parent says."""
        match message:
            case Fleet():
                self._follower.follow(message)
                self._outbox.say(Applied(message.serial))
            case Reload(serial, config):
                self._outbox.say(Applied(serial, self._reconfigure(config)))
            case Look(serial):
                self._stand(serial)
            case Examine(serial, request_id):
                self._do(self._examine(serial, request_id))
            case Kept():
                self._ids.learn(message, time.monotonic())
            case Told() if self._sharing is not None:
                self._sharing.hear(message)
            case Drain():
                self._drain()
            case Begin() | Told():
                """Only the first message is one; with a Redis nothing is told over the pipe."""

    def _reconfigure(self, config: Config) -> str | None:
        """Take over another configuration; why not, else None."""
        try:
            secrets = load_secrets(config, os.environ)
            self._journal.flush()  # what has ended is captured as was said then
            self._captures.configure(config.capture, secrets.capture)
            self._proxy.configure(config, secrets)
            self._feeds.configure(config)
        except (ConfigError, Refusal) as error:
            return str(error)
        self._config, self._cors, self._upstream.secrets = config, Cors(config.cors_origins), secrets
        return None

    def _drain(self) -> None:
        self._proxy.drain()
        self._ends.stop()
        self._server.should_exit = True

    def _orphaned(self) -> None:
        """The parent has gone: nobody would know what is served from here on."""
        self._server.should_exit = self._server.force_exit = True

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await ask(self._ends.give, scope, receive, send)
        except Refusal as refusal:
            headers = refusal.headers()
            await send({"type": "http.response.start", "status": refusal.kind.status, "headers": headers})
            await send({"type": "http.response.body", "body": refusal.body()})

    def _finished(self, ended: Ended) -> None:
        record, exchange = ended.record, ended.exchange
        self._outbox.finished(record, exchange.prepared, ended.miss)
        self._captures.offer(record, exchange.prepared, exchange.raw)
        self._tracing.finished(exchange, record, ended.scope, ended.now)

    def _stand(self, serial: int) -> None:
        self._journal.flush()  # its finished requests are told first
        breakers = self._workers.breakers
        workers = {
            worker.id: WorkerStanding(worker.in_flight, breakers.state(worker.id), worker.cache_report)
            for worker in self._workers
        }
        spans, queued = self._tracing.counts(), self._proxy.dispatch.queued
        self._outbox.say(Standing(serial, workers, queued, dict(self._captures.counts), spans))

    async def _examine(self, serial: int, request_id: str) -> None:
        miss = self._misses.find(request_id)
        cause, spent_s = None, 0.0
        if miss is not None and miss.parting is not None:
            cause, spent_s = await asyncio.to_thread(miss.parting.examine)
        self._outbox.say(Examined(serial, cause, spent_s))

    def _take(self, connection: socket.socket) -> None:
        self._taken += 1
        self._opening += 1
        self._do(self._serve(connection))

    async def _serve(self, connection: socket.socket) -> None:
        try:
            await self._server.take(connection)
            if self._server.should_exit:  # perhaps it missed that all connections were to end
                for each in list(self._server.server_state.connections):
                    each.shutdown()
        except OSError:  # it went while it was handed over, or its TLS handshake failed
            connection.close()
        finally:
            self._opening -= 1
            self._lost()

    def _lost(self) -> None:
        open_now = self._opening + len(self._server.server_state.connections)
        self._outbox.say(Closed(self._taken - open_now))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def serve(wire_end: socket.socket, ends: socket.socket) -> None:
    """Hear what to do, and do it until the end."""
    wire: Wire[ToChild] = await Wire.open(wire_end, ToChild)
    begin, fleet = await wire.hear(), await wire.hear()
    if not isinstance(begin, Begin) or fleet is None:
        return
    try:
        child = Child(begin, wire, ends)
    except (ConfigError, Refusal) as error:
        wire.say(Failed(str(error)))
        await wire.finish()
        return
    child.hear(fleet)
    await child.run()
