"""Engines and gateway as processes of their own, which never outlive their `async with`.

Each gets a free port of the operating system's choosing; when somebody else takes it first, the process ends and is
started once more on another. The children have sessions of their own, so that Ctrl-C reaches this process only,
which then ends them. They write to files, not pipes: nobody has to read along.
"""

import asyncio
import json
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import yaml

from gateway.demo.script import ROUTES
from prefix.errors import EngineError

HOST: Final = "127.0.0.1"
_ATTEMPTS: Final = 2
_READY_WITHIN_S: Final = 30.0
_STOP_WITHIN_S: Final = 5.0
_POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class EngineShape:
    """What one simulated engine is: tokens, tokens a second, milliseconds."""

    model: str
    kv_capacity: int
    prefill_tokens_per_s: int = 25_000
    decode_step_ms: float = 7.0
    page_size: int = 16
    context_length: int = 40_000
    max_running: int = 256


@dataclass(frozen=True, slots=True)
class Fleet:
    """URLs of what runs, without a slash at the end."""

    gateway: str
    engines: tuple[str, ...]


@asynccontextmanager
async def running_fleet(
    engines: int, shape: EngineShape, *, policy: str, level: str, folder: Path
) -> AsyncIterator[Fleet]:
    """Fresh engines (cold caches) and a gateway in front of them, all ready; ended on the way out.

    `folder` takes the configuration and the logs. Raises EngineError when one does not get ready.
    """
    async with AsyncExitStack() as stack:
        command = _engine_command(shape)
        urls = await _start_all(stack, [running(f"engine{n}", command, "/health", folder) for n in range(engines)])
        config = folder / "gateway.yaml"
        config.write_text(
            yaml.safe_dump(
                {"engines": list(urls), "policy": policy, "level": level, "routes": {r: {} for r in ROUTES}}
            )
        )
        gateway = await stack.enter_async_context(running("gateway", _gateway_command(config), "/ready", folder))
        await _all_found(gateway, engines)
        yield Fleet(gateway, urls)


async def _all_found(gateway: str, engines: int) -> None:
    """Wait until the gateway has seen every engine (it is ready with the first one)."""
    found = 0
    deadline = asyncio.get_running_loop().time() + _READY_WITHIN_S
    while found < engines:
        if asyncio.get_running_loop().time() > deadline:
            raise EngineError(f"the gateway found {found} of {engines} engines")
        found = json.loads(await fetch(f"{gateway}/ready"))["engines_up"]
        await asyncio.sleep(_POLL_S)


async def fetch(url: str) -> str:
    """The text at a URL of the fleet. Raises EngineError when there is none."""
    try:
        async with aiohttp.ClientSession(raise_for_status=True) as session, session.get(url) as response:
            return await response.text()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise EngineError(f"{url}: {error or type(error).__name__}") from None


async def _start_all(stack: AsyncExitStack, children: Sequence[AbstractAsyncContextManager[str]]) -> tuple[str, ...]:
    try:
        async with asyncio.TaskGroup() as group:
            starts = [group.create_task(stack.enter_async_context(child)) for child in children]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return tuple(start.result() for start in starts)


def _engine_command(shape: EngineShape) -> Callable[[int], list[str]]:
    flags = {
        "--model": shape.model,
        "--page-size": shape.page_size,
        "--kv-capacity": shape.kv_capacity,
        "--context-length": shape.context_length,
        "--prefill-tokens-per-s": shape.prefill_tokens_per_s,
        "--decode-step-ms": shape.decode_step_ms,
        "--max-running": shape.max_running,
    }
    words = [str(word) for flag in flags.items() for word in flag]
    return lambda port: [
        *(sys.executable, "-m", "engine_adapter.simulated"),
        *("--host", HOST, "--port", str(port)),
        *words,
    ]


def _gateway_command(config: Path) -> Callable[[int], list[str]]:
    return lambda port: [
        *(sys.executable, "-m", "gateway", "serve", "--config", str(config)),
        *("--host", HOST, "--port", str(port)),
    ]


@asynccontextmanager
async def running(name: str, command: Callable[[int], Sequence[str]], ready: str, folder: Path) -> AsyncIterator[str]:
    """A child process whose `ready` path answers 200: its URL. Terminated, else killed, on the way out.

    `command` gives the arguments for a port; the log goes to `folder`. Raises EngineError with the log's last line
    when the child does not get ready.
    """
    log = folder / f"{name}.log"
    for _ in range(_ATTEMPTS):
        port = _free_port()
        process = await _spawn(command(port), log)
        try:
            if await _is_ready(process, f"http://{HOST}:{port}{ready}"):
                yield f"http://{HOST}:{port}"
                return
        finally:
            await _stop(process)
    raise EngineError(f"{name} did not get ready: {_last_line(log)}")


async def _spawn(arguments: Sequence[str], log: Path) -> Process:
    with log.open("wb") as output:
        return await asyncio.create_subprocess_exec(
            *arguments, stdin=DEVNULL, stdout=output, stderr=output, start_new_session=True
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


async def _is_ready(process: Process, url: str) -> bool:
    deadline = asyncio.get_running_loop().time() + _READY_WITHIN_S
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session:
        while process.returncode is None and asyncio.get_running_loop().time() < deadline:
            with suppress(aiohttp.ClientError, TimeoutError):  # not listening yet
                async with session.get(url) as response:
                    if response.status == 200:
                        return True
            await asyncio.sleep(_POLL_S)
    return False


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "it wrote nothing"


async def _stop(process: Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _STOP_WITHIN_S)
    finally:  # a second Ctrl-C ends the waiting, not the cleaning up
        if process.returncode is None:
            process.kill()
            await process.wait()
