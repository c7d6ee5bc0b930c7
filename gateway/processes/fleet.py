"""One watcher, many that follow: the parent's workers, and their likeness in each child.

One idea: a message holds all that is known of a worker, so it may come twice, and a child that starts late hears the
same as one that was there. A child takes the very steps that the parent took: what tells a restarted engine from one
that kept its cache (`Continuity`) is looked at by each for its own index.
"""

from collections.abc import Callable
from typing import Final

from engine_adapter.engine import Engine, EngineInfo, EngineLoad, State
from engine_adapter.kinds import ENGINES
from gateway.http1 import EngineFault
from gateway.models import Models
from gateway.processes.messages import Fleet, Suspected, WorkerView
from gateway.upstream import Upstream
from gateway.workers import Worker, Workers

_KINDS: Final = {engine.kind: engine for engine in ENGINES}


class ToldWorkers(Workers):
    """The parent's. changed: called with a worker after every change; left: with its id when it is taken out."""

    def __init__(self, models: Models, changed: Callable[[Worker], None], left: Callable[[str], None]) -> None:
        super().__init__(models)
        self._changed, self._left = changed, left

    def add(self, url: str, engine: Engine) -> Worker:
        """As in Workers, and told."""
        worker = super().add(url, engine)
        self._changed(worker)
        return worker

    def remove(self, name: str) -> Worker:
        """As in Workers, and told."""
        worker = super().remove(name)
        self._left(worker.id)
        return worker

    def introduce(self, worker: Worker, info: EngineInfo, models: tuple[str, ...], now: float) -> None:
        """As in Workers, and told."""
        super().introduce(worker, info, models, now)
        self._changed(worker)

    def observe_load(self, worker: Worker, load: EngineLoad, now: float) -> None:
        """As in Workers, and told."""
        super().observe_load(worker, load, now)
        self._changed(worker)

    def observe_continuity(
        self,
        worker: Worker,
        *,
        boot_id: str | None = None,
        prefilled_tokens: int | None = None,
        clearings: int | None = None,
    ) -> None:
        """As in Workers, and told."""
        super().observe_continuity(worker, boot_id=boot_id, prefilled_tokens=prefilled_tokens, clearings=clearings)
        self._changed(worker)

    def set_state(self, worker: Worker, state: State) -> None:
        """As in Workers, and told."""
        super().set_state(worker, state)
        self._changed(worker)

    def drain(self, worker: Worker) -> None:
        """As in Workers, and told."""
        super().drain(worker)
        self._changed(worker)

    def resume(self, worker: Worker) -> None:
        """As in Workers, and told."""
        super().resume(worker)
        self._changed(worker)


def view_of(worker: Worker) -> WorkerView:
    """All that is known of a worker."""
    return WorkerView(
        worker.url,
        worker.engine.kind,
        worker.state,
        worker.drained,
        worker.info,
        worker.models,
        worker.cards,
        worker.load,
        worker.continuity,
        worker.cache_report,
        worker.last_error,
    )


class Follower:
    """A child's workers, kept as the parent says they are. say: tells the parent. now: seconds, monotonic."""

    def __init__(
        self, workers: Workers, upstream: Upstream, say: Callable[[Suspected], None], now: Callable[[], float]
    ) -> None:
        self._workers = workers
        self._upstream = upstream
        self._say = say
        self._now = now

    def follow(self, fleet: Fleet) -> None:
        """Take over what became of workers."""
        for name in fleet.left:
            if name in self._workers:
                self._upstream.forget(self._workers.remove(name).url)
        for view in fleet.workers:
            self._take(view)

    def suspect(self, worker: Worker, fault: EngineFault) -> None:
        """A request found nobody listening: stay away at once, and have the parent look."""
        if fault.kind == "refused" and worker.state is not State.DOWN:
            self._workers.gone(worker, str(fault))
            self._say(Suspected(worker.id, str(fault)))

    def _take(self, view: WorkerView) -> None:
        workers, worker = self._workers, self._worker(view)
        worker.cards = view.cards
        if view.state is State.DOWN and worker.state not in (State.DOWN, State.UNKNOWN):
            workers.gone(worker, view.last_error or "does not answer")
        another = worker.state is not State.UP or (worker.info, worker.models) != (view.info, view.models)
        if view.state is State.UP and another and view.info is not None:
            workers.introduce(worker, view.info, view.models, self._now())
        if view.cache_report is not None:
            worker.cache_report = view.cache_report
        self._look(worker, view)
        worker.last_error = view.last_error
        if worker.drained is not view.drained:
            worker.drained = view.drained
        workers.set_state(worker, view.state)

    def _look(self, worker: Worker, view: WorkerView) -> None:
        seen = view.continuity
        self._workers.observe_continuity(
            worker, boot_id=seen.boot_id, prefilled_tokens=seen.prefilled_tokens, clearings=seen.clearings
        )
        if view.load is None:
            worker.load = None
        elif view.load != worker.load:
            self._workers.observe_load(worker, view.load, self._now())

    def _worker(self, view: WorkerView) -> Worker:
        engine = _KINDS[view.kind]
        known = next((worker for worker in self._workers if worker.url == view.url), None)
        worker = known or self._workers.add(view.url, engine)
        if known is None or worker.engine is not engine:
            worker.engine = engine
            self._upstream.keeps(view.url, engine.keep_alive_s)
        return worker
