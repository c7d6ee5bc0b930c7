"""A log of any length: memory does not grow with it, and what is found does not depend on how long it is."""

import gc
import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from lint.costing import Costing
from lint.sources.traffic import price, read
from lint.traffic import engine, seen
from lint.traffic.engine import Traffic
from tests.bench.lint_log import FAULTS, requests, route_of


class Repeated(io.RawIOBase):
    """A log of `count` requests, made as it is read. held: what was allocated at each eighth of it."""

    def __init__(self, bodies: list[dict[str, Any]], count: int) -> None:
        self._bodies, self._count = bodies, count
        self.held: list[int] = []
        self.seek(0)

    def readinto(self, buffer: Any) -> int:
        while len(self._ready) < len(buffer) and (line := next(self._lines, b"")):
            self._ready += line
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._lines, self._ready = self._made(), b""
        return offset

    def _made(self) -> Iterator[bytes]:
        for number in range(self._count):
            if number and number % (self._count // 8) == 0:
                gc.collect()
                self.held.append(tracemalloc.get_traced_memory()[0])
            body = self._bodies[number % len(self._bodies)]
            yield json.dumps({**body, "n": number, "messages": [*body["messages"], _said(number)]}).encode() + b"\n"


def _said(number: int) -> dict[str, str]:
    return {"role": "user", "content": f"{number} " + " ".join(str(number * k % 977) for k in range(60))}


@pytest.mark.slow
def test_memory_is_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between an eighth of the log and all of it, no more is held; neither when it is replayed."""
    monkeypatch.setattr(engine, "Seen", lambda: seen.Seen(memory=1 << 18))
    tracemalloc.start()
    log = Repeated(requests(200), 2400)
    file = io.BufferedReader(log)
    document = next(read("log.jsonl", file))
    assert isinstance(document, Traffic)
    price(document, file, Costing(kv_capacity=50_000))
    tracemalloc.stop()
    first, second = log.held[:7], log.held[7:]
    assert max(first) < first[1] * 1.15
    assert max(second) < second[1] * 1.15
    assert {loss.template for loss in document.losses}


def test_every_fault_of_the_benchmark() -> None:
    """Six routes have a fault, four are clean: each fault is a loss of its route's requests, and nothing else is."""
    bodies = requests(600)
    log = io.BytesIO(b"".join(json.dumps(body).encode() + b"\n" for body in bodies))
    document = next(read("log.jsonl", log))
    assert isinstance(document, Traffic)
    assert {route_of(loss.request) for loss in document.losses} == set(FAULTS)
    assert len(document.losses) == len(FAULTS)
