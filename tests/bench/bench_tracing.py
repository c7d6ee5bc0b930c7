"""What telemetry costs a request: CPU of the whole gateway without it, with the defaults, with every request traced.

    .venv/bin/python -m tests.bench.bench_tracing [--rounds 12] [--requests 200] [--port 23100]

Four gateways (`off`: nothing counted, shown or explained; `counted`: nothing explained; `default`; `traced`: the
defaults, and every request's spans to a collector by OTLP/HTTP) stand before one simulated engine, each in a process
of its own. They get such requests by turns, in short rounds, and the kernel's count of each process's CPU time (all
threads) is read around each turn, so that a busy machine slows all alike. The table has the quietest quarter of the
rounds (the first quartile), their ratio to `off`, and in brackets the median of all rounds' ratios.

chat2k and chat32k: a shared beginning of three quarters, a new question; sse64: chat2k streamed, 64 tokens.
"""

import argparse
import asyncio
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import aiohttp
import msgspec

from gateway import serve
from gateway.config import Config
from gateway.exchange import Exchange
from gateway.incoming import Scope
from gateway.journal import Journal
from gateway.misses import Miss, Misses
from gateway.otlp_settings import TracingConfig
from prefix.record import RequestRecord
from telemetry.knowledge import Explained

MODES = ("off", "counted", "default", "traced")
SCENARIOS = {"chat2k": (2 << 10, 0), "chat32k": (32 << 10, 0), "sse64": (2 << 10, 64)}
CONCURRENCY = 8
_WORDS = "the of and to in is that for it with as on be at by this have from or one had not but what all".split()


class _WritesNothing(Journal):
    """Makes the record, as an access log needs it, and nothing of it."""

    def dispatched(self, *_: object) -> None:
        pass

    def ended(self, exchange: Exchange, scope: Scope, wall: float, now: float) -> None:
        exchange.record(wall, now)


class _ExplainsNothing(Misses):
    def at_dispatch(self, *_: object) -> None:
        return None

    def finished(self, *_: object, **__: object) -> Explained[Any]:
        return Explained({})

    def remember(self, record: RequestRecord, *_: object) -> Miss:
        return Miss(record, None)


def gateway(mode: str, port: int, engine: str, collector: str) -> None:
    """Serve until killed."""
    tracing = TracingConfig(endpoint=collector) if mode == "traced" else TracingConfig()
    config = Config(port=port, engines=(engine,), tracing=tracing, poll_interval_s=60)  # no looks at the engine
    left_out: dict[str, dict[str, Any]] = {
        "off": {"Journal": _WritesNothing},
        "counted": {"Misses": _ExplainsNothing},
    }
    with mock.patch.multiple("gateway.app", **left_out.get(mode, {"Misses": Misses})):
        serve.run(config, lambda: config)


class _Takes(asyncio.Protocol):
    """A collector that reads and forgets."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._seen = b""

    def data_received(self, data: bytes) -> None:
        self._seen += data
        head, end, body = self._seen.partition(b"\r\n\r\n")
        if end:
            size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            if len(body) >= size:
                self._seen = b""
                self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


async def collector(port: int) -> None:
    """Take spans until killed."""
    server = await asyncio.get_running_loop().create_server(_Takes, "127.0.0.1", port)
    await server.serve_forever()


def words(size: int, seed: object) -> str:
    """Text of this many bytes."""
    rng = random.Random(str(seed))
    return " ".join(rng.choice(_WORDS) for _ in range(size // 2))[:size]


def bodies(size: int, stream: int, start: int, count: int) -> list[bytes]:
    """So many new questions behind one of ten known beginnings."""
    return [
        msgspec.json.encode(
            {
                "model": "simulated",
                "stream": bool(stream),
                "max_tokens": stream or 16,
                "messages": [
                    {"role": "system", "content": words(size * 3 // 4, n % 10)},
                    {"role": "user", "content": words(size // 4, (start, n))},
                ],
            }
        )
        for n in range(start, start + count)
    ]


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, all threads: /proc/PID/task/*/schedstat counts nanoseconds."""
    stats = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in stats) / 1e9


async def send(session: aiohttp.ClientSession, url: str, left: Iterator[bytes]) -> None:
    """Ask one after another until none is left."""
    for body in left:
        headers = {"content-type": "application/json"}
        async with session.post(f"{url}/v1/chat/completions", data=body, headers=headers) as response:
            await response.read()
            assert response.status == 200


async def turn(url: str, pid: int, asks: list[bytes], settle_s: float) -> float:
    """CPU microseconds per request of this gateway. settle_s: until what it does afterwards is done."""
    before = cpu_s(pid)
    async with aiohttp.ClientSession() as session:
        left = iter(asks)
        await asyncio.gather(*(send(session, url, left) for _ in range(CONCURRENCY)))
    await asyncio.sleep(settle_s)
    return (cpu_s(pid) - before) / len(asks) * 1e6


@contextmanager
def process(*arguments: str) -> Iterator[int]:
    """A Python process; its id."""
    child = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL)
    try:
        yield child.pid
        if child.poll() is not None:
            raise SystemExit(f"{' '.join(arguments)} ended by itself: {child.returncode}")
    finally:
        child.terminate()
        child.wait(20)


def listening(port: int) -> None:
    """Wait until somebody listens there."""
    last = time.monotonic() + 30
    while time.monotonic() < last:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nobody listens on port {port}")


async def measure(port: int, pids: dict[str, int], rounds: int, count: int, only: list[str]) -> None:
    """Measure and print the table."""
    urls = {mode: f"http://127.0.0.1:{port + n}" for n, mode in enumerate(MODES)}
    print(
        f"{'':8} "
        + " ".join(f"{mode:>9}" for mode in MODES)
        + "   beside off: counted, default, traced   (us of CPU per request)"
    )
    asked = 0
    for name in only:
        size, stream = SCENARIOS[name]
        found: dict[str, list[float]] = {mode: [] for mode in MODES}
        for number in range(rounds + 1):
            for mode in MODES[number % 4 :] + MODES[: number % 4]:
                asks = bodies(size, stream, asked, count)
                asked += count
                spent = await turn(urls[mode], pids[mode], asks, 1.3)
                if number:  # the first round warms up
                    found[mode].append(spent)
        quiet = {mode: statistics.quantiles(found[mode])[0] for mode in MODES}
        ratios = "   ".join(f"{quiet[mode] / quiet['off']:.3f} ({_typical(found, mode):.3f})" for mode in MODES[1:])
        print(f"{name:8} " + " ".join(f"{quiet[mode]:9.0f}" for mode in MODES) + f"   {ratios}", flush=True)


def _typical(found: dict[str, list[float]], mode: str) -> float:
    return statistics.median(a / b for a, b in zip(found[mode], found["off"], strict=True))


def main() -> None:
    """Start the parts and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--port", type=int, default=23100)
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="one scenario; repeat for more")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    port = given.port
    engine, sink = f"http://127.0.0.1:{port + 4}", f"http://127.0.0.1:{port + 5}"
    if given.part == "collector":
        asyncio.run(collector(port + 5))
    elif given.part is not None:
        gateway(given.part, port + MODES.index(given.part), engine, sink)
    else:
        run(port, given.rounds, given.requests, given.only or list(SCENARIOS))


def run(port: int, rounds: int, count: int, only: list[str]) -> None:
    """Everything in processes of its own, but the load."""
    me = ("tests.bench.bench_tracing", "--port", str(port), "--part")
    simulated = ("engine_adapter.simulated", "--port", str(port + 4), "--speed", "1000", "--kv-capacity", "4000000")
    with ExitStack() as parts:
        for arguments in (simulated, (*me, "collector")):
            parts.enter_context(process(*arguments))
        listening(port + 4)
        pids = {mode: parts.enter_context(process(*me, mode)) for mode in MODES}
        for n in range(len(MODES)):
            listening(port + n)
        time.sleep(3)
        asyncio.run(measure(port, pids, rounds, count, only))


if __name__ == "__main__":
    main()
