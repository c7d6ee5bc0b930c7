"""Watching the engines: is it there, what is it, how loaded is it, does it still hold what we believe.

Two loops a worker. One asks the health path, which for SGLang takes a second because it generates a token. The
other asks for the load every `poll_interval_s` and, each second time, reads the metrics page for emptied caches; it
notices within that time when nothing listens any more. The gateway's view is right within two seconds.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import msgspec

from engine_adapter.engine import Pages, State, next_state
from engine_adapter.kinds import ENGINES, kind_of
from gateway.config import Config
from gateway.http1 import EngineFault
from gateway.upstream import Upstream
from gateway.workers import Worker, Workers
from prefix.errors import EngineError, RoutingError

_log = logging.getLogger("prefixgate")
_HEALTH_TIMEOUT_S = 25.0
"""SGLang itself says 503 after 20 s when its scheduler hangs."""
_ASK_TIMEOUT_S = 5.0
_HAS_NOT = (404, 501)
"""What engines say to a path that they do not have, or that is switched off."""


class Health:
    """Watches every worker while it is entered. Use as an async context manager.

    learned: told of the models of every engine that comes up.
    """

    def __init__(
        self, config: Config, workers: Workers, upstream: Upstream, learned: Callable[[tuple[str, ...]], None]
    ) -> None:
        self._learned = learned
        self._config = config
        self._workers = workers
        self._upstream = upstream
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        self._looked: dict[str, asyncio.Event] = {}

    async def __aenter__(self) -> "Health":
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self._tasks):
            self._stop(name)

    def add(self, url: str) -> Worker:
        """Start watching an engine. Raises Refusal `worker_exists`."""
        told = kind_of(url, self._config.engine_kinds)
        worker = self._workers.add(url, told or ENGINES[0])
        worker.told = told is not None
        self._looked[worker.id] = asyncio.Event()
        self._upstream.keeps(worker.url, worker.engine.keep_alive_s)
        loop = asyncio.get_running_loop()
        self._tasks[worker.id] = [
            loop.create_task(self._watch_health(worker)),
            loop.create_task(self._watch_load(worker)),
        ]
        return worker

    def remove(self, name: str) -> Worker:
        """Stop watching and take the worker out. Raises Refusal `worker_not_found`."""
        worker = self._workers.remove(name)
        self._stop(worker.id)
        self._upstream.forget(worker.url)
        return worker

    def configure(self, config: Config) -> None:
        """Use another configuration from the next look on."""
        self._config = config

    def suspect(self, worker: Worker, fault: EngineFault) -> None:
        """A request found nobody listening: do not wait for the next look."""
        if fault.kind == "refused" and worker.state is not State.DOWN:
            self._went(worker, State.DOWN, str(fault))

    async def first_look(self, timeout_s: float) -> None:
        """Until every worker was looked at once, or the time is over."""
        looks = [asyncio.ensure_future(event.wait()) for event in self._looked.values()]
        if looks:
            _, late = await asyncio.wait(looks, timeout=timeout_s)
            for look in late:
                look.cancel()

    def _stop(self, name: str) -> None:
        self._looked.pop(name, None)
        for task in self._tasks.pop(name, ()):
            task.cancel()

    async def _watch_health(self, worker: Worker) -> None:
        while True:
            status, reason = await self._health_status(worker)
            state = next_state(worker.state, status)
            if state is State.UP and await self._asleep(worker):
                state, reason = State.ASLEEP, "sleeps: wake it up (POST /wake_up)"
            if state is State.UP and worker.state is not State.UP:
                reason = await self._introduce(worker)
                state = State.UP if reason is None else State.DOWN
            if state is not worker.state:
                self._went(worker, state, reason)
            elif reason is not None:
                worker.last_error = reason
            self._looked[worker.id].set()
            await asyncio.sleep(max(self._config.poll_interval_s, worker.engine.health_every_s))

    async def _asleep(self, worker: Worker) -> bool:
        """Whether an engine that answers its health check sleeps; one that has no such page is not asked again."""
        path = worker.engine.asleep_path
        if path is None:
            return False
        try:
            pages = await self._also(worker, (path,))
        except EngineFault:
            return False
        return path in pages and worker.engine.parse_asleep(pages[path])

    async def _health_status(self, worker: Worker) -> tuple[int | None, str | None]:
        try:
            status, _ = await self._upstream.get(worker.url, worker.engine.health_path, timeout_s=_HEALTH_TIMEOUT_S)
        except EngineFault as fault:
            return None, str(fault)
        return status, None if status == 200 else f"health check answered {status}"

    async def _introduce(self, worker: Worker) -> str | None:
        """Ask a worker that came up what it is; the reason when it cannot be used."""
        try:
            said = await self._recognise(worker)
        except EngineError as error:
            if worker.told:
                return f"not a usable {worker.engine.kind} engine: {error}"
            return f"no engine of a known kind ({', '.join(engine.kind for engine in ENGINES)}): {error}"
        engine = worker.engine
        try:
            info = engine.parse_info(said, await self._also(worker, engine.info_also))
            listed = await self._ask(worker, ("/v1/models",))
            names = engine.parse_models(listed)
        except EngineError as error:
            return f"not a usable {engine.kind} engine: {error}"
        if info.disaggregation is not None:
            return (
                f"a {info.disaggregation} engine of a disaggregated pair cannot serve requests on its own: "
                "give the address of the pair's router instead"
            )
        models = tuple(dict.fromkeys((*info.models, *names)))
        if not models:
            return "serves no model"
        worker.cards = {card["id"]: card for card in msgspec.json.decode(listed)["data"]}
        try:
            self._workers.introduce(worker, info, models, time.monotonic())
        except RoutingError as error:
            return f"cannot be routed to: {error}"
        self._learned(models)
        if worker.warning:
            _log.warning("worker %s %s", worker.id, worker.warning)
        await self._quietly(worker, self._look_at_clearings)  # what later looks are compared with
        return None

    async def _recognise(self, worker: Worker) -> bytes:
        """Find out its kind; what it says about itself. Raises EngineError when no adapter knows it."""
        if worker.told:
            return await self._ask(worker, worker.engine.info_paths)
        odd: bytes | None = None
        trouble = ""
        for engine in ENGINES:
            try:
                said = await self._ask(worker, engine.info_paths)
            except EngineError as error:
                trouble = trouble or str(error)
                continue
            if engine.detects(said):
                worker.engine = engine
                self._upstream.keeps(worker.url, engine.keep_alive_s)
                return said
            if engine is worker.engine:
                odd = said
        if odd is not None:
            return odd  # perhaps an older version: its adapter says what is wrong with it
        raise EngineError(trouble)

    async def _watch_load(self, worker: Worker) -> None:
        turn = 0
        while True:
            await asyncio.sleep(self._config.poll_interval_s)
            if worker.state in (State.UP, State.DRAINING):
                turn += 1
                await self._quietly(worker, self._look_at_load)
                if turn % 2 and worker.engine.metrics_path not in worker.engine.load_paths:
                    await self._quietly(worker, self._look_at_clearings)

    async def _look_at_load(self, worker: Worker) -> None:
        engine = worker.engine
        if engine.load_paths:
            said = await self._ask(worker, engine.load_paths)
            load = engine.parse_load(said, await self._also(worker, engine.load_also))
            if load is not None:
                self._workers.observe_load(worker, load, time.monotonic())
            if engine.metrics_path in engine.load_paths:  # one page tells both
                self._workers.observe_continuity(worker, clearings=engine.parse_clearings(said))

    async def _look_at_clearings(self, worker: Worker) -> None:
        if worker.engine.metrics_path is not None:
            page = await self._ask(worker, (worker.engine.metrics_path,))
            self._workers.observe_continuity(worker, clearings=worker.engine.parse_clearings(page))

    async def _quietly(self, worker: Worker, look: Callable[[Worker], Awaitable[None]]) -> None:
        """A look that fails leaves the worker as it is, unless nobody listens there."""
        try:
            await look(worker)
        except EngineFault as fault:
            self.suspect(worker, fault)
        except EngineError as error:
            worker.last_error = str(error)

    async def _also(self, worker: Worker, paths: tuple[str, ...]) -> Pages:
        """The answers at those of `paths` that the engine has; one that it has not is not asked for again.

        Raises EngineFault.
        """
        pages: dict[str, bytes] = {}
        for path in paths:
            if path in worker.unspoken:
                continue
            status, answer = await self._upstream.get(worker.url, path, timeout_s=_ASK_TIMEOUT_S)
            if status == 200:
                pages[path] = answer
            elif status in _HAS_NOT:
                worker.unspoken.add(path)
        return pages

    async def _ask(self, worker: Worker, paths: tuple[str, ...]) -> bytes:
        """The answer at the first of `paths` that the engine has. Raises EngineError."""
        status = 404
        for path in paths:
            status, answer = await self._upstream.get(worker.url, path, timeout_s=_ASK_TIMEOUT_S)
            if status == 200:
                return answer
            if status not in _HAS_NOT:
                break
        raise EngineError(f"{path} answered {status}")

    def _went(self, worker: Worker, state: State, reason: str | None) -> None:
        before = worker.state
        if state is State.DOWN and before is not State.UNKNOWN:
            self._workers.gone(worker, reason or "does not answer")
        else:
            worker.last_error = reason
            self._workers.set_state(worker, state)
        level = logging.WARNING if state is State.DOWN else logging.INFO
        _log.log(level, "worker %s: %s -> %s%s", worker.id, before, state, f" ({reason})" if reason else "")
