"""`prefixgate bench`: the whole command against a simulated engine and against what goes wrong."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.bench.command import bench
from gateway.capture_settings import CaptureConfig
from gateway.config import RouteConfig
from prefix.errors import PrefixgateError
from tests.gateway.bench.target import STREAM, plain, streaming, target
from tests.gateway.bench.test_source import capture, turn, written
from tests.gateway.running import running

MODEL = {"data": [{"id": "m"}]}


async def run(*arguments: str) -> Result:
    """The command in a thread of its own, with a loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, bench, arguments)


async def read(path: Path) -> dict[str, Any]:
    """A report."""
    found: dict[str, Any] = json.loads(await asyncio.to_thread(path.read_text))
    return found


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Three sessions of two turns each, that share their first block."""
    turns = [turn(10 * n, 1, 10 + n % 3, *([20 + n] * (n > 2)), session=n % 3) for n in range(6)]
    return str(written(tmp_path / "trace.jsonl", *turns))


async def test_a_run_from_a_trace_to_its_reports(tmp_path: Path, trace: str) -> None:
    """Every request is answered and measured; tables, JSON and page say the same; a seed repeats the prompts."""
    report, page = tmp_path / "r.json", tmp_path / "r.html"
    options = EngineOptions(config=EngineConfig(page_tokens=4), speed=1_000, model="m")
    async with SimulatedEngine(options) as engine:
        arguments = ("--url", engine.url, "--trace", trace, "--warmup", "1", "--seed", "5", "--slo", "ttft=10s")
        ran = await run(*arguments, "--json", str(report), "--html", str(page))
        assert ran.exit_code == 0, ran.output
        first = await read(report)
        assert (
            await run(*arguments, "--arrival", "closed", "--concurrency", "2", "--json", str(report))
        ).exit_code == 0
        second = await read(report)
    (side,) = first["sides"]
    total = side["total"]
    assert (total["requests"], total["completed"], side["warmup_requests"]) == (5, 5, 1)
    assert total["ttft_s"]["count"] == 5
    assert total["itl_s"]["count"] == 5 * 3
    assert side["goodput_per_s"] == side["completed_per_s"] > 0
    assert 0 < total["hit_rate"] < second["sides"][0]["total"]["hit_rate"]  # the same prompts again
    assert {gauge["name"] for gauge in first["gauges"][0]} >= {"running", "waiting", "kv_use"}
    assert first["setting"]["seed"] == 5
    assert "5 of 5 requests completed" in ran.output
    html = await asyncio.to_thread(page.read_text)
    assert "<svg" in html
    assert "src=" not in html


async def test_two_targets_in_one_run(tmp_path: Path, trace: str) -> None:
    """Both get every request, with prompts of their own; too few windows give no verdict."""
    report = tmp_path / "r.json"
    bodies: list[bytes] = []

    async def keep(request: Any) -> Any:
        bodies.append(await request.read())
        return await streaming(*STREAM)(request)

    async with target(keep, v1_models=MODEL) as asked:
        ran = await run("--url", asked.url, "--compare", asked.url, "--trace", trace, "--json", str(report),
                        "--html", str(tmp_path / "r.html"), "--window", "20ms", "--warmup", "0")  # fmt: skip
    assert ran.exit_code == 0, ran.output
    found = await read(report)
    assert [side["total"]["completed"] for side in found["sides"]] == [6, 6]
    assert found["comparison"]["pairs"] == 3
    assert {row["verdict"] for row in found["comparison"]["rows"]} == {"not enough windows"}
    assert len(set(bodies)) == 12 + 1  # and the probe, twice the same


async def test_captures_are_replayed(tmp_path: Path) -> None:
    """Redacted ones too, which is said."""
    path = written(tmp_path / "c.jsonl", capture(1.0, "xxx", redact="mask"), capture(1.01, "xx", redact="mask"))
    async with target(streaming(*STREAM), v1_models=MODEL) as asked:
        ran = await run("--url", asked.url, "--trace", str(path), "--warmup", "0")
    assert ran.exit_code == 0, ran.output
    assert "2 of 2 captured bodies are redacted" in ran.output


async def test_nothing_completed_is_a_failure(trace: str) -> None:
    """Exit 1, with the errors by kind."""
    answers = iter([streaming(*STREAM)])

    async def once(request: Any) -> Any:
        return await next(answers, plain({"error": {"message": "too busy"}}, 503))(request)

    async with target(once, v1_models=MODEL) as asked:
        ran = await run("--url", asked.url, "--trace", trace, "--warmup", "0")
    assert ran.exit_code == 1
    assert "6 x rejected: HTTP 503: too busy" in ran.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "n"), "no model 'n', but 'm'"),
        (("--key-env", "NO_SUCH_KEY_HERE"), "no such environment variable"),
        (("--compare", "http://127.0.0.1:9", "--window", "1s"), "127.0.0.1:9: cannot be reached"),
        (("--concurrency", "2", "--compare", "SELF"), "--duration, or --window"),
        (("--isolation", "salt", "--api", "messages"), "no field for a salt"),
    ],
)
async def test_what_cannot_be_run_is_said(trace: str, arguments: tuple[str, ...], message: str) -> None:
    """A named error, which the command line shows as one line and exit 2."""
    async with target(streaming(*STREAM), v1_models=MODEL) as asked:
        words = [asked.url if word == "SELF" else word for word in arguments]
        ran = await run("--url", asked.url, "--trace", trace, *words)
    assert isinstance(ran.exception, PrefixgateError)
    assert message in str(ran.exception)


async def test_what_a_gateway_captures_can_be_replayed(tmp_path: Path, trace: str) -> None:
    """The whole circle: a run through a gateway that captures (redacted), and its captures through it again: every
    route and session that it saw, the engines' load by its `/workers`."""
    folder, report = tmp_path / "captures", tmp_path / "r.json"
    options = EngineOptions(config=EngineConfig(page_tokens=4), speed=1_000, model="m")
    async with SimulatedEngine(options) as engine:
        async with running(engine, capture=CaptureConfig(folder=str(folder)), routes={"r": RouteConfig()}) as gateway:
            ran = await run(
                "--url", gateway.url, "--trace", trace, "--header", "x-prefixgate-route: r", "--warmup", "0"
            )
            assert ran.exit_code == 0, ran.output
        async with running(engine, routes={"r": RouteConfig()}) as gateway:
            ran = await run("--url", gateway.url, "--trace", str(folder), "--json", str(report), "--warmup", "0")
            assert ran.exit_code == 0, ran.output
            assert {record.route for record in gateway.records} >= {"r"}
    found = await read(report)
    assert found["sides"][0]["total"]["completed"] == 6 + 1  # and the first run's probe
    assert [group["name"] for group in found["sides"][0]["by_route"]] == ["r"]
    assert {gauge["engine"] for gauge in found["gauges"][0]} == {engine.url}
    assert "7 of 7 captured bodies are redacted" in ran.output
