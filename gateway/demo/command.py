"""The story of the demo: three passes over one workload, each on a fresh fleet, then what they measured."""

import asyncio
import json
import signal
import tempfile
from pathlib import Path
from typing import Final

import click
import msgspec
from rich.console import Console

from gateway.demo.bound import infinite_cache
from gateway.demo.findings import lint_workload, print_findings
from gateway.demo.fleet import EngineShape, Fleet, fetch, running_fleet
from gateway.demo.load import replay
from gateway.demo.progress import busy_share, processor_time, progress
from gateway.demo.report import print_results, print_setting
from gateway.demo.result import PASSES, PassPlan, PassResult, as_json, hit_rates, measured, sound
from gateway.demo.tally import TokensByLabels, total
from gateway.demo.workload import SHRINK, Workload, build_workload
from gateway.trace_file import BUNDLED_BLOCK_TOKENS, BUNDLED_TRACE, read_trace

MODEL: Final = "demo-8b"
TABLE_WIDTH: Final = 80
SETTLE_S: Final = 0.3
"""The gateway counts a request after its last byte has left: how long the counters get to come to rest."""


@click.command()
@click.option("--engines", type=click.IntRange(1, 16), default=4, show_default=True, help="Simulated engines.")
@click.option("--requests", type=click.IntRange(10, 3000), default=340, show_default=True, help="In each pass.")
@click.option(
    "--seconds-per-pass",
    type=click.FloatRange(0.1, 600),
    default=17.0,
    show_default=True,
    help="Time over which the requests of a pass arrive.",
)
@click.option(
    "--kv-capacity",
    type=click.IntRange(50_000, 10_000_000),
    default=112_000,
    show_default=True,
    help="KV cache of each engine, in tokens.",
)
@click.option("--keep", is_flag=True, help="Leave the last pass's engines and gateway running until Ctrl-C.")
@click.option("--json", "as_machine", is_flag=True, help="Results as JSON on stdout, everything else on stderr.")
def demo(
    engines: int, requests: int, seconds_per_pass: float, kv_capacity: int, keep: bool, as_machine: bool
) -> None:
    """Replay a production trace three ways and compare hit rates and TTFT. Nothing else has to be installed.

    Round robin with nothing rewritten, least load with safe rewrites, and prefixgate, in front of simulated
    engines with cold caches.

    \b
    Examples:
      prefixgate demo
      prefixgate demo --keep
      prefixgate demo --engines 2 --kv-capacity 200000 --json > demo.json
    """
    console = Console(stderr=as_machine)
    console.width = max(console.width, TABLE_WIDTH)
    trace = read_trace(BUNDLED_TRACE)
    workload = build_workload(
        trace, block_tokens=BUNDLED_BLOCK_TOKENS, count=requests, seconds=seconds_per_pass, model=MODEL
    )
    shape = EngineShape(MODEL, kv_capacity)
    print_setting(console, workload, engines, shape)
    try:
        results = asyncio.run(_show(console, workload, engines, shape, keep=keep, as_machine=as_machine))
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("stopped; engines and gateway have ended")
        raise SystemExit(130) from None
    if not all(map(sound, results)):
        raise SystemExit(1)


async def _show(
    console: Console, workload: Workload, engines: int, shape: EngineShape, *, keep: bool, as_machine: bool
) -> list[PassResult]:
    """Run the passes, say what they measured, and with `keep` stay with the last one until a signal comes."""
    _cancel_on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    bound = infinite_cache(workload.requests, shape.page_size)
    results: list[PassResult] = []
    for plan in PASSES:
        last = plan is PASSES[-1]
        with tempfile.TemporaryDirectory(prefix="prefixgate-demo-") as folder:
            async with running_fleet(
                engines, shape, policy=plan.policy, level=plan.level, folder=Path(folder)
            ) as fleet:
                results.append(await _measure(console, plan, workload, fleet))
                if last:
                    print_results(console, results, bound)
                    report = await asyncio.to_thread(lint_workload, workload, shape, engines, Path(folder))
                    print_findings(console, report)
                    if as_machine:
                        summary = _summary(workload, engines, shape, results, bound)
                        click.echo(json.dumps(summary | {"findings": msgspec.to_builtins(report.findings)}, indent=2))
                if last and keep:
                    await _stay(console, fleet)
                elif last:
                    console.print("prefixgate demo --keep leaves it running, with its dashboard")
    return results


async def _measure(console: Console, plan: PassPlan, workload: Workload, fleet: Fleet) -> PassResult:
    before = processor_time()
    with progress(console, plan.name, len(workload.requests)) as finished:
        outcomes = await replay(workload, fleet.gateway, finished)
    busy = busy_share(before, processor_time())
    await asyncio.sleep(SETTLE_S)
    return measured(plan, outcomes, await fetch(f"{fleet.gateway}/metrics"), cpu_share=busy)


async def _stay(console: Console, fleet: Fleet) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    console.print(f"gateway {fleet.gateway} (metrics: {fleet.gateway}/metrics)", highlight=False)
    console.print(f"dashboard {fleet.gateway}/dashboard", highlight=False)
    console.print(f"engines {' '.join(fleet.engines)}", highlight=False)
    console.print("running until Ctrl-C")
    await stop.wait()


def _cancel_on(*signals: signal.Signals) -> None:
    task = asyncio.current_task()
    assert task is not None
    for number in signals:
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)


def _summary(
    workload: Workload, engines: int, shape: EngineShape, results: list[PassResult], bound: TokensByLabels
) -> dict[str, object]:
    return {
        "engines": engines,
        "kv_capacity_tokens": shape.kv_capacity,
        "prefill_tokens_per_s": shape.prefill_tokens_per_s,
        "decode_step_ms": shape.decode_step_ms,
        "requests": len(workload.requests),
        "seconds_per_pass": workload.seconds,
        "time_compression": workload.compression,
        "token_scale": 1 / SHRINK,
        "passes": [as_json(result) for result in results],
        "infinite_cache": {"hit_rate": total(bound).hit_rate, "hit_rate_by": hit_rates(bound)},
    }
