"""The workers: one endpoint each, what it said of itself, whether it may get requests.

State of a worker: `starting` (never answered, or its engine is still loading), `up`, `draining` (its engine or an
operator asked for no new requests; what runs finishes), `down` (does not answer).
"""

from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

from engine_adapter.engine import Engine, EngineInfo, EngineLoad
from gateway.errors import Refusal
from gateway.models import Models

State = Literal["starting", "up", "draining", "down"]


class Worker:
    """One endpoint and what is known of it. cache_report: whether it tells cached tokens (None: not known yet)."""

    __slots__ = ("boot_id", "cache_report", "drained", "engine", "id", "in_flight", "info", "last_error", "load")
    __slots__ += ("state", "url", "warned")

    def __init__(self, url: str, engine: Engine) -> None:
        self.url = url
        self.id = worker_id(url)
        self.engine = engine
        self.state: State = "starting"
        self.drained = False
        self.info: EngineInfo | None = None
        self.load: EngineLoad | None = None
        self.boot_id: str | None = None
        self.cache_report: bool | None = None
        self.in_flight = 0
        self.last_error: str | None = None
        self.warned = False

    @property
    def ready(self) -> bool:
        """May get new requests."""
        return self.state == "up" and not self.drained

    @property
    def warning(self) -> str | None:
        """What an operator should change about this engine, or None."""
        if self.cache_report is False:
            return (
                "the engine does not report cached tokens: start it with --enable-cache-report, "
                "else its hit rate is unknown"
            )
        return None


class Workers:
    """All workers by id, and the models they serve. Calls keep the routers of `models` in step."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self._by_id: dict[str, Worker] = {}

    def __iter__(self) -> Iterator[Worker]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, url: str, engine: Engine) -> Worker:
        """A new worker, `starting`. Raises Refusal `worker_exists`."""
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
            raise Refusal("worker_not_found", f"no worker {name!r}; there are: {known}") from None

    def remove(self, name: str) -> Worker:
        """Take a worker out; requests it is serving finish. Raises Refusal `worker_not_found`."""
        worker = self.get(name)
        del self._by_id[name]
        self.models.leave(worker.id)
        return worker

    def came_up(self, worker: Worker, info: EngineInfo, now: float) -> None:
        """The engine answers: (re-)register it; a boot id other than the last one means an empty cache."""
        if worker.boot_id is not None and worker.boot_id != info.boot_id:
            self.models.forget(worker.id)
        worker.info, worker.boot_id = info, info.boot_id
        if worker.cache_report is None or info.cache_report is not None:
            worker.cache_report = info.cache_report
        self.models.join(worker.id, info.models, info.kv_capacity_tokens, now)
        self.set_state(worker, "up")

    def went_down(self, worker: Worker, reason: str, *, gone: bool) -> None:
        """The engine does not answer. gone: its process is not there, so neither is its cache."""
        worker.last_error = reason
        if gone:
            worker.boot_id = None
            self.models.forget(worker.id)
        if worker.state != "starting":
            self.set_state(worker, "down")

    def set_state(self, worker: Worker, state: State) -> None:
        """Change a worker's state and whether it is a candidate."""
        worker.state = state
        self.refresh(worker)

    def refresh(self, worker: Worker) -> None:
        """Tell the models whether the worker may get requests."""
        self.models.set_ready(worker.id, worker.ready)


def worker_id(url: str) -> str:
    """host:port of the URL, with the path's slashes as dots when it has one: stable, and safe in a path."""
    parts = urlsplit(url)
    return (parts.netloc + parts.path.rstrip("/")).replace("/", ".")
