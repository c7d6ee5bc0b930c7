"""gateway.demo.command: the whole story; quickly against a fake gateway, and for real (slow)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner, Result

from gateway.demo.command import demo
from gateway.demo.fleet import EngineShape, Fleet
from gateway.demo.script import CUSTOMERS, ROUTES

QUICK = ["--requests", "12", "--seconds-per-pass", "0.2"]


class FakeGateway:
    """Answers each request with 100 prompt tokens, `cached` of them cached, and counts `counted` of these."""

    def __init__(self, policy: str, *, miscount: int = 0) -> None:
        self.cached = {"round-robin": 10, "least-load": 20, "expected-ttft": 60}[policy]
        self.counted = self.cached + miscount
        self.labels: list[str] = []

    async def chat(self, request: web.Request) -> web.Response:
        assert msgspec.json.decode(await request.read())["stream"]
        names = ("route", "customer", "prompt-version")
        pairs = [(name.replace("-", "_"), request.headers[f"x-prefixgate-{name}"]) for name in names]
        self.labels.append(",".join(f'{name}="{value}"' for name, value in pairs))
        usage = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": self.cached}}
        events = ({"choices": [{"delta": {"content": "hi"}}]}, {"choices": [], "usage": usage})
        return web.Response(text="".join(f"data: {json.dumps(event)}\n\n" for event in events))

    async def metrics(self, request: web.Request) -> web.Response:
        lines = []
        for name, each in (("input", 100), ("cached", self.counted)):
            lines.append(f"# TYPE prefixgate_{name}_tokens_total counter")
            for labels in sorted(set(self.labels)):
                count = self.labels.count(labels) * each
                lines.append(f"prefixgate_{name}_tokens_total{{{labels}}} {count}")
        return web.Response(text="\n".join(lines) + "\n")


def run_with_fake(monkeypatch: pytest.MonkeyPatch, *arguments: str, miscount: int = 0) -> Result:
    @asynccontextmanager
    async def running_fleet(
        engines: int, shape: EngineShape, *, policy: str, level: str, folder: Path
    ) -> AsyncIterator[Fleet]:
        fake, app = FakeGateway(policy, miscount=miscount), web.Application()
        app.router.add_post("/v1/chat/completions", fake.chat)
        app.router.add_get("/metrics", fake.metrics)
        async with TestServer(app) as server:
            yield Fleet(str(server.make_url("")).rstrip("/"), ("http://engine",) * engines)

    monkeypatch.setattr("gateway.demo.command.running_fleet", running_fleet)
    monkeypatch.setattr("gateway.demo.command.SETTLE_S", 0.0)
    return CliRunner().invoke(demo, [*QUICK, *arguments])


def test_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """Setting, progress of three passes, tables with the gateway's own hit rates; exit 0."""
    result = run_with_fake(monkeypatch)
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    for name, rate in (("round robin + off", "10.0%"), ("least load + safe", "20.0%"), ("prefixgate", "60.0%")):
        assert f"{name}: 100 %, 12 of 12 requests" in lines
        assert any(line.startswith(f"{name} {rate}") for line in lines)
    assert any(line.startswith("prefixgate vs round robin + off +50.0") for line in lines)


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --json stdout is one JSON document; what people read goes to stderr."""
    result = run_with_fake(monkeypatch, "--json", "--engines", "3", "--kv-capacity", "60000")
    report = json.loads(result.stdout)
    assert (report["engines"], report["kv_capacity_tokens"], report["requests"]) == (3, 60_000, 12)
    assert [one["hit_rate"] for one in report["passes"]] == [0.1, 0.2, 0.6]
    assert "KV cache" in result.stderr


def test_miscounting_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the gateway's counters disagree with the engines' reports, the demo says so and exits 1."""
    result = run_with_fake(monkeypatch, miscount=1)
    assert result.exit_code == 1
    assert "warning prefixgate: gateway and engines count differently" in result.output


@pytest.mark.parametrize("arguments", [["--engines", "0"], ["--requests", "x"], ["--kv-capacity", "1"], ["--nope"]])
def test_usage_errors(arguments: list[str]) -> None:
    """Options that cannot be are usage errors."""
    assert CliRunner().invoke(demo, arguments).exit_code == 2


# ---------------------------------------------------------------------- the real thing


def start(*arguments: str, **to: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gateway", "demo", *arguments]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **to)


def children(parent: int) -> list[int]:
    """Process ids of the living children of `parent` (proc(5): the fourth field of stat)."""
    return [pid for pid, its_parent in _processes() if its_parent == parent]


def _processes() -> Iterator[tuple[int, int]]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(stat.parent.name), int(fields[1])


@pytest.mark.slow
def test_real_demo(tmp_path: Path) -> None:
    """Real engines and gateway: every request answered, counted alike, and the better hit rate for prefixgate."""
    out = tmp_path / "demo.json"
    with out.open("w") as stdout:
        command = [sys.executable, "-m", "gateway", "demo", "--requests", "120", "--seconds-per-pass", "5", "--json"]
        ended = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=90)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(out.read_text())
    rates = [one["hit_rate"] for one in report["passes"]]
    bound = report["infinite_cache"]["hit_rate"]
    assert 0 < rates[0] < rates[2] <= bound
    for one in report["passes"]:
        assert (one["requests"], one["errors"]) == (120, 0)
        assert set(one["hit_rate_by"]["route"]) == set(ROUTES)
        assert set(one["hit_rate_by"]["customer"]) == set(CUSTOMERS)
        assert 0 < one["ttft_p50_s"] < one["ttft_p99_s"]
        assert not [text for text in one["warnings"] if "differently" in text]
    assert report["passes"][2]["hit_rate_by"]["prompt version"]["support v2"] < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(number: int) -> None:
    """Ctrl-C, SIGTERM or a closed terminal in the middle of a pass ends engines and gateway too."""
    process = start()
    try:
        while len(young := children(process.pid)) < 5:
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(number)
        output, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130, output
    assert "engines and gateway have ended" in output
    assert not [pid for pid in young if Path(f"/proc/{pid}").exists()]


@pytest.mark.slow
def test_keep() -> None:
    """--keep leaves the last fleet answering at the URLs it prints, until Ctrl-C, which is a clean end."""
    process = start("--requests", "20", "--seconds-per-pass", "1", "--engines", "2", "--keep", bufsize=1)
    assert process.stdout is not None
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "until Ctrl-C" in line:
                break
        young = children(process.pid)
        assert len(young) == 3, lines
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0
    assert any("gateway http://127.0.0.1:" in line for line in lines)
    assert any(line.startswith("dashboard http://127.0.0.1:") for line in lines)
    assert not [pid for pid in young if Path(f"/proc/{pid}").exists()]
