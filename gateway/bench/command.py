"""`prefixgate bench`: what a target does under load, measured from when requests were due."""

import json
from pathlib import Path
from typing import Any, get_args

import click
import uvloop
from rich.console import Console

from gateway.bench.options import Arrival, Isolation, Options
from gateway.bench.page import report_html
from gateway.bench.plan import Interleave
from gateway.bench.prepare import Prepared, read
from gateway.bench.progress import progress
from gateway.bench.report import as_json
from gateway.bench.requests import PATHS
from gateway.bench.run import run
from gateway.bench.table import print_report
from prefix.errors import ConfigError

TABLE_WIDTH = 110
_FILE = click.Path(path_type=Path)


@click.command()
@click.option("--url", required=True, help="Gateway or engine, http://host:port.")
@click.option("--trace", type=_FILE, metavar="F", help="A trace, or captures of a gateway (file or folder).")
@click.option("--prompts", type=_FILE, metavar="F", help="JSON lines of request bodies instead.")
@click.option("--arrival", type=click.Choice(get_args(Arrival)), help="When requests come.  [default: trace]")
@click.option("--rate", type=float, metavar="R", help="Requests a second; of a trace's own times: a factor.")
@click.option("--shape", type=float, default=0.5, show_default=True, help="Of gamma bursts: less than 1 is burstier.")
@click.option("--concurrency", type=int, metavar="C", help="Closed loop: requests at a time.")
@click.option("--requests", type=int, metavar="N", help="Stop after N.  [default: each of the source once]")
@click.option("--duration", metavar="TIME", help="Send for so long, such as 60s.")
@click.option("--warmup", default="10%", show_default=True, help="Not measured: 20 (requests), 10s or 10%.")
@click.option("--slo", default="", metavar="LIST", help="For goodput: ttft=500ms,itl=50ms,tpot=40ms,e2e=10s.")
@click.option("--compare", metavar="URL_B", help="A second target, asked the same in the same run.")
@click.option("--interleave", type=click.Choice(get_args(Interleave)), default="windows", show_default=True,
              help="A and B by turns, or both at the same time.")  # fmt: skip
@click.option("--window", metavar="TIME", help="Length of a turn.  [default: a twelfth of the run]")
@click.option("--isolation", type=click.Choice(get_args(Isolation)),
              help="What keeps a run, or a side, out of another's cache: made-up prompts of its own, a cache_salt "
              "or nothing.  [default: prompts; for recorded ones none, with --compare salt]")  # fmt: skip
@click.option("--seed", type=int, help="Of arrivals and made-up prompts.  [default: drawn and printed]")
@click.option("--api", type=click.Choice(list(PATHS)), help="How a trace asks.  [default: chat]")
@click.option("--model", help="Model to ask for.  [default: the only one; recorded bodies keep theirs]")
@click.option("--block-tokens", type=int, metavar="TOKENS", help="Of the trace's blocks.  [default: inferred]")
@click.option("--shrink", type=int, default=1, show_default=True, metavar="N", help="Cut a trace's lengths to 1/N.")
@click.option("--ignore-eos/--no-ignore-eos", default=True, show_default=True, help="Answers as long as the trace's.")
@click.option("--key-env", metavar="NAME", help="Environment variable that holds the API key.")
@click.option("--admin-key-env", metavar="NAME", help="The same for a gateway's admin token, to watch its workers.")
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="Sent with every request; repeat for more.")
@click.option("--engine", multiple=True, metavar="URL", help="An engine to watch besides those the target names.")
@click.option("--timeout", default="600s", show_default=True, metavar="TIME", help="Of one request.")
@click.option("--json", type=_FILE, metavar="F", help="Write everything measured; - for stdout.")
@click.option("--html", type=_FILE, metavar="F", help="Write one page with plots that needs nothing else.")
def bench(**given: Any) -> None:
    """Put load on a gateway or an engine, and measure TTFT, ITL, throughput, hit rate and errors.

    \b
    An open loop (the default) sends every request when it is due, however slow the target is, and
    counts latency from then: a target that stalls shows it. A closed loop (--concurrency) waits for
    answers, so a slow target slows the load and looks better than its users find it.
    Guide: docs/bench.md

    \b
    Examples:
      prefixgate bench --url http://127.0.0.1:8080 --trace trace.jsonl.gz --requests 500
      prefixgate bench --url http://127.0.0.1:8080 --trace /var/lib/prefixgate/captures --rate 2
      prefixgate bench --url http://127.0.0.1:30000 --prompts bodies.jsonl --rate 4 --duration 60s \\
        --slo ttft=500ms,itl=50ms --html report.html
      prefixgate bench --url http://127.0.0.1:8080 --compare http://127.0.0.1:30000 \\
        --trace trace.jsonl.gz --arrival poisson --rate 5 --duration 240s
    """
    options = Options(**given)
    options.check()
    options.slos()
    to_stdout = options.json is not None and str(options.json) == "-"
    console = Console(stderr=to_stdout)
    console.width = max(console.width, TABLE_WIDTH)
    source = read(options)
    with progress(Console(stderr=True)) as begin:

        def begun(prepared: Prepared) -> Any:
            sides = len(prepared.bodies)
            return begin(len(prepared.planned) * sides if prepared.planned is not None else options.requests)

        report = uvloop.run(run(options, source, begun))
    print_report(console, report)
    if options.json is not None:
        _write(options.json, json.dumps(as_json(report), indent=2) + "\n")
    if options.html is not None:
        _write(options.html, report_html(report))
    if report.interrupted:
        raise SystemExit(130)
    if not report.completed:
        raise SystemExit(1)


def _write(path: Path, text: str) -> None:
    if str(path) == "-":
        click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
