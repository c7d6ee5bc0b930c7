"""`prefixgate serve --processes N`: several real processes that look like one."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from tests.gateway import test_serve
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, SOON_S, chat
from tests.gateway.shared.redis_server import RedisServer
from tests.gateway.test_serve import Served, ready, serve

pytestmark = pytest.mark.slow
N = 2
_TWO = ("--processes", str(N))
_ADMIN = (
    *("/workers", "/api/cache", "/api/overview", "/api/history", "/api/latency", "/api/prompts", "/api/requests"),
    *("/api/tree", "/api/prompts/default/v1", "/ready", "/health", "/v1/models", "/openapi.json"),
)
_SAMPLE = re.compile(r"^(\w+)(\{[^\n]*\})? (\S+)$", re.MULTILINE)
_EXACT = re.compile(r"\w+_(total|count)\b")
_VARYING = ("uncached_by_reason", "request_id", "started", "now", "first_seen", "last_seen", "id", "url", "created")
_LIMITED = "limits: {requests_per_s: 0.001, burst: 4}\ncustomers: {}\n"
_WHEN_ASKED = ("running", "waiting", "kv_used_tokens")  # null until the engine was asked first
Fields = dict[str, Any]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three processes start in one test, perhaps beside other tests."""
    monkeypatch.setattr(test_serve, "SOON_S", 60.0)


@asynccontextmanager
async def connections(number: int) -> AsyncIterator[list[aiohttp.ClientSession]]:
    """Sessions of one kept connection each: one after the other opened, they are spread over all processes."""
    sessions = [aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) for _ in range(number)]
    yield sessions
    for each in sessions:
        await each.close()


async def got(http: aiohttp.ClientSession, url: str, **headers: str) -> Any:
    """The JSON of a GET."""
    async with http.get(url, headers={name.replace("_", "-"): value for name, value in headers.items()}) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def metrics(http: aiohttp.ClientSession, served: Served) -> dict[str, float]:
    """Every sample of /metrics."""
    async with http.get(served.url + "/metrics") as response:
        return {name + (labels or ""): float(value) for name, labels, value in _SAMPLE.findall(await response.text())}


def children(served: Served) -> list[int]:
    """The processes that serve."""
    pid = served.process.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def runs(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _kind(name: str, value: Any) -> Any:
    if name in _WHEN_ASKED:
        return name
    return type(value) if name in _VARYING else shape(value)


def shape(value: Any) -> Any:
    """What kinds of values there are, and the exact ones of all that two runs must have in common."""
    if isinstance(value, dict):
        return {name: _kind(name, each) for name, each in value.items()}
    if isinstance(value, list):
        return sorted({repr(shape(each)) for each in value})
    return type(value)


def facts(answers: Fields) -> Fields:
    """The sums that operators read."""
    overview, cache = answers["/api/overview"]["totals"], answers["/api/cache"]["rows"]
    keys = ("requests", "input_tokens", "unknown_requests", "cached_tokens")
    rows = {row["prompt_version"]: [row[key] for key in keys] for row in cache}
    return {"totals": [overview[key] for key in keys], "rows": rows, "listed": len(answers["/api/requests"]["rows"])}


async def answers_of(*arguments: str) -> tuple[Fields, dict[str, float]]:
    """All admin answers after the same traffic over four connections, and all samples."""
    engine = SimulatedEngine(EngineOptions(speed=1e6, model="m", cache_report=True))
    async with engine, serve("--engine", engine.url, *arguments) as served, connections(4) as clients:
        await ready(clients[0], served, 1)
        for number in range(12):
            # each prompt is sent twice over one connection, so that one process or two find the same in the cache
            body = chat(f"{number // 2} " + "words of a prompt " * 60, max_tokens=3, stream=number % 4 > 1)
            headers = {"x-prefixgate-prompt-version": "v1"} if number < 8 else {}
            async with clients[number // 2 % 4].post(served.url + CHAT, json=body, headers=headers) as response:
                assert response.status == 200
                await response.read()
        async with clients[1].post(served.url + CHAT, data=b"{", headers={"content-type": "application/json"}) as bad:
            assert bad.status == 400
        answers = {path: await got(clients[at % 4], served.url + path) for at, path in enumerate(_ADMIN)}
        samples = await metrics(clients[3], served)
    return answers, {name.replace(str(engine.port), "PORT"): value for name, value in samples.items()}


async def test_two_answer_like_one() -> None:
    """Every admin route has the same shape, every counter is what clients saw, whichever connection asks."""
    (one, counted), (two, counted_too) = await answers_of(), await answers_of(*_TWO)
    assert shape(two) == shape(one)
    assert facts(two) == facts(one)
    assert facts(two)["totals"][:1] == [13]
    assert names(counted_too) - names(counted) == {'prefixgate_process_restarts_total{process="2"}'}
    assert not names(counted) - names(counted_too)
    exact = [name for name in names(counted) if _EXACT.match(name) and "expected" not in name]
    assert {name: counted_too[name] for name in exact} == {name: counted[name] for name in exact}
    assert lost(counted_too) == lost(counted) > 0


def names(samples: dict[str, float]) -> set[str]:
    """Of all samples but those that differ from start to start. Why tokens were not cached, each process
    knows by itself."""
    return {name for name in samples if not name.startswith("target_info") and "uncached" not in name}


def lost(samples: dict[str, float]) -> float:
    """Uncached tokens, whatever for."""
    return sum(value for name, value in samples.items() if name.startswith("prefixgate_uncached_tokens_total"))


async def test_operators_are_told_when_it_is_done() -> None:
    """A worker added, drained, removed over any connection is so in every process before the answer; the guard judges
    the client, not the process that asks for it."""
    async with serve(*_TWO) as served, connections(4) as clients:
        engines = [FakeEngine(whole(b'{"id": "x"}')) for _ in range(2)]
        async with engines[0], engines[1]:
            for http, engine in zip(clients, engines, strict=False):
                async with http.post(served.url + "/workers", json={"url": engine.url}) as response:
                    assert response.status == 202
                async with http.post(served.url + "/workers", json={"url": engine.url}) as response:
                    assert (response.status, (await response.json())["error"]["code"]) == (409, "worker_exists")
            await ready(clients[0], served, 2)
            name = f"127.0.0.1:{engines[0].port}"
            async with clients[2].post(served.url + f"/workers/{name}/drain", json={}) as response:
                assert (await response.json())["state"] == "draining"
            for http in clients * 3:
                async with http.post(served.url + CHAT, json=chat()) as response:
                    assert response.status == 200
            assert not [each for each in engines[0].received if CHAT.encode() in each.head]
            async with clients[3].delete(served.url + f"/workers/{name}") as response:
                assert response.status == 200
            for http in clients:
                assert [row["id"] for row in (await got(http, served.url + "/workers"))["workers"]] == [
                    f"127.0.0.1:{engines[1].port}"
                ]
                for headers in ({"x-forwarded-for": "10.0.0.1"}, {"host": "evil.example"}, {"origin": "http://evil"}):
                    async with http.get(served.url + "/workers", headers=headers) as response:
                        assert response.status == 403
                async with http.get(served.url + "/api/events") as response:
                    assert await response.content.readline() == b"event: tick\n"


async def test_a_killed_process_takes_nothing_back() -> None:
    """SIGKILL in the middle of load: its streams break as with any fault, the others go on; counters never fall, and
    it is started anew and serves."""
    engine = SimulatedEngine(EngineOptions(speed=1, model="m"))
    async with engine, serve("--engine", engine.url, *_TWO) as served, connections(4) as clients:
        await ready(clients[0], served, 1)
        for http in clients:
            async with http.post(served.url + CHAT, json=chat(max_tokens=1)) as response:
                assert response.status == 200
        before = await metrics(clients[0], served)
        streams = [await http.post(served.url + CHAT, json=chat(max_tokens=60, stream=True)) for http in clients]
        for stream in streams:
            await stream.content.readany()
        victim = children(served)[0]
        os.kill(victim, signal.SIGKILL)
        ends = await asyncio.gather(*(stream.read() for stream in streams), return_exceptions=True)
        broken = [end for end in ends if isinstance(end, aiohttp.ClientError)]
        whole_ones = [end for end in ends if isinstance(end, bytes) and end.endswith(b"data: [DONE]\n\n")]
        assert (len(broken), len(whole_ones)) == (2, 2)
        await served.log("ended: signal SIGKILL")
        async with asyncio.timeout(SOON_S):
            while len(children(served)) < N or victim in children(served):
                await asyncio.sleep(0.05)
        async with connections(6) as others:
            for http in others:
                async with http.post(served.url + CHAT, json=chat(max_tokens=1)) as response:
                    assert response.status == 200
            after = await metrics(others[0], served)
        falling = [name for name, value in before.items() if "_total" in name and after.get(name, 0) < value]
        assert not falling
        requests = {name: value for name, value in after.items() if name.startswith("prefixgate_requests_total")}
        assert sum(after[f'prefixgate_process_restarts_total{{process="{n}"}}'] for n in (1, 2)) == 1
        assert sum(requests.values()) == 4 + 2 + 6  # what the killed one had open has no record


@pytest.mark.parametrize("over", ["pipes", "redis"])
async def test_what_one_process_learns_the_others_know(tmp_path: Path, over: str) -> None:
    """A prompt that one placed is found by the other; a customer's limit is one, over all connections."""
    engines = [SimulatedEngine(EngineOptions(speed=1e6, model="m")) for _ in range(2)]
    config = tmp_path / "gateway.yaml"
    async with engines[0], engines[1], AsyncExitStack() as stack:
        lines = [f"engines: [{engines[0].url}, {engines[1].url}]", _LIMITED]
        if over == "redis":
            redis = RedisServer(tmp_path)
            await redis.start()
            stack.push_async_callback(redis.kill)
            lines.append(f"redis: {{url: {redis.url}}}")
        config.write_text("\n".join(lines), encoding="utf-8")
        async with serve("--config", str(config), *_TWO) as served, connections(4) as clients:
            await ready(clients[0], served, 2)
            if over == "redis":
                await asyncio.sleep(1.0)  # until all have met there
            for number in range(6):
                body = chat(f"{number} " + "words of a prompt " * 300, max_tokens=1)
                found, named = [], {"x-prefixgate-customer": f"customer-{number}"}
                for http in clients:
                    async with http.post(served.url + CHAT, json=body, headers=named) as response:
                        expected = int(response.headers["x-prefixgate-expected-cached-tokens"])
                        found.append((response.headers["x-prefixgate-worker"], expected > 500))
                    await asyncio.sleep(0.15)
                assert found == [(found[0][0], nth > 0) for nth in range(4)]
            named, codes = {"x-prefixgate-customer": "ann"}, []
            for http in clients * 3:
                async with http.post(served.url + CHAT, json=chat(max_tokens=1), headers=named) as response:
                    codes.append(response.status)
                await asyncio.sleep(0.15)
            assert codes == [200] * 4 + [429] * 8
            metric = await metrics(clients[0], served)
            assert sum(value for name, value in metric.items() if name.startswith("prefixgate_prefix_tree")) == 60


async def test_children_end_with_their_parent() -> None:
    """A parent that is killed leaves nobody behind."""
    async with serve(*_TWO) as served:
        left = children(served)
        assert len(left) == N
        served.process.kill()
        async with asyncio.timeout(SOON_S):
            while any(map(runs, left)):
                await asyncio.sleep(0.02)


def _in_two(*arguments: str) -> Any:
    return serve(*arguments, *_TWO)


@pytest.mark.parametrize(
    "promise",
    [
        test_serve.test_it_says_what_it_found_and_sigterm_drains,
        test_serve.test_open_dashboards_do_not_delay_the_end,
        test_serve.test_what_is_in_the_log,
    ],
)
async def test_what_one_promises_two_keep(
    promise: Callable[[], Coroutine[Any, Any, None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start, drain and log of a single process, word for word."""
    monkeypatch.setattr(test_serve, "serve", _in_two)
    await promise()


async def test_reloads_reach_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGHUP as with one process; and draining has an end."""
    monkeypatch.setattr(test_serve, "serve", _in_two)
    await test_serve.test_sighup_reloads(tmp_path)
    await test_serve.test_draining_has_an_end(tmp_path)
