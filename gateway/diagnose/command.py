"""`prefixgate diagnose`: watch a live system for a while, and say which resource bounds it."""

import asyncio
import os
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import Progress

from gateway.bench.target import url_of
from gateway.diagnose.diagnosis import diagnose as judged
from gateway.diagnose.evidence import gather
from gateway.diagnose.hardware import Catalog, Hardware
from gateway.diagnose.report import print_diagnosis
from gateway.diagnose.watch import Seen, around, watch
from prefix.errors import ConfigError

_WIDTH = 140


@click.command()
@click.option("--url", required=True, help="Gateway or SGLang engine, http://host:port.")
@click.option("--seconds", type=click.FloatRange(1), default=60.0, show_default=True, help="How long to watch.")
@click.option("--model", metavar="NAME", help="Preset of the model, with --gpu (docs/diagnose.md lists them).")
@click.option("--gpu", metavar="NAME", help="Preset of the accelerator.")
@click.option("--tp", type=click.IntRange(1), default=1, show_default=True, help="Accelerators per engine.")
@click.option("--model-file", type=click.Path(path_type=Path), metavar="F", help="Both described in JSON instead.")
@click.option("--admin-key-env", metavar="NAME", help="Environment variable with a gateway's admin token.")
@click.option("--json", "as_machine", is_flag=True, help="The diagnosis as JSON on stdout.")
def diagnose(
    url: str,
    seconds: float,
    model: str | None,
    gpu: str | None,
    tp: int,
    model_file: Path | None,
    admin_key_env: str | None,
    as_machine: bool,
) -> None:
    """Which resource bounds this workload: prefill, decode, KV memory, the queue, the gateway or the network?

    \b
    Watches what the engines export while your traffic runs (it makes none), replays the like of it in
    virtual time, and doubles one resource after the other there. Then the levers, in order, each with what
    it is expected to gain and how to verify that. Fewer than 100 requests are not enough data (exit 0).
    Guide: docs/diagnose.md

    \b
    Examples:
      prefixgate diagnose --url http://127.0.0.1:8080 --seconds 120
      prefixgate diagnose --url http://127.0.0.1:30000 --model llama-3.1-8b --gpu h100-sxm
      prefixgate diagnose --url http://127.0.0.1:30000 --model-file ours.json --json
    """
    hardware = _hardware(model, gpu, tp, model_file)
    seen = _watched(url_of(url), seconds, _headers(admin_key_env))
    diagnosis = judged(gather(seen.looks, seen.seconds, seen.setup, around(seen)), hardware)
    if as_machine:
        click.echo(msgspec.json.encode(diagnosis).decode())
        return
    console = Console()
    console.width = max(console.width, _WIDTH)
    print_diagnosis(console, diagnosis)


def _hardware(model: str | None, gpu: str | None, tp: int, file: Path | None) -> Hardware | None:
    if file is not None:
        if model or gpu:
            raise ConfigError("--model-file describes model and GPU: leave out --model and --gpu")
        return Catalog.load().read(file)
    if model is None and gpu is None:
        return None
    if model is None or gpu is None:
        raise ConfigError("--model and --gpu belong together: give both or neither")
    return Catalog.load().hardware(model, gpu, tp)


def _headers(name: str | None) -> dict[str, str]:
    if name is None:
        return {}
    if not (token := os.environ.get(name)):
        raise ConfigError(f"--admin-key-env {name}: no such environment variable, or it is empty")
    return {"authorization": f"Bearer {token}"}


def _watched(url: str, seconds: float, headers: dict[str, str]) -> Seen:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"watching {url}", total=seconds)
        return asyncio.run(watch(url, seconds, headers, lambda past: bar.update(task, completed=past)))
