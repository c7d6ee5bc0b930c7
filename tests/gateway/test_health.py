"""gateway.health: what an engine's state is, what it still holds, and who may be asked, as engines come and go."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from engine_adapter.engine import State
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.workers import Worker
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, Running, chat, error_of, running, until

SGLANG = Path(__file__).parents[1] / "data" / "sglang"
LONG = "some prompt of several blocks " * 60
SEEN_WITHIN_S = 2.0
OK = whole(b'{"usage": {"prompt_tokens": 500, "prompt_tokens_details": {"cached_tokens": 0}}}')


async def seen(true: Callable[[], bool]) -> None:
    """The gateway's view is right within two seconds."""
    async with asyncio.timeout(SEEN_WITHIN_S):
        while not true():
            await asyncio.sleep(0.005)


def held(gateway: Running, worker: Worker) -> int:
    """Blocks the router believes to be there."""
    return sum(g.router.blocks_held(worker.id) for g in gateway.app.models if worker.id in g.workers)


async def test_an_engines_life() -> None:
    """Down while it is not there, starting, up, draining while it says 503, down, up again; served when up only."""
    engine = FakeEngine(OK)
    async with engine:
        pass
    async with running(engine, wait=False) as gateway:
        (worker,) = gateway.workers
        await seen(lambda: worker.state is State.DOWN)
        assert "connect" in (worker.last_error or "")
        engine.pages["/health"] = (503, b"")
        async with engine:
            await seen(lambda: worker.state is State.STARTING)
            assert (await gateway.ask(CHAT, chat()))[0] == 503
            for _ in range(2):
                engine.pages["/health"] = (200, b"")
                await seen(lambda: worker.state is State.UP)
                assert (await gateway.ask(CHAT, chat()))[0] == 200
                engine.pages["/health"] = (503, b"")
                await seen(lambda: worker.state is State.DRAINING)
                status, body = await gateway.ask(CHAT, chat())
                assert (status, error_of(body)["code"]) == (503, "no_engine")
            engine.pages["/health"] = (500, b"")
            await seen(lambda: worker.state is State.DOWN)
            assert worker.last_error == "health check answered 500"
        assert len(engine.received) == 2


async def test_a_draining_engine_finishes_what_it_has() -> None:
    """No new request, and the running stream is not touched."""
    options = EngineOptions(speed=20, model="m")
    one, two = SimulatedEngine(options), SimulatedEngine(options)
    async with one, two, running(one, two, policy="round-robin") as gateway:
        async with gateway.post(CHAT, chat(max_tokens=400, stream=True)) as response:
            await response.content.readany()
            busy = one if one.received else two
            busy.faults.healthy = False
            await gateway.ready(1)
            for _ in range(3):
                assert (await gateway.ask(CHAT, chat(max_tokens=1)))[0] == 200
            assert (await response.read()).endswith(b"data: [DONE]\n\n")
        assert len(busy.received) == 1
        assert (await gateway.last_record()).outcome == "ok"


async def test_a_restart_forgets() -> None:
    """Case 42: an engine that was gone holds nothing, and comes back as a candidate without credit."""
    async with SimulatedEngine(EngineOptions(speed=1000, model="m")) as engine, running(engine) as gateway:
        (worker,) = gateway.workers
        await gateway.ask(CHAT, chat(LONG, max_tokens=1))
        assert held(gateway, worker) > 0
        await engine.stop()
        await seen(lambda: worker.state is State.DOWN and held(gateway, worker) == 0)
        assert worker.load is None
        await engine.start()
        await seen(lambda: worker.state is State.UP)
        await gateway.ask(CHAT, chat(LONG, max_tokens=1))
        assert (await gateway.last_record()).expected_cached_tokens == 0


def counted(tokens: int) -> bytes:
    """A load report of an engine that has prefilled so many tokens since it started."""
    load = {"num_running_reqs": 0, "num_waiting_reqs": 0, "total_prefill_uncached_tokens": tokens}
    return msgspec.json.encode({"loads": [load]})


FORGETTING: dict[str, tuple[str, bytes, bytes]] = {
    "a restart between two looks": ("/v1/loads?include=core", counted(5000), counted(10)),
    "a flush": (
        "/metrics",
        (SGLANG / "metrics_before.txt").read_bytes(),
        (SGLANG / "metrics_flushed.txt").read_bytes(),
    ),
}


@pytest.mark.parametrize("how", FORGETTING)
async def test_an_emptied_cache_is_noticed_while_the_engine_stays_up(how: str) -> None:
    """Case 42: a fast restart shows in counters that went back, a flush on the metrics page."""
    path, before, after = FORGETTING[how]
    async with FakeEngine(OK) as engine:
        engine.pages[path] = (200, before)
        async with running(engine) as gateway:
            (worker,) = gateway.workers
            await until(
                lambda: worker.continuity.prefilled_tokens is not None or worker.continuity.clearings is not None
            )
            await gateway.ask(CHAT, chat(LONG))
            await gateway.last_record()
            assert held(gateway, worker) > 0
            engine.pages[path] = (200, after)
            await seen(lambda: held(gateway, worker) == 0)
            assert worker.state is State.UP


async def test_another_process_on_the_same_port_is_noticed_when_it_comes_up() -> None:
    """Another boot id is another cache; another size of it is believed from then on."""
    async with FakeEngine(OK) as engine:
        engine.pages["/server_info"] = (200, (SGLANG / "server_info.json").read_bytes())
        async with running(engine) as gateway:
            (worker,) = gateway.workers
            (model,) = [name for name in worker.models if name != "m"]
            await gateway.ask(CHAT, chat(LONG) | {"model": model})
            await gateway.last_record()
            assert held(gateway, worker) > 0
            engine.pages["/health"] = (503, b"")
            await seen(lambda: worker.state is State.DRAINING)
            assert held(gateway, worker) > 0
            restarted = msgspec.json.decode((SGLANG / "server_info_restarted.json").read_bytes())
            engine.pages["/server_info"] = (200, msgspec.json.encode(restarted | {"max_total_num_tokens": 4096}))
            engine.pages["/health"] = (200, b"")
            await seen(lambda: worker.state is State.UP)
            assert held(gateway, worker) == 0
            (group,) = gateway.app.models
            assert group.router._loads[worker.id].kv_capacity == 4096


@pytest.mark.parametrize(
    ("path", "answer", "says"),
    [
        ("/server_info", (200, b"<html>"), "not a usable sglang engine"),
        ("/server_info", (500, b""), "answered 500"),
        (
            "/server_info",
            (404, b""),
            "no engine of a known kind (sglang, llamacpp, vllm, trtllm): /get_server_info answered 404",
        ),
        ("/v1/models", (200, b'{"data": 5}'), "not a usable sglang engine"),
        ("/v1/models", (200, b"\xff"), "not a usable sglang engine"),
        ("/server_info", (200, b'{"served_model_name":"m","disaggregation_mode":"prefill"}'), "disaggregated pair"),
        ("/server_info", (200, b'{"served_model_name":"m","max_total_num_tokens":-5}'), "kv_capacity_tokens"),
    ],
)
async def test_engines_that_cannot_be_used(path: str, answer: tuple[int, bytes], says: str) -> None:
    """They stay down with the reason, and come up as soon as they make sense."""
    async with FakeEngine(OK) as engine:
        good = engine.pages[path]
        engine.pages[path] = answer
        async with running(engine, wait=False) as gateway:
            (worker,) = gateway.workers
            await seen(lambda: says in (worker.last_error or ""))
            assert worker.state is State.DOWN
            engine.pages[path] = good
            await seen(lambda: worker.state is State.UP)


@pytest.mark.parametrize("role", ["prefill", "decode"])
async def test_an_engine_of_a_disaggregated_pair(role: str, caplog: pytest.LogCaptureFixture) -> None:
    """Refused, with what to do, in GET /workers and in the log; "null" is SGLang's word for an ordinary one."""
    async with FakeEngine(OK) as engine:
        ordinary = msgspec.json.decode(engine.pages["/server_info"][1])
        engine.pages["/server_info"] = (200, msgspec.json.encode(ordinary | {"disaggregation_mode": role}))
        async with running(engine, wait=False) as gateway:
            (worker,) = gateway.workers
            await seen(lambda: worker.state is State.DOWN)
            async with gateway.http.get("/workers") as response:
                (row,) = (await response.json())["workers"]
            assert f"a {role} engine" in row["last_error"]
            assert "the pair's router" in row["last_error"]
            assert any(
                record.levelname == "WARNING" and row["last_error"] in record.message for record in caplog.records
            )
            engine.pages["/server_info"] = (200, msgspec.json.encode(ordinary | {"disaggregation_mode": "null"}))
            await seen(lambda: worker.state is State.UP)


async def test_an_engine_without_a_model() -> None:
    """There is nothing to ask it for."""
    async with FakeEngine(OK) as engine:
        engine.pages |= {"/server_info": (200, b"{}"), "/v1/models": (200, b'{"data":[]}')}
        async with running(engine, wait=False) as gateway:
            await seen(lambda: gateway.workers[0].last_error == "serves no model")


async def test_older_engines_are_asked_at_their_older_paths() -> None:
    """A 404 means the next path of the list."""
    async with FakeEngine(OK) as engine:
        engine.pages |= {
            "/server_info": (404, b""),
            "/get_server_info": (200, (SGLANG / "server_info_0.5.10.json").read_bytes()),
            "/v1/loads?include=core": (404, b""),
            "/get_load": (200, (SGLANG / "get_load_0.5.10.json").read_bytes()),
        }
        async with running(engine) as gateway:
            (worker,) = gateway.workers
            await seen(lambda: worker.load is not None)
            assert worker.info is not None
            assert (worker.info.version or "").startswith("0.5.10")


async def test_a_load_report_that_makes_no_sense_leaves_the_worker_up() -> None:
    """Load is a help, not a condition."""
    async with FakeEngine(OK) as engine:
        engine.pages["/v1/loads?include=core"] = (200, b"{}")
        async with running(engine) as gateway:
            (worker,) = gateway.workers
            await seen(lambda: "/v1/loads" in (worker.last_error or ""))
            assert (worker.state, worker.load) == (State.UP, None)
            assert (await gateway.ask(CHAT, chat()))[0] == 200


async def test_a_health_check_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine keeps its state and its requests until the check is over; then it is down."""
    monkeypatch.setattr("gateway.health._HEALTH_TIMEOUT_S", 0.3)
    async with FakeEngine(OK) as engine, running(engine) as gateway:
        (worker,) = gateway.workers
        engine.pages["/health"] = None
        assert (await gateway.ask(CHAT, chat()))[0] == 200
        assert worker.state is State.UP
        await seen(lambda: worker.state is State.DOWN)
        engine.pages["/health"] = (200, b"")
        await seen(lambda: worker.state is State.UP)


async def test_looking_at_several_engines_before_saying_what_was_found() -> None:
    """`first_look` waits for those who answer and not longer than it may for the others."""
    async with FakeEngine(OK) as one, FakeEngine(OK) as two:
        two.pages["/health"] = None
        async with running(one, two, wait=False) as gateway:
            await gateway.app.health.first_look(timeout_s=0.2)
            assert [worker.state for worker in gateway.workers] == [State.UP, State.UNKNOWN]
