"""`prefixgate simulate`: the gateway's own router in front of model engines, in virtual time."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import click
from rich.console import Console

from engine_adapter.engine_timing import PROFILES
from gateway.policies import find_policy
from gateway.simulate.plot import study_html
from gateway.simulate.progress import study_progress
from gateway.simulate.report import print_study, study_json
from gateway.simulate.study import Setting, Study, bounds, check_room, run
from gateway.simulate.workload import SimulatedRequest, simulated_requests
from gateway.trace_file import sift_trace_file
from prefix.errors import ConfigError, TraceError
from prefix.trace import TraceRequest, infer_block_tokens

SHOWN_ERRORS = 5
TABLE_WIDTH = 100


@click.command()
@click.option("--trace", "path", type=click.Path(path_type=Path), required=True, help="JSON lines, plain or gzip.")
@click.option("--engines", type=int, required=True, help="How many engines.")
@click.option("--kv-capacity", type=int, required=True, metavar="TOKENS", help="KV cache of each engine.")
@click.option(
    "--policy",
    "policies",
    default="round-robin,cache-aware,expected-ttft",
    show_default=True,
    metavar="NAME[,NAME]",
    help="Routing policies, one row each.",
)
@click.option(
    "--rate",
    "--rates",
    "rates",
    default="1",
    show_default=True,
    metavar="X[,X]",
    help="Loads: how many times as fast the requests arrive as in the trace.",
)
@click.option("--profile", type=click.Choice(sorted(PROFILES)), default="70b", show_default=True, help="Speed.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the router's lots.")
@click.option("--block-tokens", type=int, metavar="TOKENS", help="Of the trace's blocks.  [default: inferred]")
@click.option("--requests", "most", type=int, metavar="N", help="Only the first N requests.")
@click.option("--skip-bad", is_flag=True, help="Leave out lines that are not requests, and count them.")
@click.option("--json", "as_machine", is_flag=True, help="The study as JSON on stdout.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Write an HTML page with plots.")
def simulate(
    path: Path,
    engines: int,
    kv_capacity: int,
    policies: str,
    rates: str,
    profile: str,
    seed: int,
    block_tokens: int | None,
    most: int | None,
    skip_bad: bool,
    as_machine: bool,
    plot: Path | None,
) -> None:
    """Compare routing policies on a trace, in virtual time: hit rate, time to first token, balance.

    The router is the gateway's own; the engines are the model of SGLang's scheduler and radix cache behind the
    simulated engine. Times come from its stated profiles. A turn of a session starts when the one before it has
    ended, at the earliest.

    \b
    Examples:
      prefixgate simulate --trace trace.jsonl.gz --engines 4 --kv-capacity 1000000
      prefixgate simulate --trace trace.jsonl.gz --engines 4 --kv-capacity 300000 \\
        --policy cache-aware,expected-ttft --rates 0.7,1.0,1.3 --plot study.html
    """
    names = _names(policies)
    loads = _loads(rates)
    numbers = {"--engines": engines, "--kv-capacity": kv_capacity, "--block-tokens": block_tokens, "--requests": most}
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise ConfigError(f"{name} must be 1 or more, not {value}")
    if plot is not None and not plot.parent.is_dir():
        raise ConfigError(f"--plot {plot}: no such folder")
    trace, bad_lines = _read(path, skip_bad=skip_bad, most=most)
    setting = Setting(engines, kv_capacity, block_tokens or infer_block_tokens(trace), profile, seed)
    requests = simulated_requests(trace, setting.block_tokens)
    check_room(requests, setting)
    study = _study(path, requests, setting, names, loads, bad_lines)
    if plot is not None:
        _write(plot, study_html(study))
    if as_machine:
        click.echo(study_json(study))
    else:
        console = Console()
        console.width = max(console.width, TABLE_WIDTH)
        print_study(console, study)


def _study(
    path: Path,
    requests: Sequence[SimulatedRequest],
    setting: Setting,
    policies: Sequence[str],
    loads: Sequence[float],
    bad_lines: int,
) -> Study:
    infinite, pooled = bounds(requests, setting)
    plan = [(policy, load) for load in loads for policy in policies]
    with study_progress(Console(stderr=True), len(plan), len(requests)) as started:
        rows = [run(requests, setting, policy, load, started(f"{policy} {load:g}x")) for policy, load in plan]
    return Study(path.name, len(requests), bad_lines, setting, infinite, pooled, rows)


def _read(path: Path, *, skip_bad: bool, most: int | None) -> tuple[list[TraceRequest], int]:
    """The requests of the trace and how many lines were none; those end the command unless skip_bad."""
    trace, errors = sift_trace_file(path)
    if errors and not skip_bad:
        for error in errors[:SHOWN_ERRORS]:
            click.echo(f"prefixgate: {error}", err=True)
        click.echo(f"prefixgate: {len(errors)} bad lines in {path}; --skip-bad leaves them out", err=True)
        raise SystemExit(1)
    trace = trace[:most]
    if not trace:
        raise TraceError(f"{path}: holds no request")
    return trace, len(errors)


def _names(policies: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in policies.split(",") if name.strip()))
    if not names:
        raise ConfigError("--policy names no policy")
    for name in names:
        find_policy(name)
    return names


def _loads(rates: str) -> list[float]:
    loads = []
    for word in rates.split(","):
        try:
            load = float(word)
        except ValueError:
            load = 0.0
        if not (isfinite(load) and load > 0):
            raise ConfigError(f"--rate must be positive numbers, not {word!r}")
        loads.append(load)
    return list(dict.fromkeys(loads))


def _write(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--plot {path}: {error.strerror}") from None
