"""Gateway and simulated engine over real ZMQ: exact while events come, predicted while they do not."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.kv_settings import KvEventsConfig, PromptFiles
from tests.gateway.running import Running, running, until

PAGE, CAPACITY = 16, 2048
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


@pytest.fixture
def files(tmp_path: Path) -> PromptFiles:
    """Any tokenizer: these tests ask with token ids."""
    from tokenizers import Tokenizer, models

    Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).save(str(tmp_path / "tokenizer.json"))
    return PromptFiles(str(tmp_path))


@pytest.fixture
async def engine() -> AsyncIterator[SimulatedEngine]:
    """Publishes its events; its cache is small and it answers at once."""
    config = EngineConfig(page_tokens=PAGE, kv_capacity_tokens=CAPACITY)
    async with SimulatedEngine(EngineOptions(model="m", config=config, speed=100.0, kv_events=0)) as running_engine:
        yield running_engine


def prompt(number: int, pages: int = 6) -> list[int]:
    """Token ids; the first two pages are everybody's."""
    return [*range(2 * PAGE), *range(1000 * number, 1000 * number + (pages - 2) * PAGE), 7]


async def ask(gateway: Running, number: int) -> tuple[int | None, int | None]:
    """What was expected to be cached, and what was."""
    body = {"input_ids": prompt(number), "sampling_params": {"max_new_tokens": 2}}
    assert (await gateway.ask("/generate", body))[0] == 200
    await until(gateway.settled)
    record = gateway.records[-1]
    return record.expected_cached_tokens, record.cached_tokens


def section(gateway: Running) -> dict[str, Any]:
    """What /workers says of the only worker's events."""
    return gateway.app.kv_feeds.describe(gateway.workers[0])


async def exact(gateway: Running) -> None:
    """Until it is, with the engine's page size known."""
    await until(lambda: section(gateway)["state"] == "exact")


async def in_step(gateway: Running, engine: SimulatedEngine) -> None:
    """Until the gateway knows every page that the engine holds, and is exact."""
    held = gateway.app.kv_feeds.feed(gateway.workers[0].id)
    assert held is not None
    await until(lambda: len(held.stream.held) * PAGE == engine.scheduler.cache.cached_tokens)
    await exact(gateway)


async def learn(gateway: Running, engine: SimulatedEngine) -> None:
    """One request, so that events tell the page size."""
    await exact(gateway)
    await ask(gateway, 0)
    await in_step(gateway, engine)
    await until(lambda: next(iter(gateway.app.models)).page_tokens == PAGE)


async def test_evictions_flushes_and_restarts(engine: SimulatedEngine, files: PromptFiles) -> None:
    """To the token: a cache that evicts, one that is flushed, a process that is killed and comes back."""
    async with running(engine, kv_events=KvEventsConfig(enabled=True, models={"m": files})) as gateway:
        await learn(gateway, engine)
        for number in (*range(1, 36), *range(30, 38), 1, 2, 1):
            expected, cached = await ask(gateway, number)
            assert expected == cached
            await in_step(gateway, engine)
        assert engine.scheduler.cache.evicted_tokens
        await gateway.http.get("/metrics")
        async with engine_post(engine, "/flush_cache") as status:
            assert status == 200
        await in_step(gateway, engine)
        assert await ask(gateway, 1) == (0, 0)
        await in_step(gateway, engine)
        await engine.stop()
        await until(lambda: section(gateway)["state"] == "predicted")
        await engine.start()
        await gateway.ready(1)
        await in_step(gateway, engine)
        assert await ask(gateway, 1) == (0, 0)
        await in_step(gateway, engine)
        expected, cached = await ask(gateway, 1)
        assert expected == cached == 6 * PAGE
        metrics = await gateway.metrics()
        assert metrics[f'prefixgate_kv_events_exact{{worker="{gateway.workers[0].id}"}}'] == 1
        ranks = section(gateway)["ranks"][0]
        assert ranks["restarts"] == 1
        assert ranks["right_requests"] == ranks["compared_requests"] > 40


class engine_post:  # noqa: N801 - used like a function
    """A POST straight to the engine; its status."""

    def __init__(self, engine: SimulatedEngine, path: str) -> None:
        self._url = engine.url + path

    async def __aenter__(self) -> int:
        import aiohttp

        async with aiohttp.ClientSession() as session, session.post(self._url) as response:
            return response.status

    async def __aexit__(self, *_: object) -> None:
        return


async def test_lost_messages_and_a_cut_line(engine: SimulatedEngine, files: PromptFiles) -> None:
    """Dropped messages are replayed, also when nothing follows them; while the line is cut it is the prediction."""
    async with running(engine, kv_events=KvEventsConfig(enabled=True, models={"m": files})) as gateway:
        await learn(gateway, engine)
        (publisher,) = engine.publishers
        publisher.drop = 1
        await ask(gateway, 1)
        await in_step(gateway, engine)
        publisher.drop = 2
        await ask(gateway, 2)
        await ask(gateway, 3)
        await in_step(gateway, engine)
        assert section(gateway)["resyncs"] >= 1
        await publisher.close()
        await until(lambda: "no connection" in str(section(gateway)["reason"]))
        for number in range(4, 30):
            await ask(gateway, number)
        publisher.open()
        await in_step(gateway, engine)
        expected, cached = await ask(gateway, 29)
        assert expected == cached == 6 * PAGE


async def test_late_events_are_not_used(engine: SimulatedEngine, files: PromptFiles) -> None:
    """What is older than `max_lag_s` when it is read is worse than the prediction; the next one in time is used."""
    async with running(engine, kv_events=KvEventsConfig(enabled=True, models={"m": files})) as gateway:
        await learn(gateway, engine)
        feed = gateway.app.kv_feeds.feed(gateway.workers[0].id)
        assert feed is not None
        feed.stream.lag_s = 1.5
        feed.settle()
        assert section(gateway)["reason"] == "events are 1.5 s old"
        await ask(gateway, 1)
        await in_step(gateway, engine)


async def test_why_it_is_not_exact(
    engine: SimulatedEngine, files: PromptFiles, caplog: pytest.LogCaptureFixture
) -> None:
    """Switched off, without the model's files, with garbage on the line: the reason is told, and logged once."""
    async with running(engine) as gateway:
        assert "not switched on" in section(gateway)["reason"]
    async with running(engine, kv_events=KvEventsConfig(enabled=True)) as gateway:
        await until(lambda: "no tokenizer for m" in section(gateway)["reason"])
    async with running(engine, kv_events=KvEventsConfig(enabled=True, models={"m": files})) as gateway:
        await learn(gateway, engine)
        (publisher,) = engine.publishers
        with caplog.at_level(logging.WARNING, "prefixgate"):
            for number in range(20):
                publisher._next += 1
                frames = [b"kv-events", (publisher._next - 1).to_bytes(8, "big"), b"\x93garbage%d" % number]
                await publisher._pub.send_multipart(frames)
            await until(lambda: section(gateway)["ranks"][0]["corrupt"] >= 1)
            await until(lambda: section(gateway)["state"] == "predicted")
        assert len([r for r in caplog.records if "predicted, not exact" in r.message]) <= 1
        async with engine_post(engine, "/flush_cache") as status:
            assert status == 200
        await until(lambda: section(gateway)["ranks"][0]["clears"] >= 1)
