"""gateway.demo.fleet: children get ready, or say why not, and never stay behind."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.demo.fleet import fetch, running
from prefix.errors import EngineError

SERVER = """
import http.server, os, pathlib, signal, sys
port, pids, stubborn = int(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] == "stubborn"
with pids.open("a") as out: out.write(f"{os.getpid()}\\n")
if sys.argv[3] == "once" and len(pids.read_text().splitlines()) == 1: sys.exit("port taken")
if sys.argv[3] == "never": sys.exit("this cannot work")
if stubborn: signal.signal(signal.SIGTERM, signal.SIG_IGN)
http.server.HTTPServer(("127.0.0.1", port), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    return tmp_path / "pids"


def server(pids: Path, how: str = "well") -> Callable[[int], list[str]]:
    return lambda port: [sys.executable, "-c", SERVER, str(port), str(pids), how]


def alive(pids: Path) -> list[int]:
    return [pid for pid in map(int, pids.read_text().split()) if _exists(pid)]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_ready_then_gone(pids: Path, tmp_path: Path) -> None:
    """Inside the block the child answers at its URL; after it, the child has ended."""
    async with running("it", server(pids), "/", tmp_path) as url:
        assert "Directory listing" in await fetch(url)
        with pytest.raises(EngineError, match=r"/missing: 404"):
            await fetch(f"{url}/missing")
        assert len(alive(pids)) == 1
    assert alive(pids) == []


async def test_another_port_when_it_ends_early(pids: Path, tmp_path: Path) -> None:
    """A child that ends before it is ready (somebody took its port) is started once more."""
    async with running("it", server(pids, "once"), "/", tmp_path):
        assert len(pids.read_text().splitlines()) == 2
    assert alive(pids) == []


async def test_says_why_not(pids: Path, tmp_path: Path) -> None:
    """A child that never gets ready is a named error that quotes its last words."""
    with pytest.raises(EngineError, match=r"^it did not get ready: this cannot work"):
        async with running("it", server(pids, "never"), "/", tmp_path):
            pytest.fail("it got ready")
    assert alive(pids) == []


async def test_gone_after_an_error(pids: Path, tmp_path: Path) -> None:
    """An error inside the block ends the child too."""
    with pytest.raises(EngineError, match="mine"):
        async with running("it", server(pids), "/", tmp_path):
            raise EngineError("mine")
    assert alive(pids) == []


async def test_gone_after_cancellation(pids: Path, tmp_path: Path) -> None:
    """Ctrl-C cancels: the child ends whether or not it was ready."""

    async def stay() -> None:
        async with running("it", server(pids), "/missing", tmp_path):
            pytest.fail("it got ready")

    task = asyncio.ensure_future(stay())
    while not pids.exists() or not alive(pids):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(pids) == []


async def test_stubborn_child_is_killed(pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that ignores SIGTERM is killed."""
    monkeypatch.setattr("gateway.demo.fleet._STOP_WITHIN_S", 0.2)
    async with running("it", server(pids, "stubborn"), "/", tmp_path):
        assert len(alive(pids)) == 1
    assert alive(pids) == []
