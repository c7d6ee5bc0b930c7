"""`prefixgate lint` and `prefixgate rule`."""

import sys
from pathlib import Path
from typing import Any

import click

from lint.costing import DEFAULT_CAPACITY, DEFAULT_PAGE, Costing, parse_price
from lint.linter import Report, Selection, lint_paths
from lint.registry import rules
from lint.report import TEXT_FORMATS, statistics
from lint.rule import Rule
from lint.settings import FAIL_ON, Settings, load_settings
from prefix.errors import ConfigError


def _codes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--select", multiple=True, callback=_codes, metavar="CODES", help="Only these rules: PC101, PC3, a name."
)
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="Not these rules.")
@click.option("--extend-select", multiple=True, callback=_codes, metavar="CODES", help="These rules too.")
@click.option(
    "--output-format",
    "form",
    type=click.Choice(["full", *TEXT_FORMATS]),
    default="full",
    show_default=True,
    help="How to write the findings.",
)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="The least severity that makes the exit code 1.  [default: warning]",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--statistics", "counts", is_flag=True, help="Show how many findings each rule has.")
@click.option("--isolated", is_flag=True, help="Read no pyproject.toml.")
@click.option("--price", metavar="U/C", help="Money per million uncached and cached input tokens, as in 2.5/0.25.")
@click.option("--prefill-speed", type=click.FloatRange(min=0, min_open=True), help="Prompt tokens a second of a GPU.")
@click.option(
    "--kv-capacity",
    type=click.IntRange(min=1),
    default=DEFAULT_CAPACITY,
    show_default=True,
    help="Tokens of a worker's KV cache, for the replay of logs.",
)
@click.option("--page-size", type=click.IntRange(1, 4096), default=DEFAULT_PAGE, show_default=True, help="Its pages.")
@click.option("--no-cost", is_flag=True, help="Replay no log: faster, and no figures.")
@click.option("--redact", is_flag=True, help="Show no text of prompts.")
def lint(
    paths: tuple[str, ...], form: str, fail_on: str | None, exit_zero: bool, counts: bool, **options: Any
) -> None:
    """Find what breaks the prefix cache, in logs of requests, request bodies and source.

    PATH is a file, a folder, or - for a log on standard input. Logs are JSONL, JSON or CSV, gzipped or not, with
    OpenAI, Anthropic or SGLang bodies, alone, in an envelope, or exported by LiteLLM, Langfuse or OpenTelemetry; what
    their losses are worth is replayed through a model of the cache. Exit code 1: a finding at or above --fail-on.
    Defaults come from [tool.prefixgate.lint] in pyproject.toml; `# noqa: PC101` keeps a line of source quiet.

    \b
    Examples:
      prefixgate lint requests.jsonl
      prefixgate lint src/ prompts/ --ignore PC102
      prefixgate lint app/ requests.jsonl --price 2.5/0.25 --kv-capacity 400000
      zcat log.gz | prefixgate lint - --output-format json --redact
    """
    redact = options.pop("redact")
    costing = _costing(options)
    settings = Settings() if options.pop("isolated") else load_settings(Path.cwd())
    settings = settings._replace(costing=costing)
    chosen = {key: codes or settings.codes.get(key.replace("_", "-"), ()) for key, codes in options.items()}
    report = lint_paths(paths, Selection(**chosen).rules(), settings, redact=redact)
    if counts:
        click.echo(statistics(report))
    else:
        _write(report, form, redact)
    if report.at_least(fail_on or settings.fail_on or "warning") and not exit_zero:
        sys.exit(1)


def _costing(options: dict[str, Any]) -> Costing:
    price, speed, capacity, page, off = (
        options.pop(name) for name in ("price", "prefill_speed", "kv_capacity", "page_size", "no_cost")
    )
    return Costing(capacity, page, parse_price(price) if price else None, speed, replay=not off)


def _write(report: Report, form: str, redact: bool) -> None:
    if form == "full":
        from rich.console import Console

        from lint.report.full import write

        write(report, Console(highlight=False), frames=not redact)
    elif text := TEXT_FORMATS[form](report):
        click.echo(text)


@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def rule(code: str | None, as_json: bool) -> None:
    """Explain a rule, by code or name; without one, list them all.

    \b
    Examples:
      prefixgate rule
      prefixgate rule PC101
    """
    chosen = [_rule(code)] if code else list(rules().values())
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode([_facts(rule) for rule in chosen]))
    elif code:
        from lint.docs import page

        click.echo(page(chosen[0]).rstrip())
    else:
        for known in chosen:
            click.echo(f"{known.code}  {known.name:<24} {known.severity:<8} {known.summary}")


def _rule(code: str) -> Rule:
    found = next((rule for rule in rules().values() if code.upper() == rule.code or code.lower() == rule.name), None)
    if found is None:
        raise ConfigError(f"no rule is called {code}: `prefixgate rule` lists them")
    return found


def _facts(rule: Rule) -> dict[str, Any]:
    names = ("code", "name", "severity", "summary", "why", "instead", "since", "judges", "url")
    return {name: getattr(rule, name) for name in names}
