"""The command line. Each command imports its own world, so that --help answers at once."""

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from gateway.version import __version__
from prefix.errors import PrefixgateError

_COMMANDS = {
    "serve": ("gateway.cli", "serve", "Run the gateway in front of your engines."),
    "demo": ("gateway.demo.command", "demo", "See it work: engines, gateway and a public trace on this machine."),
    "simulate": ("gateway.simulate.command", "simulate", "Compare routing policies on a trace, in virtual time."),
    "bench": ("gateway.bench.command", "bench", "Measure TTFT, ITL, hit rate and errors under load."),
    "diagnose": ("gateway.diagnose.command", "diagnose", "Which resource bounds this workload, and what to do."),
    "lint": ("lint.cli", "lint", "Find what breaks the prefix cache, in logs, bodies and source."),
    "rule": ("lint.cli", "rule", "Explain a rule of the linter, or list them."),
    "canon": ("gateway.prompt_cli", "canon", "Show the canonical body of a request."),
    "diff": ("gateway.prompt_cli", "diff", "Show where the prompts of two requests part, and why."),
    "eval": ("gateway.quality.command", "evaluate", "Did the quality of the answers survive a change?"),
    "key": ("gateway.cli", "key", "Make API keys for customers."),
    "config": ("gateway.cli", "config", "Show the effective configuration."),
}


class _Lazy(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        import difflib

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            if near:
                raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from None
            raise


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="prefixgate")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def cli(debug: bool) -> None:
    """Prefix-cache efficiency for self-hosted LLM inference.

    Put it in front of your SGLang engines; clients change their base_url, nothing else.

    \b
    Examples:
      prefixgate demo
      prefixgate serve --engine http://127.0.0.1:30000 --engine http://127.0.0.1:30001
    """


@click.command()
@click.option("--config", "path", type=click.Path(path_type=Path), help="YAML file; options on this line win.")
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on, 0 for any free one.  [default: 8080]")
@click.option("--processes", type=int, help="Processes that serve on the one port.  [default: 1]")
@click.option("--engine", "engines", multiple=True, metavar="URL", help="An engine; repeat for more.")
@click.option("--policy", metavar="NAME", help="Routing policy.  [default: expected-ttft]")
@click.option("--level", help="What may be rewritten: off or safe.  [default: safe]")
@click.option("--redis", metavar="URL", help="Share what is known with other gateways over this Redis.")
@click.option("--tls-cert", metavar="FILE", help="Certificate chain (PEM) to serve https with.")
@click.option("--tls-key", metavar="FILE", help="Its private key.")
@click.option("--access-log", metavar="FILE", help="One JSON line a request; `stdout` writes them there.")
@click.option("--check", is_flag=True, help="Validate the configuration and exit.")
def serve(path: Path | None, check: bool, **options: Any) -> None:
    """Run the gateway in front of your engines.

    \b
    It starts with no engine up (then /ready says 503), re-reads its configuration on SIGHUP, and on SIGTERM
    finishes what is running.

    \b
    Examples:
      prefixgate serve --engine http://127.0.0.1:30000 --engine http://127.0.0.1:30001
      prefixgate serve --config gateway.yaml --check
      curl http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\
        -d '{"model": "my-model", "messages": [{"role": "user", "content": "Hi"}]}'
    """
    import os

    from gateway.config_file import load_config
    from gateway.credentials import load_secrets
    from gateway.otlp_settings import find_otlp
    from gateway.tls import check_tls

    options["engines"] = options["engines"] or None
    options["redis"] = options["redis"] and {"url": options["redis"]}

    def load() -> Any:
        return load_config(path, options)

    config = load()
    if check:
        secrets = load_secrets(config, os.environ)
        find_otlp(config.otlp_endpoint, config.otlp_protocol, config.tracing, os.environ)
        check_tls(config)
        if config.redis.url is not None:
            import asyncio

            from gateway.shared.redis_start import redis_link

            asyncio.run(redis_link().check_redis(config.redis, secrets.redis))
        click.echo(f"{path or 'command line'}: valid ({len(config.engines)} engines, policy {config.policy})")
        return
    if config.processes > 1:
        from gateway.processes.command import run
    else:
        from gateway.serve import run

    run(config, load)


@click.group()
def key() -> None:
    """Make API keys for customers."""


@key.command("new")
def new() -> None:
    """Print a new API key once, and the hash to put into the configuration.

    \b
    Example:
      prefixgate key new
    """
    from gateway.identity import new_key

    secret, stored = new_key()
    click.echo(f"key (give it to the customer, it is shown only now): {secret}")
    click.echo(f"hash (put it under customers.<name>.keys):          {stored}")


@click.command()
@click.option("--config", "path", type=click.Path(path_type=Path), help="YAML file.")
def config(path: Path | None) -> None:
    """Show the effective configuration: the file's values and the defaults, as YAML.

    \b
    Example:
      prefixgate config --config gateway.yaml
    """
    import msgspec
    import yaml

    from gateway.config_file import load_config

    effective = load_config(path, {})
    values = msgspec.to_builtins(effective)
    values["redis"]["url"] = effective.redis.shown
    click.echo(yaml.safe_dump(values, sort_keys=False).rstrip())


def main() -> None:
    """Entry point: named errors are one line and exit 2, never a traceback unless --debug."""
    try:
        cli(prog_name="prefixgate")
    except PrefixgateError as error:
        if "--debug" in sys.argv:
            raise
        click.echo(f"prefixgate: {error}", err=True)
        sys.exit(2)
