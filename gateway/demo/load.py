"""The open-loop client: every request leaves when its arrival time has come, however late the answers are.

TTFT runs from the *scheduled* arrival to the first event with content, so time lost in this client counts as well
(no coordinated omission); how late requests left is measured on its own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

import aiohttp
import msgspec

from gateway.demo.workload import DemoRequest, Workload

_TIMEOUT: Final = aiohttp.ClientTimeout(total=60, sock_connect=5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the client saw of one request. Seconds after its scheduled arrival; None: it did not come to that."""

    request: DemoRequest
    sent_s: float
    ttft_s: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    error: str | None = None


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int
    prompt_tokens_details: _Details | None = None


class _Event(msgspec.Struct):
    choices: list[_Choice] = msgspec.field(default_factory=list)
    usage: _Usage | None = None
    error: object = None


_EVENT: Final = msgspec.json.Decoder(_Event)


async def replay(workload: Workload, url: str, finished: Callable[[int], None]) -> list[Outcome]:
    """Send every request of `workload` to the gateway at `url`; call `finished(n)` when the n-th one ended."""
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[Outcome]] = []
    done = 0

    def count(_: object) -> None:
        nonlocal done
        done += 1
        finished(done)

    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(url, connector=connector, timeout=_TIMEOUT) as session,
        asyncio.TaskGroup() as group,
    ):
        start = loop.time()
        for request in workload.requests:
            await asyncio.sleep(start + request.arrival_s - loop.time())
            tasks.append(group.create_task(_send(session, request, start + request.arrival_s)))
            tasks[-1].add_done_callback(count)
    return [task.result() for task in tasks]


async def _send(session: aiohttp.ClientSession, request: DemoRequest, due: float) -> Outcome:
    loop = asyncio.get_running_loop()
    sent = loop.time() - due
    headers = {
        "content-type": "application/json",
        "x-prefixgate-route": request.route,
        "x-prefixgate-customer": request.customer,
        "x-prefixgate-prompt-version": request.prompt_version,
    }
    first: float | None = None
    usage: _Usage | None = None
    try:
        async with session.post("/v1/chat/completions", data=request.body, headers=headers) as response:
            if response.status != 200:
                return Outcome(request, sent, error=f"HTTP {response.status}: {(await response.text())[:200]}")
            async for event in _events(response):
                if event.error is not None:
                    return Outcome(request, sent, error=msgspec.json.encode(event.error).decode()[:200])
                if first is None and any(choice.delta.content for choice in event.choices):
                    first = loop.time() - due
                usage = event.usage or usage
    except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
        return Outcome(request, sent, error=f"{type(error).__name__}: {error}")
    if first is None:
        return Outcome(request, sent, error="the stream ended without content")
    if usage is None:
        return Outcome(request, sent, first)
    return Outcome(request, sent, first, usage.prompt_tokens, _cached(usage))


def _cached(usage: _Usage) -> int | None:
    return usage.prompt_tokens_details.cached_tokens if usage.prompt_tokens_details else None


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[_Event]:
    async for line in response.content:
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and data != b"[DONE]":
            yield _EVENT.decode(data)
