"""`prefixgate serve --processes N`: the parent's life. It starts children, hands out connections, answers operators.

Its application is the one of a single process; it only has no listener, and is fed by the children.
"""

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import msgspec

from gateway.app import FIXED, Gateway, create_app
from gateway.config import Config
from gateway.credentials import load_secrets
from gateway.errors import Refusal
from gateway.http1 import EngineFault
from gateway.incoming import Receive, Scope, Send
from gateway.otlp_settings import find_otlp
from gateway.processes.asked import answer
from gateway.processes.crew import Crew
from gateway.processes.doorway import Doorway
from gateway.processes.ledger import Ledger
from gateway.processes.member import Member, Unasked
from gateway.processes.messages import Finished, Kept, Sought, Suspected, Told
from gateway.processes.sharing import Sharing
from gateway.processes.spawn import Spawned
from gateway.serve import ADMIN_TOKEN, announce, bind
from gateway.server import collect_rarely, new_loop, set_up_logs
from gateway.tls import check_tls
from prefix.causes import Cause
from prefix.errors import ConfigError

_BEGIN_S: Final = 60.0
_LOOK_EVERY_S: Final = 1.0
_GRACE_S: Final = 5.0
"""After the drain's limit, for children to end."""
_READINGS: Final = ("/metrics", "/workers", "/api/")
_log = logging.getLogger("prefixgate")


class Parent:
    """Of these children, which know nothing yet. reload: reads the configuration anew, on SIGHUP.

    Raises ConfigError when the address cannot be bound, a secret or certificate is missing.
    """

    def __init__(self, config: Config, reload: Callable[[], Config], children: Sequence[Spawned]) -> None:
        set_up_logs()
        check_tls(config)
        self._config, self._reload = config, reload
        self._crew = Crew(config, children)
        secrets = load_secrets(config, os.environ)
        otlp = find_otlp(config.otlp_endpoint, config.otlp_protocol, config.tracing, os.environ)
        token = os.environ.get(ADMIN_TOKEN)
        self._app: Gateway = create_app(config, admin_token=token, secrets=secrets, otlp=otlp, others=self._crew)
        app = self._app
        self._ledger = Ledger(app.aggregate, app.misses, app.shown, app.access_log)
        self._listener = bind(config.host, config.port)
        self._doorway = Doorway(self._listener, self._crew.taking)
        self._crew.hear, self._crew.asked, self._crew.ready = self._hear, self._asked, self._doorway.open
        self._crew.greet, self._crew.gone = self._greet, self._gone
        self._sharing: Sharing | None = None
        if config.redis.url is None:  # else the application is a replica itself
            limiter = app.proxy.admission.limiter
            self._sharing = Sharing("parent", app.models, limiter, lambda told: self._crew.tell_others(None, told))
        self._announcing: asyncio.Task[None] | None = None
        self._ending = False
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Raises ConfigError when a child cannot begin."""
        collect_rarely()
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        self._loop = loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, lambda: self._do(self._reconfigure()))
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._drain)
        try:
            async with self._app.router.lifespan_context(self._app):
                await self._live()
        finally:
            self._crew.kill()
            self._doorway.close()

    async def _live(self) -> None:
        looking = asyncio.create_task(self._look())
        try:
            async with asyncio.TaskGroup() as group:
                self._announcing = group.create_task(self._announce())
                for number in range(self._config.processes):
                    group.create_task(self._crew.keep(number + 1))
        except* ConfigError as errors:
            raise errors.exceptions[0] from None
        finally:
            looking.cancel()

    async def _announce(self) -> None:
        try:
            await self._crew.begin(_BEGIN_S)
        except TimeoutError:
            raise ConfigError(f"not all processes began within {_BEGIN_S:g} s") from None
        await announce(self._app, self._listener, self._config)

    async def _look(self) -> None:
        """What is read without being asked for (pushed metrics, hanging children) is a second old at most."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            await self._crew.look()

    def _drain(self) -> None:
        if self._ending:
            self._crew.kill()  # asked twice
            return
        self._ending = True
        if self._announcing is not None:
            self._announcing.cancel()
        self._app.drain()
        self._doorway.close()
        self._crew.drain()
        asyncio.get_running_loop().call_later(self._app.config.drain_timeout_s + _GRACE_S, self._crew.kill)

    async def _reconfigure(self) -> None:
        try:
            config = self._reload()
            self._app.reconfigure(config, load_secrets(config, os.environ))
        except (ConfigError, Refusal) as error:
            _log.error("reload refused, the old configuration stays: %s", error)
            return
        same = {name: getattr(self._config, name) for name in FIXED}
        refused = await self._crew.reload(msgspec.structs.replace(config, **same))
        refused += [f"process {number}: does not answer" for number in await self._crew.applied()]
        if refused:
            _log.error("configuration reloaded, but not everywhere: %s", "; ".join(refused))
        else:
            _log.info("configuration reloaded")

    def _asked(self, end: socket.socket) -> None:
        self._do(answer(self._operate, end))

    async def _operate(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an operator: who reads, with all that ended before; who changes something, when all did; who asks
        whether requests may come, when all know what makes it so."""
        if scope["path"].startswith(_READINGS):
            await self._crew.look()
        if scope["method"] in ("GET", "HEAD", "OPTIONS") and scope["path"] != "/ready":
            await self._app(scope, receive, send)
            return
        said: list[Any] = []

        async def hold(message: Any) -> None:
            said.append(message)

        await self._app(scope, receive, hold)
        late = await self._crew.applied() if said and said[0]["status"] < 400 else []
        for message in _late(late) if late else said:
            await send(message)

    def _hear(self, member: Member, told: Unasked) -> None:
        match told:
            case Finished(ended, lost):
                for each in ended:
                    self._ledger.count(each, lambda name: self._examine(member, name))
                if lost:
                    _log.error("process %d: %d finished requests are not counted", member.number, lost)
            case Suspected(worker, reason):
                if worker in self._app.workers:
                    self._app.health.suspect(self._app.workers.get(worker), EngineFault("refused", reason))
            case Kept(name, worker, customer) if worker is not None:
                self._app.proxy.response_ids.remember(name, worker, customer, time.monotonic())
                self._crew.tell_others(member, told)
            case Told():
                member.told.count(told)
                self._crew.tell_others(member, told)
                if self._sharing is not None:
                    self._sharing.hear(told)
            case Sought(name):
                owner = self._app.proxy.response_ids.owner(name, time.monotonic())
                known = Kept(name, None, None) if owner is None else Kept(name, owner.worker, owner.customer)
                member.say(known)

    def _greet(self, member: Member) -> None:
        """Tell a child that begins what is learned, before it serves."""
        if self._sharing is not None:
            member.say(self._sharing.greeting())

    def _gone(self, member: Member) -> None:
        """What an ended child had open is over."""
        goodbye = member.told.goodbye()
        if goodbye is not None and self._sharing is not None:
            self._crew.tell_others(member, goodbye)
            self._sharing.hear(goodbye)

    def _examine(self, member: Member, request_id: str) -> tuple[Cause | None, float]:
        """Ask a child, from another thread."""
        asked = asyncio.run_coroutine_threadsafe(self._crew.examine(member, request_id), self._loop)
        return asked.result()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _late(numbers: list[int]) -> list[dict[str, Any]]:
    names = ", ".join(map(str, numbers))
    refusal = Refusal("not_applied", f"it was changed, but process {names} has not applied it yet")
    return [
        {"type": "http.response.start", "status": refusal.kind.status, "headers": refusal.headers()},
        {"type": "http.response.body", "body": refusal.body()},
    ]
