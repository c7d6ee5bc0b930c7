"""gateway.discovery.fleet: the workers are what the sources say, and what operators did stays."""

import json
from pathlib import Path
from typing import Any

from gateway.config import Config
from gateway.discovery.settings import DiscoveryConfig
from tests.gateway.discovery.fake_kubernetes import FakeKubernetes, pod
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, Running, chat, running, until

OK = whole(b"{}")
SOON = {"interval_s": 0.01}


def write(path: Path, *urls: str) -> None:
    """Replace the list of engines."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(urls))
    beside.rename(path)


def urls(gateway: Running) -> set[str]:
    """The workers there are."""
    return {worker.url for worker in gateway.workers}


async def test_engines_of_a_file_come_and_go(tmp_path: Path) -> None:
    """They are served from when they are up, and taken out when they leave the list; others stay."""
    path = tmp_path / "engines"
    async with FakeEngine(OK) as fixed, FakeEngine(OK) as one, FakeEngine(OK) as two, FakeEngine(OK) as added:
        write(path, one.url, fixed.url)
        discovery = DiscoveryConfig(files=(str(path),), **SOON)
        async with running(fixed, discovery=discovery, wait=False) as gateway:
            await gateway.ready(2)
            async with gateway.http.post("/workers", json={"url": added.url}) as response:
                assert response.status == 202
            write(path, two.url, added.url)
            await until(lambda: urls(gateway) == {fixed.url, two.url, added.url})
            await gateway.ready(3)
            write(path)
            await until(lambda: urls(gateway) == {fixed.url, added.url})
            assert (await gateway.ask(CHAT, chat()))[0] == 200


async def test_what_an_operator_removed_stays_away(tmp_path: Path) -> None:
    """Until its source lets it go and lists it anew."""
    path = tmp_path / "engines"
    async with FakeEngine(OK) as one, FakeEngine(OK) as two, FakeEngine(OK) as three:
        write(path, one.url, two.url)
        async with running(discovery=DiscoveryConfig(files=(str(path),), **SOON), wait=False) as gateway:
            await gateway.ready(2)
            name = one.url.removeprefix("http://")
            async with gateway.http.delete(f"/workers/{name}") as response:
                assert response.status == 200
            write(path, one.url, two.url, three.url)
            await until(lambda: urls(gateway) == {two.url, three.url})
            write(path, two.url)
            await until(lambda: urls(gateway) == {two.url})
            write(path, one.url, two.url)
            await until(lambda: urls(gateway) == {one.url, two.url})


async def test_pods_are_drained_and_undrained(tmp_path: Path) -> None:
    """Not ready: no new requests, until it is ready again; an operator's drain is not undone."""
    api = FakeKubernetes()
    async with FakeEngine(OK) as engine, api.running(tmp_path) as kubernetes:
        await api.put("s", pod("127.0.0.1", ready=True), port=engine.port)
        async with running(discovery=DiscoveryConfig(kubernetes=(kubernetes,)), wait=False) as gateway:
            await gateway.ready(1)
            (worker,) = gateway.workers
            await api.put("s", pod("127.0.0.1", ready=False, serving=True, terminating=True), port=engine.port)
            await until(lambda: worker.drained)
            assert (await gateway.ask(CHAT, chat()))[0] == 503
            await api.put("s", pod("127.0.0.1", ready=True), port=engine.port)
            await gateway.ready(1)
            async with gateway.http.post(f"/workers/{worker.id}/drain", json={}) as response:
                assert response.status == 200
            await api.put("s", pod("127.0.0.1", ready=False), port=engine.port)
            await api.put("s", pod("127.0.0.1", ready=True), pod("127.0.0.9", ready=False), port=engine.port)
            await until(lambda: len(gateway.workers) == 2)
            assert worker.drained
            await api.delete("s")
            await until(lambda: not gateway.workers)


async def test_a_reload_changes_the_sources(tmp_path: Path) -> None:
    """Sources that left take their engines with them, those that stay go on, new ones are followed."""
    old, new = tmp_path / "old", tmp_path / "new"
    async with FakeEngine(OK) as one, FakeEngine(OK) as two, FakeEngine(OK) as three:
        write(old, one.url, two.url)
        write(new, two.url, three.url)
        settings: dict[str, Any] = {"poll_interval_s": 0.05}
        async with running(discovery=DiscoveryConfig(files=(str(old),), **SOON), wait=False) as gateway:
            await gateway.ready(2)
            both = DiscoveryConfig(files=(str(old), str(new)), **SOON)
            gateway.app.reconfigure(Config(discovery=both, **settings))
            await gateway.ready(3)
            kept = next(worker for worker in gateway.workers if worker.url == two.url)
            gateway.app.reconfigure(Config(discovery=DiscoveryConfig(files=(str(new),), **SOON), **settings))
            await until(lambda: urls(gateway) == {two.url, three.url})
            assert kept in gateway.workers
            gateway.app.reconfigure(Config(**settings))
            await until(lambda: not gateway.workers)
