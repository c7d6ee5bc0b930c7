"""gateway.processes.fleet: what the parent finds out about engines is so in every child, also in a late one."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_adapter.engine import State
from engine_adapter.sglang import SGLang
from gateway.config import Config
from gateway.http1 import EngineFault
from gateway.models import Models
from gateway.processes.fleet import Follower, ToldWorkers, view_of
from gateway.processes.messages import Fleet, Message, ToChild
from gateway.upstream import Upstream
from gateway.workers import Worker, Workers
from tests.gateway.test_workers import info, load

URLS = ("http://10.0.0.1:1", "http://10.0.0.2:2")
Step = Callable[["Both", str], None]
_wired = msgspec.msgpack.Decoder(ToChild)


class Both:
    """A parent's workers, and those of a child that hears every change as it would over the wire."""

    def __init__(self) -> None:
        self.parent = ToldWorkers(Models("expected-ttft"), self._changed, self._left)
        self.said: list[Message] = []
        self.child = Workers(Models("expected-ttft"))
        self.follower = Follower(self.child, Upstream(Config()), self.said.append, lambda: 0.0)
        self._boots: Iterator[int] = count()

    def _changed(self, worker: Worker) -> None:
        self.tell(Fleet(1, (view_of(worker),)))

    def _left(self, name: str) -> None:
        self.tell(Fleet(1, (), (name,)))

    def tell(self, fleet: Fleet) -> None:
        """Over the wire."""
        heard = _wired.decode(msgspec.msgpack.encode(fleet))
        assert isinstance(heard, Fleet)
        self.follower.follow(heard)

    def worker(self, url: str) -> Worker:
        """The parent's; added when it is not there."""
        found = next((worker for worker in self.parent if worker.url == url), None)
        return found or self.parent.add(url, SGLang())

    def up(self, url: str) -> None:
        worker = self.worker(url)
        known = info(boot_id=f"b{next(self._boots)}", dp_size=2 if url == URLS[1] else 1)
        self.parent.introduce(worker, known, ("m", "adapter"), 0.0)
        self.parent.set_state(worker, State.UP)

    def down(self, url: str) -> None:
        self.parent.gone(self.worker(url), "refused")

    def loaded(self, url: str) -> None:
        self.parent.observe_load(self.worker(url), load(running=3), 0.0)

    def drained(self, url: str) -> None:
        self.parent.drain(self.worker(url))

    def resumed(self, url: str) -> None:
        self.parent.resume(self.worker(url))

    def removed(self, url: str) -> None:
        self.parent.remove(self.worker(url).id)


STEPS: tuple[Step, ...] = (Both.up, Both.down, Both.loaded, Both.drained, Both.resumed, Both.removed)


def known(workers: Workers) -> dict[str, object]:
    """All that is known of each worker, and what the routers have."""
    seen: dict[str, object] = {worker.id: (view_of(worker), worker.ready) for worker in workers}
    groups = {group.name: (set(group.ready), dict(group.ranks)) for group in workers.models}
    return seen | {"groups": groups, "models": workers.models.ids()}


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(URLS)), max_size=12))
def test_a_child_knows_what_its_parent_knows(steps: list[tuple[Step, str]]) -> None:
    """After any history, and so does a child that hears only how it is at the end."""
    asyncio.run(same_history(steps))


async def same_history(steps: list[tuple[Step, str]]) -> None:
    """Take these steps, and compare after each."""
    both = Both()
    for step, url in steps:
        step(both, url)
        assert known(both.child) == known(both.parent)
    late = Both()
    late.tell(Fleet(1, tuple(view_of(worker) for worker in both.parent)))
    for worker in both.parent:
        if worker.state is State.UP:
            assert known(late.child)[worker.id] == known(both.parent)[worker.id]
            assert late.child.get(worker.id).ready is worker.ready


async def test_an_engine_that_restarted_is_forgotten_in_a_child_too() -> None:
    """Its index is its own, and what tells another process from the same one reaches it."""
    both = Both()
    both.up(URLS[0])
    router = both.child.models.group("m").router
    route = router.route([1, 2, 3], 100, 0.0)
    router.on_first_token(route, 0.0)
    router.release(route, 0.0, cached_tokens=0, output_tokens=1)
    worker = both.worker(URLS[0])
    both.loaded(URLS[0])
    assert router.holdings() == {worker.id: 3}
    both.parent.observe_continuity(worker, boot_id="another")
    assert router.holdings() == {worker.id: 0}


async def test_a_refused_connection_is_told() -> None:
    """The child sends nothing there from this moment on, and the parent hears why."""
    both = Both()
    both.up(URLS[0])
    (worker,) = both.child
    both.follower.suspect(worker, EngineFault("timeout", "slow"))
    assert (worker.ready, both.said) == (True, [])
    both.follower.suspect(worker, EngineFault("refused", "nobody"))
    both.follower.suspect(worker, EngineFault("refused", "nobody"))
    assert (worker.ready, len(both.said)) == (False, 1)
