"""`prefixgate canon` and `prefixgate diff`: what the gateway makes of a prompt, and where two prompts part."""

import io
import json
import sys
from pathlib import Path

import click

from prefix.errors import BodyError, ConfigError


@click.command()
@click.argument("file", default="-", metavar="[FILE|-]")
@click.option(
    "--level", default="safe", help="What may be rewritten: off, safe, normalize or hoist.  [default: safe]"
)
@click.option("--engine", metavar="KIND", help="With what the gateway adds for this kind of engine, such as sglang.")
@click.option("--json", "as_machine", is_flag=True, help="The body, every change to it, and where its prefix ends.")
def canon(file: str, level: str, engine: str | None, as_machine: bool) -> None:
    """The canonical body of a request: the bytes the gateway sends.

    \b
    FILE is a request body; - or nothing is standard input. The body is written byte for byte, with no line end
    behind it but in a terminal; there the changes are listed below it.

    \b
    Examples:
      prefixgate canon request.json > canonical.json
      prefixgate canon request.json --engine sglang
      prefixgate canon --level normalize --json < request.json
    """
    from gateway.prompt_canon import canonical_prompt
    from gateway.prompt_input import named, read_bytes

    try:
        made = canonical_prompt(read_bytes(file), level, engine)
    except BodyError as error:
        raise named(error, file) from None
    if as_machine:
        click.echo(json.dumps(made.as_json(), indent=2))
        return
    sys.stdout.buffer.write(made.body)
    sys.stdout.buffer.flush()
    if sys.stdout.isatty():
        from gateway.prompt_report import print_canonical

        click.echo()
        print_canonical(made)


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--json", "as_machine", is_flag=True, help="The comparison as JSON.")
@click.option(
    "--tokenizer",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Count tokens with this tokenizer.json; otherwise they are estimated.",
)
def diff(a: str, b: str, as_machine: bool, tokenizer: Path | None) -> None:
    """Where the prompts of two requests part, why, and what that costs.

    \b
    A and B are files with a request body each, alone or in an envelope such as {"request": ...}; one of them may
    be - for standard input; log.jsonl:7 is line 7 of a log. Tokens are those of B, sent after A. The exit code is 0
    when the prompts are identical, 1 when they part, 2 when one cannot be read.

    \b
    Examples:
      prefixgate diff yesterday.json today.json
      prefixgate canon today.json | prefixgate diff yesterday.json - --json
      prefixgate diff capture.jsonl:1 capture.jsonl:7
    """
    from gateway.prompt_input import STDIN, read_body
    from prefix.comparison import compare
    from prefix.tokens import counter_for

    if a == b == STDIN:
        raise ConfigError("only one of A and B can be standard input")
    old, new = read_body(a), read_body(b)
    counter = counter_for(str(new.get("model")), tokenizer=tokenizer)
    found = compare(old, new, counter)
    if as_machine:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        from gateway.prompt_report import print_comparison

        if isinstance(sys.stdout, io.TextIOWrapper):  # prompts have characters that not every terminal can show
            sys.stdout.reconfigure(errors="backslashreplace")
        print_comparison((a, b), (old, new), found)
    sys.exit(0 if found.cause is None else 1)
