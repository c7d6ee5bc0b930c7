#!/usr/bin/env python3
"""Real SGLang engines on a CPU: set up and started with one command, stopped all together.

    python examples/real_sglang_cpu/run.py start --engines 2 --port 21500

Needs Linux and Python 3.11+ with pip; a GPU, Docker and an account are not needed. Standard library only.
"""

import argparse
import signal
import sys
import time
from pathlib import Path

import install
from engine_process import PORT_STEP, CannotStartError, EngineProcess, EngineProcessError, Options


def main() -> int:
    """Run a subcommand: 0 done, 1 it failed, 2 it was asked for wrongly."""
    arguments, extra = split_extra(sys.argv[1:])
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if options.command == "setup":
            return setup()
        return start(options, extra)
    except CannotStartError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (EngineProcessError, install.InstallError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def split_extra(arguments: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """What follows `--` is SGLang's own command line."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], tuple(arguments[at + 1 :])


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main_parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").split("\n")[0])
    commands = main_parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup", help="install SGLang and make the tiny model (once; 2 minutes, 1.6 GB)")
    add = commands.add_parser(
        "start",
        help="start engines (sets up first) and keep them until Ctrl-C",
        epilog="what follows -- goes to SGLang as it is",
    ).add_argument
    add("--engines", type=positive, default=2, metavar="N", help="how many (default: %(default)s)")
    add("--port", type=port, default=21500, help="first engine's port; the next ones are 10 apart, each takes 4")
    add("--model", type=Path, help="model directory (default: the tiny model of setup)")
    add("--served-name", default="tiny", help="the model's name (default: %(default)s)")
    add("--page-size", type=positive, default=16, metavar="TOKENS", help="page size (default: %(default)s)")
    add("--kv-tokens", type=positive, default=32768, metavar="TOKENS", help="KV cache (default: %(default)s)")
    add("--context-length", type=positive, default=4096, metavar="TOKENS", help="(default: %(default)s)")
    add("--dtype", choices=("float32", "bfloat16"), default="float32", help="(default: %(default)s)")
    add("--no-cache-report", action="store_true", help="without --enable-cache-report: cached tokens stay unknown")
    add("--no-kv-events", action="store_true", help="without the ZMQ stream of KV events")
    add("--timeout", type=positive, default=300, metavar="S", help="longest start (default: %(default)s s)")
    return main_parser


def positive(text: str) -> int:
    """An integer above zero."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def port(text: str) -> int:
    """A port below Linux's ephemeral range, out of which SGLang takes its own sockets."""
    number = positive(text)
    if not 1024 <= number < 32768:
        raise argparse.ArgumentTypeError(f"{text} is not between 1024 and 32767")
    return number


def setup() -> int:
    """Install what is missing."""
    where = install.home()
    install.set_up(where, say)
    say(f"ready: {where}")
    return 0


def start(options: argparse.Namespace, extra: tuple[str, ...]) -> int:
    """Start the engines, print how to use them, wait for Ctrl-C; whatever happens, none is left running."""
    where = install.home()
    if options.model and not (options.model / "config.json").is_file():
        raise CannotStartError(f"no model in {options.model} (no config.json there)")
    ports = range(options.port, options.port + PORT_STEP * options.engines, PORT_STEP)
    engines = [EngineProcess(where, number, read_options(options, where, extra)) for number in ports]
    for engine in engines:
        engine.check_ports()
    install.set_up(where, say)
    try:
        for engine in engines:
            engine.start()
        for engine in engines:
            engine.wait(options.timeout, progress)
            say(f"engine on port {engine.port}: ready")
        announce(engines)
        return watch(engines)
    finally:
        for engine in engines:
            engine.stop()


def read_options(options: argparse.Namespace, where: Path, extra: tuple[str, ...]) -> Options:
    """The engine's options out of the command line."""
    return Options(
        model=options.model or where / "tiny",
        served_name=options.served_name,
        page_size=options.page_size,
        kv_tokens=options.kv_tokens,
        context_length=options.context_length,
        dtype=options.dtype,
        cache_report=not options.no_cache_report,
        kv_events=not options.no_kv_events,
        extra=extra,
    )


def announce(engines: list[EngineProcess]) -> None:
    """Print the URLs and the gateway's command line; warn about an engine that will not report its hits."""
    for engine in engines:
        info = engine.get_json("/server_info")
        print(f"{engine.url}  pid {engine.process.pid if engine.process else '-'}  log {engine.log}")
        if not info["enable_cache_report"]:
            warning = "runs without --enable-cache-report: its cached tokens stay unknown"
            print(f"warning: {engine.url} {warning}", file=sys.stderr)
    print("\n  prefixgate serve " + " ".join(f"--engine {engine.url}" for engine in engines))
    print("\nCtrl-C stops the engines.", flush=True)


def watch(engines: list[EngineProcess]) -> int:
    """Return when an engine has ended by itself, with one line about it."""
    while True:
        for engine in engines:
            if not engine.running():
                raise EngineProcessError(f"engine on port {engine.port} ended: {engine.last_words()}")
        time.sleep(0.5)


def say(line: str) -> None:
    """A line of progress, on stderr."""
    print(("\r\033[K" if sys.stderr.isatty() else "") + line, file=sys.stderr, flush=True)


def progress(line: str) -> None:
    """A line that the next one replaces; without a terminal, one line every 10 s or so is enough."""
    if sys.stderr.isatty():
        print("\r\033[K" + line, end="", file=sys.stderr, flush=True)
    elif line.endswith("0 s"):
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
