"""`prefixgate lint` and `prefixgate rule`: what the command line takes. lint.run does it."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import sleep
from typing import Any, TypeVar

import click

from lint.costing import DEFAULT_CAPACITY, DEFAULT_PAGE
from lint.linter import STDIN
from lint.nearest import Nearest, inline
from lint.registry import rules
from lint.report import TEXT_FORMATS
from lint.rule import Rule
from lint.run import Options, run
from lint.selection import known
from lint.settings import FAIL_ON, LARGEST_PAGE, shown
from lint.watch import EVERY_S, changes, stamps

_F = TypeVar("_F", bound=Callable[..., Any])
_GIVEN = ("select", "ignore", "extend_select", "fixable", "unfixable", "exclude")
_SINGLE = (
    *("fail_on", "max_warnings", "baseline", "respect_gitignore"),
    *("price", "prefill_speed", "kv_capacity", "page_size"),
)


def _codes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


def _patterns(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for value in values:
        pattern, colon, codes = value.rpartition(":")
        if not colon:
            raise click.BadParameter(f"{value!r} is not PATTERN:CODES, as in tests/**:PC1")
        found.setdefault(pattern, []).extend(code.strip() for code in codes.split(",") if code.strip())
    return found


def _list(name: str, text: str) -> Callable[[_F], _F]:
    return click.option(name, multiple=True, callback=_codes, metavar="CODES", help=text)


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@_list("--select", "Only these rules: PC101, PC3, a name.")
@_list("--ignore", "Not these rules.")
@_list("--extend-select", "These rules too.")
@click.option(
    "--per-file-ignores", multiple=True, callback=_patterns, metavar="PATTERN:CODES", help="Not these rules there."
)
@click.option("--exclude", multiple=True, callback=_codes, metavar="PATTERNS", help="Leave out files below folders.")
@click.option("--respect-gitignore/--no-respect-gitignore", default=None, help="Leave out what git ignores.")
@click.option("--config", "configs", multiple=True, metavar="KEY=VALUE|FILE", help="A setting, or a file of them.")
@click.option("--isolated", is_flag=True, help="Read no files of settings.")
@click.option("--show-settings", is_flag=True, help="Show the settings for the paths, and where they are from.")
@click.option("--fix", is_flag=True, help="Apply the safe fixes.")
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="With --fix or --diff: those that may change words too.")
@click.option("--fix-only", is_flag=True, help="Fix, and report nothing that is left.")
@click.option("--show-fixes", is_flag=True, help="List what was fixed.")
@click.option("--diff", "show_diff", is_flag=True, help="Show what would be fixed; exit code 1 if anything would.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit code 1 when something was fixed.")
@_list("--fixable", "Fix these rules only.")
@_list("--unfixable", "Do not fix these rules.")
@click.option("--add-noqa", "noqa", is_flag=True, help="Write a comment at each finding that keeps it quiet.")
@click.option("--baseline", metavar="FILE", help="Only what is not in this file counts.")
@click.option("--write-baseline", is_flag=True, help="Make the findings the baseline.")
@click.option("--diff-base", metavar="REF", help="Only lines that are new since this commit of git.")
@click.option(
    "--output-format",
    "form",
    type=click.Choice(["full", *TEXT_FORMATS]),
    default="full",
    show_default=True,
    help="How to write the findings.",
)
@click.option("-o", "--output-file", "output", type=click.Path(path_type=Path), help="Where, if not to the terminal.")
@click.option("--statistics", "counts", is_flag=True, help="Show how many findings each rule has.")
@click.option("--redact", is_flag=True, help="Show no text of prompts.")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="The least severity that makes the exit code 1.  [default: warning]",
)
@click.option("--max-warnings", type=click.IntRange(0), metavar="N", help="Allow so many warnings.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--hook", is_flag=True, help="For pre-commit: exclude named files too; nothing to lint is no finding.")
@click.option("--stdin-filename", metavar="NAME", help='What "-" is: app.py is Python.  [default: a log]')
@click.option("--price", metavar="U/C", help="Money per million uncached and cached input tokens, as in 2.5/0.25.")
@click.option("--prefill-speed", type=click.FloatRange(min=0, min_open=True), help="Prompt tokens a second of a GPU.")
@click.option(
    "--kv-capacity",
    type=click.IntRange(min=1),
    help=f"Tokens of a worker's KV cache, for the replay of logs.  [default: {DEFAULT_CAPACITY}]",
)
@click.option("--page-size", type=click.IntRange(1, LARGEST_PAGE), help=f"Its pages.  [default: {DEFAULT_PAGE}]")
@click.option("--no-cost", is_flag=True, help="Replay no log: faster, and no figures.")
@click.option("--watch", is_flag=True, help="Lint again whenever a file changes.")
def lint(paths: tuple[str, ...], show_settings: bool, configs: tuple[str, ...], watch: bool, **options: Any) -> None:
    """Find what breaks the prefix cache, in logs of requests, request bodies and source.

    PATH is a file, a folder, or - for standard input. Logs are JSONL, JSON or CSV, gzipped or not, with OpenAI,
    Anthropic or SGLang bodies, alone, in an envelope, or exported by LiteLLM, Langfuse or OpenTelemetry; what their
    losses are worth is replayed through a model of the cache. Source is Python, Jinja, YAML and prompt texts. Exit
    code 1: a finding at or above --fail-on; 2: the command or a file of settings cannot be used. Settings are in
    [tool.prefixgate.lint] of pyproject.toml or [lint] of prefixgate.toml; `# noqa: PC101` keeps a line of source
    quiet.

    \b
    Examples:
      prefixgate lint requests.jsonl
      prefixgate lint src/ prompts/ --ignore PC102
      prefixgate lint src/ --diff --unsafe-fixes
      prefixgate lint app/ requests.jsonl --price 2.5/0.25 --kv-capacity 400000
      zcat log.gz | prefixgate lint - --output-format json --redact
    """
    files = [text for text in configs if "=" not in text]
    given = {key: value for text in configs if "=" in text for key, value in inline(text).items()}
    given |= {key.replace("_", "-"): list(codes) for key in _GIVEN if (codes := options.pop(key))}
    given |= {key.replace("_", "-"): value for key in _SINGLE if (value := options.pop(key)) is not None}
    if patterns := options.pop("per_file_ignores"):
        given["per-file-ignores"] = patterns
    known(*(code for codes in patterns.values() for code in codes))
    file = Path(files[-1]) if files else None
    if show_settings:
        nearest = Nearest(given, file=file, isolated=options["isolated"])
        folders = dict.fromkeys(Path(path) if Path(path).is_dir() else Path(path).parent for path in paths)
        click.echo("\n\n".join(shown(nearest(folder)) for folder in folders))
        return
    fix = options.pop("fix") or options["fix_only"]
    chosen = Options(paths=paths, given=given, config_file=file, fix=fix, **options)
    if watch:
        _watch(chosen)
    else:
        sys.exit(run(chosen))


def _watch(options: Options) -> None:
    if STDIN in options.paths:
        raise click.UsageError("--watch looks at files and folders, not at standard input")
    nearest = Nearest(options.given, file=options.config_file, isolated=options.isolated)
    try:
        for _ in changes(lambda: stamps(options.paths, nearest), lambda: sleep(EVERY_S)):
            click.clear()
            run(options)
    except KeyboardInterrupt:
        return


@click.command()
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="Explain all rules.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How.")
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format json.")
def rule(code: str | None, every: bool, output_format: str, as_json: bool) -> None:
    """Explain a rule, by code or name; without one, list them all.

    \b
    Examples:
      prefixgate rule
      prefixgate rule PC101
      prefixgate rule --all --output-format json
    """
    chosen = [_rule(code)] if code else list(rules().values())
    if as_json or output_format == "json":
        import msgspec

        click.echo(msgspec.json.encode([_facts(rule) for rule in chosen]))
    elif code or every:
        from lint.docs import page

        click.echo("\n".join(page(rule) for rule in chosen).rstrip())
    else:
        for listed in chosen:
            click.echo(f"{listed.code}  {listed.name:<24} {listed.severity:<8} {listed.summary}")


def _rule(code: str) -> Rule:
    found = next((rule for rule in rules().values() if code.upper() == rule.code or code.lower() == rule.name), None)
    if found is None:
        known(code)
        raise click.UsageError(f"{code} is the beginning of several rules: `prefixgate rule` lists them")
    return found


def _facts(rule: Rule) -> dict[str, Any]:
    from lint.docs import fix_of

    names = ("code", "name", "severity", "summary", "why", "instead", "since", "judges", "url")
    facts = {name: getattr(rule, name) for name in names} | {"fix": fix_of(rule), "gateway": rule.gateway}
    return facts | {"bad": _text(rule.bad), "good": _text(rule.good)}


def _text(examples: Sequence[Any]) -> list[dict[str, str]]:
    return [{"filename": example.filename, "text": example.text} for example in examples[:1]]
