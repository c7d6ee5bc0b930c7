"""Looks at engines for a while: what `diagnose` knows of a live system. The edge; nothing here judges.

A gateway is asked for its `/workers`, and each engine behind it for `/metrics`; an engine for its own.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

import aiohttp
import msgspec

from gateway.bench.client import read_up_to
from gateway.bench.gauges import decode_workers
from gateway.diagnose.evidence import Around, Setup
from gateway.diagnose.page import Page, observed, read_pages
from prefix.errors import EngineError

EVERY_S: Final = 2.0
_PATIENCE: Final = aiohttp.ClientTimeout(total=5.0)
_LONGEST: Final = 16 << 20


class _Info(msgspec.Struct):
    max_running_requests: int | None = None
    max_total_num_tokens: int | None = None
    page_size: int | None = None
    chunked_prefill_size: int | None = None
    context_length: int | None = None


class _RankLoad(msgspec.Struct):
    max_running_requests: int | None = None


class _Loads(msgspec.Struct):
    loads: tuple[_RankLoad, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """looks: of all engines together. gateway: its first and last page, where one was there."""

    looks: list[Page]
    seconds: float
    setup: Setup
    gateway: tuple[Page, Page] | None


async def watch(url: str, seconds: float, headers: dict[str, str], looked: Callable[[float], None]) -> Seen:
    """Look every other second. Raises EngineError when nothing answers there."""
    async with aiohttp.ClientSession(timeout=_PATIENCE) as http:
        workers = decode_workers(await _get(http, f"{url}/workers", headers) or b"")
        engines = list(dict.fromkeys(row.url for row in workers)) or [url]
        setup = await _setup(http, engines)
        behind = bool(workers)
        first = await _page(http, url, headers) if behind else None
        began, looks = monotonic(), [await _pages(http, engines)]
        while (rest := began + seconds - monotonic()) > 0:
            await asyncio.sleep(min(EVERY_S, rest))
            looks.append(await _pages(http, engines))
            looked(min(seconds, monotonic() - began))
        last = await _page(http, url, headers) if behind else None
        around = (first, last) if first is not None and last is not None else None
        return Seen(looks, monotonic() - began, setup, around)


def around(seen: Seen) -> Around:
    """What the gateway's own histograms say of the time around the engines."""
    if seen.gateway is None:
        return Around()
    first, last = seen.gateway
    own = [observed(first, last, f"prefixgate_{name}_duration_seconds") for name in ("overhead", "queue")]
    if own[0] is None:
        return Around()
    gateway_s = sum(each.mean for each in own if each is not None)
    there = observed(first, last, "gen_ai_server_time_to_first_token_seconds")
    engine = observed(seen.looks[0], seen.looks[-1], "sglang:time_to_first_token_seconds")
    if there is None or engine is None:
        return Around(gateway_s)
    return Around(gateway_s, max(0.0, there.mean - engine.mean - gateway_s))


async def _setup(http: aiohttp.ClientSession, engines: list[str]) -> Setup:
    """The first engine's flags: replicas are taken to be alike. A cut chunk size of -1 means none."""
    info = _read(await _get(http, f"{engines[0]}/server_info", {}), _Info)
    loads = _read(await _get(http, f"{engines[0]}/v1/loads", {}), _Loads)
    running = loads.loads[0].max_running_requests if loads.loads else None
    chunk = info.chunked_prefill_size
    return Setup(
        engines=len(engines),
        max_running=running or info.max_running_requests,
        kv_capacity_tokens=info.max_total_num_tokens,
        page_tokens=info.page_size,
        chunk_tokens=chunk if chunk and chunk > 0 else None,
        context_tokens=info.context_length,
    )


def _read(raw: bytes | None, kind: Any) -> Any:
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return kind()


async def _pages(http: aiohttp.ClientSession, engines: list[str]) -> Page:
    raw = await asyncio.gather(*(_get(http, f"{engine}/metrics", {}) for engine in engines))
    for engine, page in zip(engines, raw, strict=True):
        if page is None:
            raise EngineError(f"{engine}/metrics: no answer; is the engine up, and started with --enable-metrics?")
    return read_pages([page.decode(errors="replace") for page in raw if page is not None])


async def _page(http: aiohttp.ClientSession, url: str, headers: dict[str, str]) -> Page | None:
    raw = await _get(http, f"{url}/metrics", headers)
    return None if raw is None else read_pages([raw.decode(errors="replace")])


async def _get(http: aiohttp.ClientSession, url: str, headers: dict[str, str]) -> bytes | None:
    """The answer; None for anything but a 200."""
    try:
        async with http.get(url, headers=headers, allow_redirects=False) as response:
            return await read_up_to(response, _LONGEST) if response.status == 200 else None
    except (aiohttp.ClientError, TimeoutError, OSError):
        return None
