"""gateway.journal: the same results as at once, in order, soon, nothing lost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.usage import Usage
from gateway import journal as module
from gateway.apis import APIS, CHAT
from gateway.dispatch import Place
from gateway.exchange import Exchange
from gateway.flight import Route
from gateway.journal import Ended, Journal
from gateway.misses import Misses
from gateway.prepared import Prepared
from prefix.blocks import block_hashes
from prefix.record import RequestRecord
from prefix.view import View
from tests.gateway.fake_engine import FakeEngine
from tests.gateway.running import chat, running, until
from tests.gateway.test_access_log import USED, lines
from tests.gateway.test_misses import asks, prepared

Step = tuple[int, str]
STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=1, max_size=8)


def asked(number: int) -> Prepared:
    """One of a few prompts, which share their beginnings."""
    text = b"The rules. " * 100 + b"%d" % (number // 2) * 600 + b"%d" % number * 600
    group: Any = SimpleNamespace(policy="expected-ttft", bytes_per_token=4.0)
    told = {"changes": (), "hoist": None, "model": "m", "stable_tokens": 0, "prompt_version": "v"}
    known = {"api": APIS[CHAT], "group": group, "view": View(1, text, 0, None), "blocks": block_hashes(text, 1)}
    return prepared(asks(f"prompt {number}"))._replace(**told, **known)


def exchange(number: int = 0, worker: str = "a", cached: int = 0) -> Exchange:
    """A request that was answered."""
    made = Exchange(APIS[CHAT], 0.0)
    made.request_id, made.prepared, made.outcome = f"{number:032}", asked(number), "ok"
    engine: Any = SimpleNamespace(info=None)
    made.worker, made.route = engine, Route(worker, 0, 0, "turn", 1)
    made.usage = Usage(1000, cached)
    return made


def place(one: Exchange) -> Place:
    """Where it went."""
    named: dict[str, Any] = {"worker": one.worker, "route": one.route, "group": None}
    return Place(**named)


def happen(journal: Journal, steps: list[Step]) -> Iterator[None]:
    """Requests by twos, so that the one is dispatched before the other has ended."""
    flying: list[Exchange] = []
    for number, worker in steps:
        one = exchange(number, worker, 64 * number)
        assert one.prepared is not None
        journal.dispatched(one, one.prepared, place(one))
        flying.append(one)
        yield
        if len(flying) > 1:
            journal.ended(flying.pop(0), {}, 1000.0, 1.0)
            yield


class Kept(list[RequestRecord]):
    """The records, in order."""

    def finished(self, ended: Ended) -> None:
        """Keep one."""
        assert ended.exchange.request_id == ended.record.request_id
        self.append(ended.record)


@given(STEPS, st.sets(st.integers(0, 16)))
def test_results_are_those_of_doing_it_at_once(steps: list[Step], flushed_at: set[int]) -> None:
    """Whenever entries are worked off, each request has the reasons that it would have had at its end."""

    async def records(when: set[int] | None) -> Kept:
        kept = Kept()
        journal = Journal(Misses(), kept.finished)
        for number, _ in enumerate(happen(journal, steps)):
            if when is None or number in when:
                journal.flush()
        journal.flush()
        return kept

    assert asyncio.run(records(flushed_at)) == asyncio.run(records(None))


async def test_it_is_worked_off_soon_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a moment; at once with many entries, or with large bodies."""
    kept = Kept()
    journal = Journal(Misses(), kept.finished)
    journal.ended(exchange(), {}, 1000.0, 1.0)
    assert len(journal) == 1
    await until(lambda: len(kept) == 1)
    monkeypatch.setattr(module, "SOON_S", 60.0)
    for _ in range(module.MOST):
        journal.ended(exchange(), {}, 1000.0, 1.0)
    await asyncio.sleep(0)
    assert (len(kept), len(journal)) == (1 + module.MOST, 0)
    large = exchange()
    large.raw = bytes(module.MOST_BYTES)
    journal.ended(large, {}, 1000.0, 1.0)
    await asyncio.sleep(0)
    assert (len(kept), len(journal)) == (2 + module.MOST, 0)


async def test_one_that_fails_is_told_and_takes_none_with_it() -> None:
    """The event loop hears of it; those before and behind are recorded."""
    kept, told = Kept(), list[Any]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))

    def finished(ended: Ended) -> None:
        if ended.record.request_id == f"{1:032}":
            raise ZeroDivisionError
        kept.finished(ended)

    journal = Journal(Misses(), finished)
    for number in range(3):
        journal.ended(exchange(number), {}, 1000.0, 1.0)
    await until(lambda: len(kept) == 2)
    assert [type(each) for each in told] == [ZeroDivisionError]
    assert [record.request_id for record in kept] == [f"{0:032}", f"{2:032}"]


async def test_nothing_is_lost_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who stops right after an answer finds its line in the log; who reads the sums finds the request in them."""
    monkeypatch.setattr(module, "SOON_S", 60.0)
    log = tmp_path / "log"
    async with FakeEngine(USED) as engine, running(engine, access_log=str(log)) as gateway:
        for count in (1, 2):
            await gateway.ask(CHAT, chat())
            await until(lambda: not gateway.app.workers.get(gateway.workers[0].id).in_flight)
            async with gateway.http.get("/api/overview") as response:
                assert (await response.json())["totals"]["requests"] == count
        await gateway.ask(CHAT, chat())
    assert len(lines(log)) == 3
