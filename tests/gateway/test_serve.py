"""gateway.serve: `prefixgate serve` as a process of its own, from its first line to its exit code."""

import asyncio
import re
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.serve import bind
from prefix.errors import ConfigError
from tests.gateway.fake_engine import EVENTS_HEAD, FakeEngine, chunk, raw, whole
from tests.gateway.running import CHAT, SOON_S, chat, error_of, exchange, request_bytes

LISTENS = re.compile(r"prefixgate listens on https?://127\.0\.0\.1:(\d+)  \(policy (\S+), level (\S+)\)")
DASHBOARD = re.compile(r"dashboard (https?://127\.0\.0\.1:\d+/dashboard)(  \(asks for the admin token\))?")


class Served:
    """A running `prefixgate serve`."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.port = 0
        self.dashboard = ""

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def line(self) -> str:
        """The next line it prints."""
        assert self.process.stdout is not None
        async with asyncio.timeout(SOON_S):
            return (await self.process.stdout.readline()).decode().rstrip()

    async def log(self, text: str) -> str:
        """The next line of its log that holds this text."""
        assert self.process.stderr is not None
        async with asyncio.timeout(SOON_S):
            while line := (await self.process.stderr.readline()).decode():
                if text in line:
                    return line
        raise AssertionError(f"the log ended without {text!r}")

    async def rest_of_log(self) -> str:
        """Everything up to its end."""
        assert self.process.stderr is not None
        async with asyncio.timeout(SOON_S):
            return (await self.process.stderr.read()).decode()

    async def ended(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(SOON_S):
            return await self.process.wait()


@asynccontextmanager
async def serve(*arguments: str) -> AsyncIterator[Served]:
    """`prefixgate serve` on a free port, killed at the end if it still runs."""
    command = (sys.executable, "-m", "gateway", "serve", "--port", "0", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    served = Served(process)
    try:
        match = LISTENS.fullmatch(await served.line())
        assert match is not None
        served.port = int(match[1])
        dashboard = DASHBOARD.fullmatch(await served.line())
        assert dashboard is not None
        served.dashboard = dashboard[1]
        yield served
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ready(http: aiohttp.ClientSession, served: Served, engines: int) -> None:
    """Until so many engines are up."""
    async with asyncio.timeout(SOON_S):
        while True:
            async with http.get(served.url + "/ready") as response:
                if (await response.json())["engines_up"] == engines:
                    return
            await asyncio.sleep(0.02)


async def test_it_says_what_it_found_and_sigterm_drains() -> None:
    """Engines up and down are listed; after SIGTERM a stream finishes, new connections are refused; exit 0."""
    engine, gone = SimulatedEngine(EngineOptions(speed=10, model="m", cache_report=False)), FakeEngine()
    async with gone:
        pass
    async with engine, serve("--engine", engine.url, "--engine", gone.url) as served, aiohttp.ClientSession() as http:
        lines = sorted([await served.line(), await served.line()], key=lambda line: "down" in line)
        assert re.fullmatch(
            rf"  127\.0\.0\.1:{engine.port}  up  sglang 0\.5\.23  m  KV 300,000 tokens  page 16", lines[0]
        )
        assert lines[1].startswith(f"  127.0.0.1:{gone.port}  down: ")
        assert "WARNING" in await served.log("--enable-cache-report")
        async with http.post(served.url + CHAT, json=chat(max_tokens=400, stream=True)) as response:
            await response.content.readany()
            served.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(SOON_S):
                while await accepts(served.port):
                    await asyncio.sleep(0.02)
            assert (await response.read()).endswith(b"data: [DONE]\n\n")
        assert await served.ended() == 0
        assert engine.totals.aborted == 0


async def accepts(port: int) -> bool:
    """Whether somebody listens there."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except (ConnectionRefusedError, ConnectionResetError):
        return False
    writer.close()
    await writer.wait_closed()
    return True


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_it_starts_and_ends_without_an_engine(signum: signal.Signals) -> None:
    """Ready says 503, requests are refused; a signal ends it at once with 0."""
    async with serve("--policy", "least-load") as served, aiohttp.ClientSession() as http:
        assert "POST /workers" in await served.line()
        async with http.get(served.dashboard) as response:
            assert (response.status, response.content_type) == (200, "text/html")
        async with http.get(served.url + "/ready") as response:
            assert response.status == 503
        async with http.post(served.url + CHAT, json=chat()) as response:
            assert (response.status, response.headers["retry-after"]) == (503, "5")
        served.process.send_signal(signum)
        assert await served.ended() == 0
        assert "Traceback" not in await served.rest_of_log()


async def test_draining_has_an_end(tmp_path: Path) -> None:
    """After drain_timeout_s the rest is cut: who has nothing yet is told why, a stream has no clean end; exit 0."""
    async with FakeEngine(raw()) as engine:
        config = tmp_path / "gateway.yaml"
        config.write_text(
            f"engines: [{engine.url}]\ndrain_timeout_s: 0.4  # whole seconds, rounded up\n", encoding="utf-8"
        )
        async with serve("--config", str(config)) as served, aiohttp.ClientSession() as http:
            await ready(http, served, 1)
            body = b'{"model":"m","messages":[{"role":"user","content":"x"}]}'
            waiting = asyncio.ensure_future(exchange(served.port, request_bytes(CHAT, body)))
            async with asyncio.timeout(SOON_S):
                while not engine.received:
                    await asyncio.sleep(0.01)
            served.process.send_signal(signal.SIGTERM)
            answer = await waiting
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert error_of(answer.partition(b"\r\n\r\n")[2])["code"] == "shutting_down"
            assert await served.ended() == 0
            assert "Traceback" not in await served.rest_of_log()
        await engine.received[0].connection.closed.wait()


async def test_sighup_reloads(tmp_path: Path) -> None:
    """A new engine and route are there afterwards; a broken file, or one that lacks a secret, changes nothing."""
    async with FakeEngine(whole(b"{}")) as one, FakeEngine(whole(b"{}")) as two:
        config = tmp_path / "gateway.yaml"
        config.write_text(f"engines: [{one.url}]\n", encoding="utf-8")
        async with serve("--config", str(config)) as served, aiohttp.ClientSession() as http:
            await ready(http, served, 1)
            config.write_text("polcy: x\n", encoding="utf-8")
            served.process.send_signal(signal.SIGHUP)
            assert "did you mean 'policy'?" in await served.log("reload refused")
            config.write_text("isolate_cache: true\n", encoding="utf-8")
            served.process.send_signal(signal.SIGHUP)
            assert "isolate_cache needs a secret" in await served.log("reload refused")
            config.write_text(f"engines: [{one.url}, {two.url}]\nmax_body_bytes: 1024\n", encoding="utf-8")
            served.process.send_signal(signal.SIGHUP)
            await served.log("configuration reloaded")
            await ready(http, served, 2)
            async with http.post(served.url + CHAT, json=chat("x" * 2000)) as response:
                assert response.status == 413
            async with http.post(served.url + CHAT, json=chat()) as response:
                assert response.status == 200


async def test_what_is_in_the_log() -> None:
    """Engines that come and go; no traceback for a stream that an engine broke, no word of a prompt."""
    half = raw(EVENTS_HEAD, chunk(b"data: {}\n\n"), then="reset")
    async with FakeEngine(half) as engine, serve("--engine", engine.url) as served, aiohttp.ClientSession() as http:
        await ready(http, served, 1)
        with pytest.raises(aiohttp.ClientPayloadError):
            async with http.post(served.url + CHAT, json=chat("a secret", stream=True)) as response:
                await response.read()
        served.process.send_signal(signal.SIGTERM)
        assert await served.ended() == 0
        log = await served.rest_of_log()
        assert f"worker 127.0.0.1:{engine.port}: unknown -> up" in log
        assert "Traceback" not in log
        assert "secret" not in log
        assert "without completing" not in log


async def test_the_admin_token_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is asked for from then on, from this machine too."""
    monkeypatch.setenv("PREFIXGATE_ADMIN_TOKEN", "s3cret")
    async with serve() as served, aiohttp.ClientSession() as http:
        for given, status in (({}, 403), ({"authorization": "Bearer s3cret"}, 200)):
            async with http.get(served.url + "/workers", headers=given) as response:
                assert response.status == status


def test_binding() -> None:
    """A free port on IPv4 or IPv6; the same one twice is an error that names it."""
    for host in ("127.0.0.1", "::1"):
        with bind(host, 0) as listener:
            port = listener.getsockname()[1]
            with pytest.raises(ConfigError, match=rf"cannot listen on {host}:{port}: Address already in use"):
                bind(host, port)
            assert listener.family == (socket.AF_INET6 if ":" in host else socket.AF_INET)


async def test_open_dashboards_do_not_delay_the_end() -> None:
    """SIGTERM ends their streams: of one that reads, cleanly, and of one that never does; drain_timeout_s is 30 s."""
    async with serve() as served, aiohttp.ClientSession() as http:
        _, silent = await asyncio.open_connection("127.0.0.1", served.port)
        silent.write(b"GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        async with http.get(f"{served.url}/api/events") as listening:
            assert await listening.content.readline() == b"event: tick\n"
            served.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(SOON_S):
                await listening.content.read()
        assert await served.ended() == 0
        silent.close()
        assert "Traceback" not in await served.rest_of_log()
