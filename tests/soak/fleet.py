"""The processes of a soak: failing engines and a gateway, and what the operating system says of the gateway."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

_READY_WITHIN_S = 30.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Soaked:
    """The gateway under load. url: without a slash at the end."""

    url: str
    pid: int

    def resident_bytes(self) -> int:
        """Resident memory of the gateway's process."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def cpu_s(self) -> float:
        """CPU seconds, user and system, since its start."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def descriptors(self) -> int:
        """Open file descriptors."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    async def slots(self) -> int:
        """Requests the gateway believes to be somewhere at a worker."""
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/workers") as response:
            return sum(int(worker["in_flight"]) for worker in (await response.json())["workers"])

    async def engines_up(self) -> int:
        """Workers that take requests."""
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/ready") as response:
            return int((await response.json())["engines_up"])


@asynccontextmanager
async def soaked(engines: int) -> AsyncIterator[Soaked]:
    """A gateway with default features in front of so many failing engines, all ready; killed at the end."""
    async with asyncio.timeout(_READY_WITHIN_S):
        started = [await _start("tests.soak.faults", *_ENGINE) for _ in range(engines)]
    processes = [process for process, _ in started]
    try:
        flags = [word for _, line in started for word in ("--engine", line.rpartition(" ")[2])]
        process, line = await _start("gateway", "serve", "--port", "0", *flags)
        processes.append(process)
        gateway = Soaked(line.split()[3], process.pid)
        async with asyncio.timeout(_READY_WITHIN_S):
            while await gateway.engines_up() < engines:
                await asyncio.sleep(0.05)
        yield gateway
    finally:
        for process in processes:
            process.kill()
            await process.wait()


_ENGINE = (
    *("--port", "0", "--model", "m", "--kv-capacity", "20000", "--max-running", "512"),
    *("--speed", "50", "--stream-interval", "4"),
)


async def _start(module: str, *arguments: str) -> tuple[Process, str]:
    command = (sys.executable, "-m", module, *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode().strip()
    assert line, f"{module} ended before it listened"
    return process, line
