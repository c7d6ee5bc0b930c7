"""Traffic with everything in it that a panel shows, and what of it must fail.

One lap: two routes with two prompt versions each, streamed and whole answers, more customers than labels, one that
reaches its limit, more requests at once than workers have room for, engines that refuse, hang and die on request, a
client that leaves. Which requests fail is known, because each asks for its fault.
"""

import asyncio
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from gateway.config import RouteConfig
from gateway.kv_settings import KvEventsConfig
from gateway.limits import Limits
from gateway.model_routes import ModelRule
from tests.gateway.running import CHAT, Running
from tests.soak.faults import FAULT

CUSTOMERS: Final = 60
GREEDY: Final = 60
_BURST: Final = 30
_FAILING: Final = (
    "status=500",
    "status=500",
    "status=500",
    "status=503",
    "status=503",
    "die=3",
    "die=3",
    "die=0",
    "hang",
)
"""Faults that cost the error budget; on `status=503` and `die=0` another worker is tried in vain."""
_FORGIVEN: Final = ("status=400", "status=400", "lie")
"""What an engine refuses, and counts that cannot be: no failures."""
_NOBODY_SERVES: Final = ModelRule(use="smaller", max_prompt_tokens=1_000_000)
"""Requests keep their model, and are counted as unserved."""

SETTINGS: Final[dict[str, Any]] = {
    "routes": {"chat": RouteConfig(), "docs": RouteConfig(level="hoist", models=(_NOBODY_SERVES,))},
    "kv_events": KvEventsConfig(enabled=True),
    "limits": Limits(requests_per_s=0.5, burst=_BURST),
    "max_in_flight": 4,
    "queue_size": 500,
    "first_byte_timeout_s": 5.0,
}
"""Settings of the gateway that this traffic is made for."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What clients saw of a lap. failed: 5xx and streams without their end. limited: 429."""

    requests: int
    failed: int
    limited: int


def expected_failures() -> int:
    """How many requests of a lap fail."""
    return len(_FAILING)


async def lap(gateway: Running, name: str) -> Seen:
    """Send all of it, as fast as it goes; returns when every answer is there. name: so that no two ask the same."""
    statuses = await asyncio.gather(*_requests(gateway, name))
    await _leave(gateway)
    failed = sum(status is None or status >= 500 for status in statuses)
    return Seen(len(statuses) + 1, failed, sum(status == 429 for status in statuses))


def _requests(gateway: Running, lap_name: str) -> Iterator[Awaitable[int | None]]:
    for turn in range(3):
        for route in ("chat", "docs"):
            for version in ("v1", "v2"):
                for customer in ("ann", "bob", "cat", "dan", "eve", "fay"):
                    body = _body(route, version, f"{lap_name}: {customer}'s question {turn}", stream=turn % 2 == 0)
                    yield _ask(gateway, body, route, version, customer)
    for number in range(CUSTOMERS):
        yield _ask(
            gateway, _body("chat", "v1", f"{lap_name}: question of {number}"), "chat", "v1", f"customer{number}"
        )
    for number in range(GREEDY):
        yield _ask(gateway, _body("chat", "v2", f"{lap_name}: again {number}"), "chat", "v2", "greedy")
    for number, fault in enumerate((*_FAILING, *_FORGIVEN)):
        body = _body("docs", "v1", f"{lap_name}: fail {number}", stream="die" in fault, max_tokens=64)
        yield _ask(gateway, body, "docs", "v1", f"unlucky{number % 3}", fault)


def _body(route: str, version: str, question: str, *, stream: bool = False, max_tokens: int = 16) -> dict[str, Any]:
    """A conversation behind a long system text: on one route with a clock in it, on the other with unsorted tools."""
    rules = " ".join(f"Rule {n} of {route} {version}: be brief, and say what you do not know." for n in range(40))
    clock = "Current time: 2026-11-30T12:00:00Z\n" if route == "docs" else ""
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("write", "read")]
    said = [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Hello. What is it?"}]
    asked = {"role": "user", "content": 30 * f"{question}. "}
    messages = [{"role": "system", "content": clock + rules}, *said, asked]
    more = {"tools": tools} if route == "chat" else {}
    sampling = {"stream": stream, "max_tokens": max_tokens, "ignore_eos": True}
    return {"model": "m", "messages": messages, **sampling, **more}


async def _ask(
    gateway: Running, body: dict[str, Any], route: str, version: str, customer: str, fault: str | None = None
) -> int | None:
    """The answer's status; None when it broke off or was a stream without its end."""
    names = {"route": route, "prompt-version": version, "customer": customer}
    headers = {f"x-prefixgate-{name}": value for name, value in names.items()}
    if fault is not None:
        headers[FAULT] = fault
    try:
        async with gateway.post(CHAT, body, **headers) as response:
            answer = await response.read()
    except aiohttp.ClientError:
        return None
    whole = not body["stream"] or response.status != 200 or answer.endswith(b"data: [DONE]\n\n")
    return int(response.status) if whole else None


async def _leave(gateway: Running) -> None:
    """A client that goes away in the middle of its answer."""
    body = _body("chat", "v1", "a long answer", stream=True, max_tokens=2000)
    async with gateway.post(CHAT, body, **{"x-prefixgate-route": "chat", "x-prefixgate-customer": "ann"}) as response:
        await response.content.readany()
