"""gateway.proxy: an engine that fails before its first byte is replaced unseen; a request is never passed around."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from engine_adapter.engine import EngineLoad
from gateway.retry import BURST, FLOOR_PER_S, SHARE
from tests.cases import case
from tests.gateway.fake_engine import EVENTS_HEAD, Answer, Connection, FakeEngine, raw, whole, whole_bytes
from tests.gateway.running import CHAT, GENERATE, Running, chat, error_of, running, sums, until

OK = b'{"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}}'
CALM = {"poll_interval_s": 60.0}
"""No watcher looks at the engines again, so that what happens is the request's doing."""


class Fleet:
    """Engines that share one list of answers: the n-th request gets the n-th answer, wherever it goes."""

    def __init__(self, engines: list[FakeEngine], gateway: Running) -> None:
        self.engines = engines
        self.gateway = gateway

    @property
    def asked(self) -> int:
        """Requests at all engines together."""
        return sum(len(engine.received) for engine in self.engines)

    @property
    def visited(self) -> int:
        """Engines that got a request."""
        return sum(bool(engine.received) for engine in self.engines)


@asynccontextmanager
async def fleet(count: int, *answers: Answer, **settings: Any) -> AsyncIterator[Fleet]:
    """So many engines behind a gateway."""
    engines = [FakeEngine() for _ in range(count)]
    shared = list(answers)
    async with AsyncExitStack() as stack:
        for engine in engines:
            engine.answers = shared
            await stack.enter_async_context(engine)
        yield Fleet(engines, await stack.enter_async_context(running(*engines, **CALM | settings)))


BEFORE_THE_FIRST_BYTE = {
    "502": whole(b"bad", 502),
    "503": whole(b"busy", 503, ["retry-after: 1"]),
    "closed": raw(then="close"),
    "reset": raw(then="reset"),
    "half a head": raw(b"HTTP/1.1 200 OK\r\ncontent-", then="close"),
    "reset after headers": raw(EVENTS_HEAD, then="reset"),
    "closed after headers": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", then="close"),
}


@pytest.mark.parametrize("fault", BEFORE_THE_FIRST_BYTE)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_client_does_not_notice(fault: str, stream: bool) -> None:
    """Another worker serves; the failed placement is released, the retry counted, the outcome a plain success."""
    answer = BEFORE_THE_FIRST_BYTE[fault]
    async with fleet(2, answer, whole(OK)) as here:
        for engine in here.engines:
            for connection in engine.connections:
                connection.close()  # fresh connections only: nothing can be blamed on an old one
        assert await here.gateway.ask(CHAT, chat(stream=stream)) == (200, OK)
        record = await here.gateway.last_record()
        assert (here.asked, here.visited, record.retries) == (2, 2, 1)
        assert (record.outcome, record.error_type, record.status) == ("ok", None, 200)
        assert (record.input_tokens, record.cached_tokens) == (9, 4)
        metrics = await here.gateway.metrics()
        assert sums(metrics, "prefixgate_retries_total") == 1
        assert sums(metrics, "prefixgate_requests_total") == sums(metrics, "prefixgate_requests_total", outcome="ok")


async def test_nobody_listens() -> None:
    """A refused connection takes the worker out at once, without waiting for the next look, and the next serves."""
    async with fleet(2, whole(OK)) as here:
        await here.engines[0].stop()
        for _ in range(3):
            assert await here.gateway.ask(CHAT, chat()) == (200, OK)
        first, second = here.gateway.workers
        assert (str(first.state), first.ready, second.ready) == ("down", False, True)
        assert "connect" in (first.last_error or "")
        assert len(here.engines[1].received) == 3
        await here.engines[0].start()


async def test_nobody_is_left() -> None:
    """When the last engine refuses, the client is told to try again; so are those after it."""
    async with fleet(1, whole(OK)) as here:
        await here.engines[0].stop()
        for _ in range(2):
            async with here.gateway.post(CHAT, chat()) as response:
                assert (response.status, error_of(await response.read())["code"]) == (503, "no_engine")
            assert response.headers["retry-after"] == "5"
        await here.engines[0].start()


@pytest.mark.parametrize("status", [*case(44)["expected"]["never_retry"], 408, 500, 504])
async def test_other_statuses_are_never_retried(status: int) -> None:
    """Case 44: a client error is the request's own, and a 500 may have cost a generation."""
    async with fleet(2, whole(b"no", status), whole(OK)) as here:
        assert await here.gateway.ask(CHAT, chat()) == (status, b"no")
        assert here.asked == 1
        assert all(worker.ready for worker in here.gateway.workers)


@pytest.mark.parametrize("status", case(44)["expected"]["retry_on"])
async def test_the_last_engines_answer_passes(status: int) -> None:
    """When all say 502 or 503 the client sees the last one's own words, after max_attempts of them."""
    for count, attempts, asked in ((1, 3, 1), (4, 2, 2), (4, 10, 4)):
        async with fleet(count, whole(b"busy", status, ["retry-after: 9"]), max_attempts=attempts) as here:
            async with here.gateway.post(CHAT, chat()) as response:
                assert (response.status, await response.read()) == (status, b"busy")
            assert response.headers["retry-after"] == "9"
            assert (here.asked, here.visited) == (asked, asked)
            assert (await here.gateway.last_record()).retries == asked - 1


BUSY = whole(b"slow down", 429, ["retry-after: 7"])


async def test_429_goes_to_one_other_worker() -> None:
    """One more is asked, whatever max_attempts says; when it says 429 too, its answer and Retry-After pass."""
    for answers, status, asked in (((BUSY, whole(OK)), 200, 2), ((BUSY,), 429, 2)):
        async with fleet(3, *answers, max_attempts=10) as here:
            async with here.gateway.post(CHAT, chat()) as response:
                assert response.status == status
                assert response.headers.get("retry-after") == (None if status == 200 else "7")
            assert (here.asked, here.visited) == (asked, asked)
            assert all(
                here.gateway.app.workers.breakers.state(worker.id) == "closed" for worker in here.gateway.workers
            )


async def test_429_passes_when_no_other_worker_has_room() -> None:
    """A worker that reports waiting requests would say the same; one that reports nothing is tried."""
    async with fleet(2, BUSY) as here:
        for worker in here.gateway.workers:
            worker.load = EngineLoad(5, 1, None, None, None)
        assert (await here.gateway.ask(CHAT, chat()))[0] == 429
        assert here.asked == 1


async def test_the_retry_budget() -> None:
    """When all requests fail for long, most get the first engine's fault, and some another try."""
    async with fleet(2, whole(b"bad", 503), breaker_failures=1000) as here:
        for _ in range(40):
            assert (await here.gateway.ask(CHAT, chat()))[0] == 503
        assert 40 + BURST <= here.asked <= 40 + BURST + 40 * SHARE + 10 * FLOOR_PER_S


async def test_an_engine_that_ends_takes_no_request_with_it() -> None:
    """Forty requests wait for it when it dies; all are answered by the other one."""
    first, second = FakeEngine(raw()), FakeEngine(raw())
    async with first, second, running(first, second, **CALM) as gateway:
        for _ in range(200):
            gateway.app.proxy._attempts._budget.earn(80)  # a good time
        asking = [asyncio.ensure_future(gateway.ask(CHAT, chat(str(number) * 600))) for number in range(80)]
        await until(lambda: len(first.received) + len(second.received) == 80)
        assert len(first.received) > 30
        second.answers = [whole(OK)]
        waiting = [request.connection for request in second.received]
        await first.stop()
        for connection in waiting:
            await connection.send(whole_bytes(OK))
        assert {(await each)[0] for each in asking} == {200}
        await first.start()


async def test_the_retry_budget_holds_for_kept_connections_too() -> None:
    """An engine that closes every kept connection is not asked twice for ever."""
    async with fleet(1, raw(whole_bytes(OK), then="close")) as here:
        here.gateway.app.proxy._attempts._budget._tokens = 0.0
        here.engines[0].answers = [whole(OK), raw(then="reset"), whole(OK)]
        assert (await here.gateway.ask(CHAT, chat()))[0] == 200
        status, body = await here.gateway.ask(CHAT, chat())
        assert (status, error_of(body)["code"]) == (502, "engine_disconnected")
        assert here.asked == 2


async def test_case_44_the_breaker() -> None:
    """A worker that fails gets nothing for a while, then one request, then everything; 4xx change nothing."""
    async with fleet(2, whole(OK), breaker_failures=3, breaker_open_s=60.0, max_attempts=1) as here:
        breakers = here.gateway.app.workers.breakers
        bad, good = here.engines
        worker = here.gateway.workers[0]
        bad.answers = [whole(b"", status) for status in (400, 500, 422, 500, 413, 500)] + [whole(OK)]
        good.answers = [whole(OK)]
        while breakers.state(worker.id) != "open":
            await here.gateway.ask(CHAT, chat())
        assert len(bad.received) == 6
        async with here.gateway.http.get("/workers") as response:
            assert [row["breaker"] for row in (await response.json())["workers"]] == ["open", "closed"]
        assert sums(await here.gateway.metrics(), "prefixgate_worker_breaker_open") == 1
        for _ in range(10):
            assert (await here.gateway.ask(CHAT, chat()))[0] == 200
        assert len(bad.received) == 6
        here.gateway.app.proxy.dispatch._now = lambda: time.monotonic() + 60.0
        while len(bad.received) == 6:
            assert (await here.gateway.ask(CHAT, chat()))[0] == 200
        assert breakers.state(worker.id) == "closed"


async def test_a_worker_is_open_but_there_is_no_other() -> None:
    """It is asked all the same: a client whose requests break the only engine does not shut it for the others."""
    async with fleet(1, *[whole(b"", 500)] * 4, whole(OK), breaker_failures=3, breaker_open_s=60.0) as here:
        for _ in range(4):
            assert (await here.gateway.ask(CHAT, chat()))[0] == 500
        assert here.gateway.app.workers.breakers.state(here.gateway.workers[0].id) == "open"
        for _ in range(3):
            assert (await here.gateway.ask(CHAT, chat()))[0] == 200
        assert here.gateway.app.workers.breakers.state(here.gateway.workers[0].id) == "closed"


@pytest.mark.parametrize("path", [CHAT, GENERATE])
async def test_a_fatal_request_does_not_end_the_fleet(path: str) -> None:
    """A request after which an engine closes the connection without a byte is shown to one other engine at most."""
    async with fleet(4, raw(then="reset"), max_attempts=10) as here:
        status, body = await here.gateway.ask(path, chat())
        assert (status, error_of(body)["code"]) == (502, "engine_disconnected")
        assert here.visited == 2


@pytest.mark.parametrize("used", [True, False])
async def test_a_request_that_ends_processes_does_not_end_the_fleet(used: bool) -> None:
    """The same when the engine's process is gone afterwards, so that it refuses the next connection."""
    engines: list[FakeEngine] = []

    async def die(connection: Connection) -> None:
        engine = next(engine for engine in engines if connection in engine.connections)
        engine._server.close()
        connection.reset()

    async with fleet(4, die, max_attempts=10) as here:
        engines += here.engines
        for engine in here.engines:
            for connection in [] if used else engine.connections:
                connection.close()
        status, body = await here.gateway.ask(CHAT, chat())
        assert (status, error_of(body)["code"]) == (502, "engine_disconnected")
        assert (here.visited, here.asked) == (2, 2)


async def test_case_54_a_pooled_connection_that_closes_under_us() -> None:
    """Once more on a fresh connection to the same worker, unseen and not held against it."""
    gone = raw(then="reset")
    async with fleet(1, whole(OK), gone, whole(OK)) as here:
        for _ in range(2):
            assert await here.gateway.ask(CHAT, chat()) == (200, OK)
        before, stale, fresh = here.engines[0].received
        assert before.connection is stale.connection
        assert fresh.connection is not stale.connection
        assert fresh.body == stale.body
        assert here.gateway.workers[0].ready
        record = await here.gateway.last_record()
        assert (record.outcome, record.error_type) == ("ok", None)


async def test_case_54_never_more_than_once() -> None:
    """A fresh connection that closes too is the engine's failure."""
    async with fleet(1, whole(OK), raw(then="close")) as here:
        await here.gateway.ask(CHAT, chat())
        status, body = await here.gateway.ask(CHAT, chat())
        assert (status, error_of(body)["code"]) == (502, "engine_disconnected")
        assert here.asked == 3


async def test_case_54_no_second_try_after_a_byte() -> None:
    """One byte of an answer and the same worker is not asked again."""
    async with fleet(1, whole(OK), raw(b"H", then="close")) as here:
        await here.gateway.ask(CHAT, chat())
        status, body = await here.gateway.ask(CHAT, chat())
        assert (status, error_of(body)["code"]) == (502, "engine_disconnected")
        assert here.asked == 2


async def test_case_54_several_pooled_connections_that_close_at_once() -> None:
    """When the engine drops all its idle connections, the second try does not pick another dead one."""

    async def drop_all(connection: Connection) -> None:
        for each in engine.connections:
            each.reset()

    async with fleet(1, *[whole(OK)] * 4, drop_all, whole(OK)) as here:
        (engine,) = here.engines
        many = [here.gateway.post(CHAT, chat(str(i))) for i in range(4)]
        async with AsyncExitStack() as stack:
            for each in many:
                await stack.enter_async_context(each)
        assert await here.gateway.ask(CHAT, chat()) == (200, OK)
        assert here.asked == 6


@pytest.mark.parametrize(("keep_alive", "used"), [("timeout=5", True), ("close", False)])
async def test_connections_are_kept_as_the_engine_allows(keep_alive: str, used: bool) -> None:
    """A kept connection carries the next request; one the engine announced to close does not."""
    header = f"keep-alive: {keep_alive}" if used else "connection: close"
    async with fleet(1, raw(whole_bytes(OK, 200, [header]))) as here:
        for _ in range(2):
            assert await here.gateway.ask(CHAT, chat()) == (200, OK)
        one, two = here.engines[0].received
        assert (one.connection is two.connection) is used


async def test_case_54_idle_connections_are_dropped_before_the_engine_does() -> None:
    """After pool_idle_s a connection is closed by us, not found dead by the next request."""
    async with fleet(1, whole(OK), pool_idle_s=0.01) as here:
        assert await here.gateway.ask(CHAT, chat()) == (200, OK)
        await here.engines[0].received[0].connection.closed.wait()
        assert await here.gateway.ask(CHAT, chat()) == (200, OK)


async def test_an_engine_that_does_not_accept() -> None:
    """A connection that does not come about in connect_timeout_s counts as unreachable, and the next serves."""
    async with fleet(2, whole(OK), connect_timeout_s=0.05) as here:
        first = here.gateway.workers[0]
        first.url = "http://192.0.2.1:9"  # TEST-NET-1: nobody answers, or no way there
        for _ in range(2):
            assert await here.gateway.ask(CHAT, chat()) == (200, OK)
        assert len(here.engines[1].received) == 2
