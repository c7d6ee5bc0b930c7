"""`prefixgate eval`: the same tasks to a target before and after a change, and a verdict."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gateway.quality import compared, equality
from gateway.quality.checks import check_task
from gateway.quality.report import print_equality, print_outcome
from gateway.quality.target import Target
from gateway.quality.tasks import BUILTIN, KINDS, AnyTask, read_suites
from prefix.errors import ConfigError

Result = TypeVar("Result")
KEY = "OPENAI_API_KEY"


@click.command("eval")
@click.option("--before", required=True, metavar="URL", help="The engine or gateway as it was.")
@click.option("--after", required=True, metavar="URL", help="The one to judge.")
@click.option("--suite", "suites", multiple=True, metavar="FILE", help="Tasks in JSON lines.  [default: builtin]")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help=f"Only these tasks: {', '.join(KINDS)}.")
@click.option("--model", metavar="NAME", help="Model to ask.  [default: the first of /v1/models]")
@click.option("--model-after", metavar="NAME", help="Model to ask of --after, where its name differs.")
@click.option("--samples", type=click.IntRange(1, 100), default=3, show_default=True, help="Answers per task.")
@click.option("--margin", type=click.FloatRange(0, 1), default=0.01, show_default=True, help="Loss that is accepted.")
@click.option(
    "--alpha", type=click.FloatRange(0.0001, 0.5), default=0.05, show_default=True, help="False alarm rate."
)
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.0, show_default=True)
@click.option("--max-tokens", type=click.IntRange(1), default=512, show_default=True, help="Of each answer.")
@click.option("--at-once", type=click.IntRange(1, 1024), default=8, show_default=True, help="Open requests a target.")
@click.option("--allow-code", is_flag=True, help="Run the models' code, in a sandbox (bubblewrap) without network.")
@click.option("--equal", is_flag=True, help="Compare the very texts at temperature 0 instead of judging them.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the orders of tools that --equal tries.")
@click.option("--json", "as_machine", is_flag=True, help="The result as JSON on stdout.")
@click.option(
    "--failures", "shown", type=click.IntRange(0), default=10, show_default=True, help="How many are shown."
)
def evaluate(
    before: str,
    after: str,
    suites: tuple[str, ...],
    kinds: tuple[str, ...],
    model: str | None,
    model_after: str | None,
    samples: int,
    margin: float,
    alpha: float,
    temperature: float,
    max_tokens: int,
    at_once: int,
    allow_code: bool,
    equal: bool,
    seed: int,
    as_machine: bool,
    shown: int,
) -> None:
    """Did quality survive? The same tasks to two targets: before and after quantization, another canonical level,
    another way to route or to decode.

    \b
    The built-in suite covers JSON accuracy, mathematics, code, tool calls, rare languages and refusals. A key for
    both targets is read from OPENAI_API_KEY. Exit 1 when a kind of task got worse by more than --margin and that is
    no chance, or with --equal when texts differ that must not.

    \b
    Examples:
      prefixgate eval --before http://bf16:30000 --after http://fp8:30000
      prefixgate eval --before http://engine:30000 --after http://gateway:8080 --equal
      prefixgate eval --before http://a:30000 --after http://b:30000 --suite ours.jsonl --suite builtin --samples 5
    """
    tasks = _tasks(suites or (BUILTIN,), kinds)
    members: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature}
    console = Console()
    asked = ((before, model), (after, model_after or model))
    first, second = (Target(url, model=name, key=os.environ.get(KEY), at_once=at_once) for url, name in asked)
    sides = first, second
    if equal:
        same = _asking(
            len(tasks), sides, lambda done: equality.run(tasks, *sides, members=members, seed=seed, done=done)
        )
        _tell(as_machine, same, lambda: print_equality(console, same, shown))
        raise SystemExit(0 if same.held else 1)
    outcome = _asking(
        2 * samples * len(tasks),
        sides,
        lambda done: compared.run(
            *(tasks, *sides),
            samples=samples,
            margin=margin,
            alpha=alpha,
            members=members,
            allow_code=allow_code,
            done=done,
        ),
    )
    _tell(as_machine, outcome, lambda: print_outcome(console, outcome, margin, shown))
    raise SystemExit(1 if outcome.regressed or not outcome.inspected else 0)


def _tasks(suites: tuple[str, ...], kinds: tuple[str, ...]) -> list[AnyTask]:
    for kind in kinds:
        if kind not in KINDS:
            raise ConfigError(f"--kind {kind}: no such kind; there are {', '.join(KINDS)}")
    tasks = [task for task in read_suites(suites) if not kinds or task.kind in kinds]
    if not tasks:
        raise ConfigError(f"no task is of kind {', '.join(kinds)}")
    for task in tasks:
        check_task(task)
    return tasks


def _asking(
    steps: int, sides: tuple[Target, Target], work: Callable[[Callable[[], None]], Coroutine[Any, Any, Result]]
) -> Result:
    """Run it with both targets open and a bar on the terminal. Raises EngineError when a target is not there."""

    async def run(done: Callable[[], None]) -> Result:
        async with AsyncExitStack() as stack:
            for side in sides:
                await stack.enter_async_context(side)
                await side.model()
            return await work(done)

    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=steps)
        return asyncio.run(run(lambda: bar.advance(task)))


def _tell(as_machine: bool, result: msgspec.Struct, show: Callable[[], None]) -> None:
    if as_machine:
        click.echo(msgspec.json.encode(result).decode())
    else:
        show()
