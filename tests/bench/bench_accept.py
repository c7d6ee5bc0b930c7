"""How evenly kept connections are spread over processes: by the kernel's hash, by who wakes first, or handed out.

Run in the repository: `.venv/bin/python -m tests.bench.bench_accept [--processes 4]`. For each way of accepting, so
many connections are opened one after the other and all at once, to idle processes, and kept; the table shows the
largest share that one process has of what would be its fair one (1.00: even), the median of several starts, and the
worst of them.
"""

import argparse
import asyncio
import multiprocessing
import os
import socket
import statistics
from multiprocessing.connection import Connection

import uvloop

from gateway.processes.doorway import Doorway
from gateway.processes.ends import Ends
from gateway.serve import bind
from tests.bench.bench_telemetry import cpu

_WAYS = ("SO_REUSEPORT", "one inherited socket", "handed out")
_NUMBERS = (4, 8, 16, 64)
_STARTS = 9
_SETTLE_S = 0.1


class _Kept(asyncio.Protocol):
    """A connection that stays."""

    def __init__(self, counts: list[int]) -> None:
        self._counts = counts

    def connection_made(self, _: asyncio.BaseTransport) -> None:
        self._counts[0] += 1


class _Taker:
    """The parent's end of a child that connections are handed to."""

    def __init__(self, end: socket.socket) -> None:
        self.open = 0
        self._ends = Ends(end, lambda _: None, lambda: None)

    def give(self, connection: socket.socket) -> bool:
        """As gateway.processes.member does."""
        self._ends.give(connection)
        self.open += 1
        return True


async def _count(pipe: Connection, port: int, way: str, shared: socket.socket, end: socket.socket) -> None:
    """A child: accepts until it is asked, and says how many it has."""
    counts = [0]
    loop = asyncio.get_running_loop()
    if way == "handed out":

        def take(connection: socket.socket) -> None:
            kept.append(connection)
            counts[0] += 1

        kept: list[socket.socket] = []
        Ends(end, take, lambda: None)
    else:
        listener = shared
        if way == "SO_REUSEPORT":
            listener = socket.create_server(("127.0.0.1", port), reuse_port=True, backlog=2048)
        await loop.create_server(lambda: _Kept(counts), sock=listener)
    pipe.send(None)
    asked = asyncio.Event()
    loop.add_reader(pipe.fileno(), asked.set)
    await asked.wait()
    pipe.send(counts[0])


def _child(pipe: Connection, port: int, way: str, shared: socket.socket, end: socket.socket) -> None:
    uvloop.run(_count(pipe, port, way, shared, end))


async def _start(way: str, processes: int, number: int, *, at_once: bool) -> float:
    """The largest share, of the fair one, after one start of all processes."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reserved.bind(("127.0.0.1", 0))
    shared = bind("127.0.0.1", 0) if way != "SO_REUSEPORT" else reserved
    port = shared.getsockname()[1]
    fork = multiprocessing.get_context("fork")
    pipes, takers, children = [], [], []
    for _ in range(processes):
        ours, theirs = fork.Pipe()
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        child = fork.Process(target=_child, args=(theirs, port, way, shared, right))
        child.start()
        pipes.append(ours)
        children.append(child)
        takers.append(_Taker(left))
    for pipe in pipes:
        await asyncio.to_thread(pipe.recv)
    if way == "handed out":
        Doorway(shared, lambda: takers).open()
    clients = await _open(port, number, at_once=at_once)
    await asyncio.sleep(_SETTLE_S)
    counts = []
    for pipe, child in zip(pipes, children, strict=True):
        pipe.send(None)
        counts.append(await asyncio.to_thread(pipe.recv))
        child.join()
    for client in (*clients, shared, reserved):
        client.close()
    assert sum(counts) == number, counts
    return max(counts) * processes / number


async def _open(port: int, number: int, *, at_once: bool) -> list[socket.socket]:
    loop = asyncio.get_running_loop()
    clients = [socket.socket() for _ in range(number)]
    for client in clients:
        client.setblocking(False)
    if at_once:
        await asyncio.gather(*(loop.sock_connect(client, ("127.0.0.1", port)) for client in clients))
        return clients
    for client in clients:
        await loop.sock_connect(client, ("127.0.0.1", port))
        await asyncio.sleep(0.002)
    return clients


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_accept", description=__doc__)
    parser.add_argument("--processes", type=int, default=4)
    processes = parser.parse_args().processes
    print(f"$ python -m tests.bench.bench_accept --processes {processes}")
    print(f"on {cpu()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    print("| way | opened | " + " | ".join(f"{number} connections" for number in _NUMBERS) + " |")
    for way in _WAYS:
        for at_once in (False, True):
            cells = []
            for number in _NUMBERS:
                shares = [asyncio.run(_start(way, processes, number, at_once=at_once)) for _ in range(_STARTS)]
                cells.append(f"{statistics.median(shares):.2f} ({max(shares):.2f})")
            print(f"| {way} | {'at once' if at_once else 'one by one'} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
