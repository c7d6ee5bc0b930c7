"""Throughput and CPU of `prefixgate serve --processes N` against one process, by turns on one machine.

Run in the repository: `.venv/bin/python -m tests.bench.bench_processes [--processes 2] [--seconds 3] [--turns 3]`.
A closed loop of kept connections, each with one request of 2 KB open, in front of an engine that answers at once.
Load and engine are processes of their own and need CPU too: on few cores they, not the gateway, are the limit, so the
CPU per request, which the number of cores does not change, is printed beside the throughput.
"""

import argparse
import asyncio
import os
import re
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import msgspec
import uvloop

from tests.bench.bench_telemetry import cpu
from tests.gateway.fake_engine import FakeEngine
from tests.gateway.test_serve import LISTENS

_CONNECTIONS = 32
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_USAGE = {"prompt_tokens": 520, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 512}}
_ANSWER = msgspec.json.encode({"id": "x", "choices": [{"message": {"content": "Hi"}}], "usage": _USAGE})
_SYSTEM = "Answer in one sentence and name the document. " * 43


class _Instant(asyncio.Protocol):
    """An engine's connection: what operators ask as FakeEngine says, everything else answered at once."""

    def __init__(self, pages: dict[str, tuple[int, bytes] | None]) -> None:
        self._pages = pages
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not its subclasses

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if not end or len(body) < (int(length[1]) if length else 0):
            return
        self._data = b""
        page = self._pages.get(head.split(b" ", 2)[1].decode())
        status, answer = page if page is not None else (200, _ANSWER)
        reply = b"HTTP/1.1 %d OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (
            status,
            len(answer),
        )
        self._transport.write(reply + answer)


async def _engine() -> None:
    pages = FakeEngine().pages
    server = await asyncio.get_running_loop().create_server(lambda: _Instant(pages), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _load(port: int, seconds: float) -> None:
    """Print how many requests were answered."""
    ends = time.monotonic() + seconds
    print(sum(await asyncio.gather(*(_client(port, number, ends) for number in range(_CONNECTIONS)))), flush=True)


async def _client(port: int, number: int, ends: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    done = 0
    while time.monotonic() < ends:
        messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": f"{number} {done}"}]
        body = msgspec.json.encode({"model": "m", "messages": messages})
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        length = re.search(rb"content-length: (\d+)", answer)
        assert length is not None
        await reader.readexactly(int(length[1]))
        done += 1
    writer.close()
    return done


@asynccontextmanager
async def _started(*arguments: str, lines: int = 1) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A Python process and its first line, when it has printed so many."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", *arguments, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        said = [(await process.stdout.readline()).decode().strip() for _ in range(lines)]
        yield process, said[0]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


def _busy_s(pid: int) -> tuple[float, float]:
    """CPU seconds of a gateway: its own, and of its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return _ticks(pid), sum(_ticks(int(child)) for child in children)


def _ticks(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


class _Side:
    """One of the two gateways, and what was measured of it."""

    def __init__(self, processes: int, pid: int, port: str) -> None:
        self.processes, self._pid, self._port = processes, pid, port
        self.rates: list[float] = []
        self.parents: list[float] = []
        self.children: list[float] = []

    async def measure(self, seconds: float) -> None:
        """One turn."""
        before = _busy_s(self._pid)
        async with _started("tests.bench.bench_processes", "--load", self._port, "--seconds", str(seconds)) as (
            _,
            line,
        ):
            done = int(line)
        after = _busy_s(self._pid)
        self.rates.append(done / seconds)
        self.parents.append((after[0] - before[0]) / done * 1e6)
        self.children.append((after[1] - before[1]) / done * 1e6)

    def row(self) -> str:
        """The medians."""
        rate, parent, children = map(statistics.median, (self.rates, self.parents, self.children))
        spread = f"{min(self.rates):,.0f} to {max(self.rates):,.0f}"
        total = parent + children
        return f"{self.processes:>9} {rate:>10,.0f} {spread:>18} {parent:>12.0f} {children:>14.0f} {total:>9.0f}"


async def _compare(processes: int, seconds: float, turns: int) -> None:
    async with _started("tests.bench.bench_processes", "--engine") as (_, engine):
        serve = ("gateway", "serve", "--port", "0", "--engine", f"http://127.0.0.1:{engine}", "--processes")
        async with _started(*serve, "1", lines=3) as one, _started(*serve, str(processes), lines=3) as several:
            sides = []
            for number, (process, line) in ((1, one), (processes, several)):
                match = LISTENS.match(line)
                assert match is not None, line
                sides.append(_Side(number, process.pid, match[1]))
            for side in sides:
                await side.measure(1.0)  # what is warm later
                side.rates.clear(), side.parents.clear(), side.children.clear()
            for _ in range(turns):
                for side in sides:
                    await side.measure(seconds)
    print("processes requests/s           (range) us parent/rq us children/rq us all/rq")
    for side in sides:
        print(side.row())


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_processes", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--engine", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--load", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.engine:
        uvloop.run(_engine())
    elif asked.load is not None:
        uvloop.run(_load(asked.load, asked.seconds))
    else:
        print(f"$ python -m tests.bench.bench_processes {' '.join(sys.argv[1:])}")
        print(
            f"on {cpu()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; {_CONNECTIONS} connections"
        )
        asyncio.run(_compare(asked.processes, asked.seconds, asked.turns))


if __name__ == "__main__":
    main()
