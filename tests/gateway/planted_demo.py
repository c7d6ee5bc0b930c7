"""The demo's traffic with five faults planted at once, each in traffic of its own.

One idea: a fault costs what a replay without it saves, and that is told apart from other faults only where they do
not hit the same tokens. So each has its place: a clock in version v2 of `support`, tools in another order each time
on `code`, a customer of `support` v1 who salts every conversation, `search` placed in turn, and the engine that the
others of `support` v1 have for themselves, with too small a cache. Routes, customers, versions and words are the
demo's, and so is the order and rhythm of arrivals; at PACE engines have no queues, so that load sends nobody away.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import cycle
from random import Random
from typing import Any

from engine_adapter.engine_request import EngineConfig
from gateway.demo.workload import DemoRequest, build_workload
from gateway.trace_file import BUNDLED_BLOCK_TOKENS, BUNDLED_TRACE, read_trace
from tests.cases import wire
from tests.gateway.planted import TOKEN_BYTES, Preparing, Prompt, by_group, serve

FAULTS = {
    "clock": "divergent",
    "tools": "divergent",
    "small_cache": "evicted",
    "salt": "isolated",
    "round_robin": "routed_away",
}
"""Each fault and its reason."""

SALTED = "acme"
SMALL, LARGE = "0", ("1", "2", "3")
SMALL_TOKENS, LARGE_TOKENS = 40_000, 4_000_000
PACE = 4.0
"""Requests a second."""
_CLOCK = re.compile(r"^Current time: .* UTC\.\n")


def requests(count: int) -> tuple[DemoRequest, ...]:
    """So many requests of the demo, at its own pace."""
    trace = read_trace(BUNDLED_TRACE)
    return build_workload(
        trace, block_tokens=BUNDLED_BLOCK_TOKENS, count=count, seconds=count / PACE, model="m"
    ).requests


def traffic(faults: Iterable[str], count: int) -> list[Prompt]:
    """The prompts with these faults planted, but for those of the engines and of where `search` goes."""
    planted = frozenset(faults)
    preparing = Preparing("off")
    turns, prompts = cycle(LARGE), []
    for number, request in enumerate(requests(count)):
        body: dict[str, Any] = json.loads(request.body)
        salted = request.labels == ("support", SALTED, "v1")
        workers = (SMALL,) if request.labels[::2] == ("support", "v1") and not salted else LARGE
        if request.route == "search" and "round_robin" in planted:
            workers = (next(turns),)
        if "clock" not in planted:
            system = body["messages"][0]
            system["content"] = _CLOCK.sub("", system["content"])
        if "tools" in body:
            body["tools"].sort(key=lambda tool: tool["function"]["name"])
            if "tools" in planted:
                Random(number).shuffle(body["tools"])
        salt = talk(body) if salted and "salt" in planted else ""
        group = SALTED if salted else f"{request.route} {request.prompt_version}"
        prompts.append(
            preparing.prompt(request.arrival_s, wire(body), salt, None, group=group, workers=workers, output_tokens=8)
        )
    return prompts


def talk(body: dict[str, Any]) -> str:
    """Which conversation a body belongs to."""
    return str(body["messages"][1]["content"][:64])


def replay(faults: Iterable[str], count: int, page: int = 1) -> dict[str, Counter[str]]:
    """Uncached tokens by reason, of each group of traffic."""
    planted = frozenset(faults)
    sizes = [SMALL_TOKENS if "small_cache" in planted else LARGE_TOKENS, *[LARGE_TOKENS] * len(LARGE)]
    engines = [EngineConfig(page_tokens=page, page_bytes=TOKEN_BYTES * page, kv_capacity_tokens=s) for s in sizes]
    prompts = traffic(planted, count)
    return by_group(prompts, serve(prompts, "expected-ttft", engines, page))
