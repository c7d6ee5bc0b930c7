"""The workers: one endpoint each, what it said of itself, whether it may get requests.

An engine that answers its health check is not an engine that kept its cache (case 42): what is believed about a
worker's blocks is forgotten whenever two looks at it show another process or an emptied cache.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from engine_adapter.engine import Continuity, Engine, EngineInfo, EngineLoad, State, forgot
from gateway.breaker import Breakers
from gateway.errors import Refusal
from gateway.models import Models


class Worker:
    """One endpoint and what is known of it.

    cards: how it describes each model at /v1/models. cache_report: whether it tells cached tokens, None while nobody
    knows. in_flight: requests open from here. drained: an operator asked for no new requests. continuity: what its
    cache's identity was at the last look. unspoken: paths that it said it does not have. told: its kind is
    configured, not found out.
    """

    __slots__ = (
        "cache_report",
        "cards",
        "continuity",
        "drained",
        "engine",
        "id",
        "in_flight",
        "info",
        "last_error",
        "load",
        "models",
        "state",
        "told",
        "unspoken",
        "url",
    )

    def __init__(self, url: str, engine: Engine) -> None:
        self.url = url
        self.id = worker_id(url)
        self.engine = engine
        self.state = State.UNKNOWN
        self.drained = False
        self.info: EngineInfo | None = None
        self.models: tuple[str, ...] = ()
        self.cards: dict[str, dict[str, Any]] = {}
        self.load: EngineLoad | None = None
        self.continuity = Continuity()
        self.cache_report: bool | None = None
        self.in_flight = 0
        self.last_error: str | None = None
        self.unspoken: set[str] = set()
        self.told = False

    def speaks(self, path: str) -> bool:
        """Whether it is believed to have an API path: its kind has it, and it never said otherwise."""
        return path not in self.unspoken and self.engine.speaks(path)

    def learn(self, path: str, status: int, answer: bytes | None) -> None:
        """It answered a request to an API path with an error: perhaps that it does not have the path."""
        if answer is not None and self.engine.lacks(status, answer):
            self.unspoken.add(path)

    @property
    def ready(self) -> bool:
        """May get new requests."""
        return self.state is State.UP and not self.drained

    @property
    def ranks(self) -> int:
        """Its DP ranks: caches and queues of their own behind one address."""
        return self.info.dp_size if self.info is not None else 1

    @property
    def kv_usage(self) -> float | None:
        """KV memory held by running requests, 0 to 1; None when the engine does not say."""
        if self.info is None or self.load is None or self.load.kv_used_tokens is None:
            return None
        capacity = (self.info.kv_capacity_tokens or 0) * self.info.dp_size
        return self.load.kv_used_tokens / capacity if capacity else None

    @property
    def warning(self) -> str | None:
        """What an operator should change about this engine, or None."""
        if self.cache_report is False:
            flag = self.engine.report_flag
            remedy = f": start it with {flag}" if flag else ""
            return (
                f"does not report cached tokens, so its hit rate is unknown and the index is never corrected{remedy}"
            )
        return None


class Workers:
    """All workers by id. Keeps the routers of `models`, and the breakers, in step with what becomes known."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self.breakers = Breakers()
        self._by_id: dict[str, Worker] = {}

    def __iter__(self) -> Iterator[Worker]:
        return iter(tuple(self._by_id.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._by_id

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, url: str, engine: Engine) -> Worker:
        """A new worker, state unknown. Raises Refusal `worker_exists`."""
        worker = Worker(url, engine)
        if worker.id in self._by_id:
            raise Refusal("worker_exists", f"worker {worker.id} is there already")
        self._by_id[worker.id] = worker
        return worker

    def get(self, name: str) -> Worker:
        """The worker with this id. Raises Refusal `worker_not_found`."""
        try:
            return self._by_id[name]
        except KeyError:
            known = ", ".join(self._by_id) or "none"
            raise Refusal("worker_not_found", f"no worker {name!r}; there is: {known}") from None

    def remove(self, name: str) -> Worker:
        """Take a worker out; requests it is serving finish. Raises Refusal `worker_not_found`."""
        worker = self.get(name)
        del self._by_id[name]
        self.breakers.forget(worker.id)
        self.models.leave(worker.id)
        return worker

    def introduce(self, worker: Worker, info: EngineInfo, models: tuple[str, ...], now: float) -> None:
        """The engine came up and said what it is: (re-)register it with the router of its base model."""
        self.breakers.renew(worker.id)
        worker.info, worker.models = info, models
        if info.cache_report is not None:
            worker.cache_report = info.cache_report
        self.observe_continuity(worker, boot_id=info.boot_id)
        self.models.join(worker.id, models, info.kv_capacity_tokens, now, ranks=info.dp_size)

    def observe_load(self, worker: Worker, load: EngineLoad, now: float) -> None:
        """The engine reported its load."""
        worker.load = load
        self.observe_continuity(worker, prefilled_tokens=load.prefilled_tokens)
        self.models.observe(worker.id, load, now)

    def observe_continuity(
        self,
        worker: Worker,
        *,
        boot_id: str | None = None,
        prefilled_tokens: int | None = None,
        clearings: int | None = None,
    ) -> None:
        """One more look at what identifies the worker's cache; forgets its blocks when it is another one."""
        before = worker.continuity
        after = Continuity(
            boot_id or before.boot_id,
            before.prefilled_tokens if prefilled_tokens is None else prefilled_tokens,
            before.clearings if clearings is None else clearings,
        )
        worker.continuity = after
        if forgot(before, after):
            self.models.forget(worker.id)
            if self.models.told is not None:
                self.models.told.forgot(worker.id)

    def gone(self, worker: Worker, reason: str) -> None:
        """Nothing listens there any more: its process has ended, and its cache with it."""
        worker.last_error = reason
        worker.load = None
        worker.continuity = Continuity()
        worker.unspoken.clear()  # another version may come up
        self.models.forget(worker.id)
        self.set_state(worker, State.DOWN)

    def set_state(self, worker: Worker, state: State) -> None:
        """Change a worker's state and with it whether it is a candidate. Who falls asleep forgets its cache."""
        if state is State.ASLEEP:
            self.models.forget(worker.id)
        worker.state = state
        self.models.set_ready(worker.id, ready=worker.ready)

    def drain(self, worker: Worker) -> None:
        """Send a worker no new requests until it is removed."""
        worker.drained = True
        self.models.set_ready(worker.id, ready=False)

    def resume(self, worker: Worker) -> None:
        """The opposite of `drain`."""
        worker.drained = False
        self.models.set_ready(worker.id, ready=worker.ready)


def worker_id(url: str) -> str:
    """host:port of the URL, with the path's slashes as dots when it has one: stable, and safe in a path."""
    parts = urlsplit(url)
    return (parts.netloc + parts.path.rstrip("/")).replace("/", ".")
