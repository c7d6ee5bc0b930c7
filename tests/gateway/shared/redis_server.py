"""A real redis-server (Debian's) on a free port, for one test; and gateways that share over it."""

import asyncio
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from gateway.shared.settings import RedisConfig
from tests.gateway.running import AnEngine, Running, running, until


class RedisServer:
    """A server that can be killed and started again under its address. url: where it is."""

    def __init__(self, folder: Path, *options: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self._options = options
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Until it answers."""
        binary = shutil.which("redis-server")
        assert binary is not None, "apt-get install redis-server"
        arguments = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder), "--save", "")
        nowhere = asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(binary, *arguments, *self._options, stdout=nowhere)
        async with asyncio.timeout(10):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except ConnectionError:
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    await writer.wait_closed()
                    return

    async def kill(self) -> None:
        """As a crash does."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None

    async def command(self, *words: Any, password: str | None = None) -> Any:
        """What it answers to a command."""
        async with Redis.from_url(self.url, password=password, protocol=2) as client:
            return await client.execute_command(*words)


@asynccontextmanager
async def redis_server(*options: str) -> AsyncIterator[RedisServer]:
    """A server that runs while this is entered."""
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder), *options)
        await server.start()
        try:
            yield server
        finally:
            await server.kill()


@asynccontextmanager
async def fleet(server: RedisServer, count: int, *engines: AnEngine, **settings: Any) -> AsyncIterator[list[Running]]:
    """Gateways in front of these engines that have met each other."""
    async with AsyncExitStack() as stack:
        options = {"redis": redis_at(server.url)} | settings
        gateways = [await stack.enter_async_context(running(*engines, **options)) for _ in range(count)]
        await until(lambda: all(met(gateway, count - 1) for gateway in gateways))
        yield gateways


def redis_at(url: str, **more: Any) -> Any:
    """The settings."""
    return RedisConfig(url, **more)


def met(gateway: Running, others: int) -> bool:
    """Whether it has heard of so many others and is connected."""
    shared = gateway.app.shared()
    return shared["state"] == "connected" and sum(r["name"] is not None for r in shared["replicas"]) >= others
