"""What the engines say of themselves while the run goes on: running, waiting, KV memory, accepted draft tokens.

A gateway is asked for its `/workers`, and each engine behind it, if it can be reached from here, for its `/metrics`;
an engine is asked for its load path and `/metrics`. What does not answer is left out: nothing here may end a run.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, Self

import aiohttp
import msgspec

from engine_adapter.kinds import ENGINES
from gateway.bench.client import Now, read_up_to
from prefix.errors import EngineError

EVERY_S: Final = 1.0
_PATIENCE: Final = aiohttp.ClientTimeout(total=2.0)
_LONGEST: Final = 4 << 20

RUNNING, WAITING, KV_USE, ACCEPTED = "running", "waiting", "kv_use", "accepted_draft_tokens"
UNITS: Final = {
    RUNNING: "requests",
    WAITING: "requests",
    KV_USE: "share of KV memory",
    ACCEPTED: "tokens a step",
}
_DRAFTS, _OF_DRAFTS = "drafts", "accepted of drafts"
_METRICS: Final = {
    "sglang:num_running_reqs": RUNNING,
    "sglang:num_queue_reqs": WAITING,
    "sglang:token_usage": KV_USE,
    "sglang:spec_accept_length": ACCEPTED,
    "vllm:num_requests_running": RUNNING,
    "vllm:num_requests_waiting": WAITING,
    "vllm:kv_cache_usage_perc": KV_USE,
    "vllm:gpu_cache_usage_perc": KV_USE,
    "vllm:spec_decode_num_drafts_total": _DRAFTS,
    "vllm:spec_decode_num_accepted_tokens_total": _OF_DRAFTS,
    "llamacpp:requests_processing": RUNNING,
    "llamacpp:requests_deferred": WAITING,
    "llamacpp:kv_cache_usage_ratio": KV_USE,
}
_SAMPLE: Final = re.compile(
    rf"^({'|'.join(_METRICS)})(?:\{{.*\}})? ([-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|NaN|Inf))(?: [0-9.]+)?$",
    re.MULTILINE,
)
"""Not the Prometheus client's parser: thousands of samples would hold up a running measurement."""

_ADDED: Final = frozenset((RUNNING, WAITING, _DRAFTS, _OF_DRAFTS))
_LOAD_PATHS: Final = tuple(dict.fromkeys(path for engine in ENGINES for path in engine.load_paths))


class Gauge(msgspec.Struct, frozen=True, gc=False):
    """One look at one engine. at_s: seconds after the run's start."""

    at_s: float
    engine: str
    name: str
    value: float


class WorkerRow(msgspec.Struct, frozen=True):
    """One worker of a gateway, as far as it is read here. None: unknown."""

    id: str
    url: str
    running: int | None = None
    waiting: int | None = None
    kv_used_tokens: int | None = None
    kv_capacity_tokens: int | None = None

    def gauges(self) -> dict[str, float]:
        """What it tells."""
        used, room = self.kv_used_tokens, self.kv_capacity_tokens
        told = {
            RUNNING: self.running,
            WAITING: self.waiting,
            KV_USE: used / room if room and used is not None else None,
        }
        return {name: value for name, value in told.items() if value is not None}


class _Workers(msgspec.Struct):
    workers: tuple[WorkerRow, ...]


class Sampler:
    """Looks at a target, and at the engines that are known besides, once a second until it is cancelled.

    headers: for the target only, never for an engine that it names. Use as an async context manager.
    """

    def __init__(self, url: str, engines: Sequence[str], now: Now, headers: Mapping[str, str]) -> None:
        self.seen: list[Gauge] = []
        self._url, self._engines, self._now, self._headers = url, list(engines), now, headers
        self._http = aiohttp.ClientSession(timeout=_PATIENCE)
        self._silent: set[str] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY_S)

    async def look(self) -> None:
        """Once."""
        rows = decode_workers(await self._get(f"{self._url}/workers") or b"")
        told: dict[str, dict[str, float]] = {}
        for row in rows:
            told[row.url] = row.gauges()
        for url in dict.fromkeys([*(row.url for row in rows), *self._engines] or [self._url]):
            told[url] = told.get(url, {}) | await self._engine(url)
        at_s = self._now()
        self.seen += [Gauge(at_s, url, name, value) for url, each in told.items() for name, value in each.items()]

    async def _engine(self, url: str) -> dict[str, float]:
        page = await self._get(f"{url}/metrics") or b""
        found = decode_metrics(page.decode(errors="replace")) or decode_load(page)
        if RUNNING in found:
            return found
        for path in _LOAD_PATHS:
            if path != "/metrics" and (raw := await self._get(url + path)) is not None:
                return decode_load(raw) | found
        return found

    async def _get(self, url: str) -> bytes | None:
        """The answer; None for anything but a 200. What does not answer once is not asked again."""
        if url in self._silent:
            return None
        try:
            headers = self._headers if url.startswith(f"{self._url}/") else {}
            async with self._http.get(url, headers=headers, allow_redirects=False) as response:
                if response.status == 200:
                    return await read_up_to(response, _LONGEST)
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass
        self._silent.add(url)
        return None


def decode_workers(raw: bytes) -> list[WorkerRow]:
    """The rows at a gateway's /workers; [] when it is no such answer."""
    try:
        return list(msgspec.json.decode(raw, type=_Workers).workers)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def decode_load(raw: bytes) -> dict[str, float]:
    """The gauges in an engine's answer at a load path, by the first kind that reads it."""
    for engine in ENGINES:
        try:
            load = engine.parse_load(raw)
        except EngineError:
            continue
        if load is not None:
            counts = {RUNNING: load.running, WAITING: load.waiting}
            return {name: float(count) for name, count in counts.items() if count is not None}
    return {}


def decode_metrics(page: str) -> dict[str, float]:
    """The gauges on an engine's /metrics: requests added up over ranks, shares and lengths their mean.

    SGLang tells an accepted length of 0 where it does not speculate: then there is none. vLLM counts since its start.
    """
    found: dict[str, list[float]] = {}
    for metric, spelled in _SAMPLE.findall(page):
        name = _METRICS[metric]
        if isfinite(value := float(spelled)) and (value or name != ACCEPTED):
            found.setdefault(name, []).append(value)
    told = {name: sum(values) / (1 if name in _ADDED else len(values)) for name, values in found.items()}
    drafts, accepted = told.pop(_DRAFTS, 0.0), told.pop(_OF_DRAFTS, 0.0)
    return told | ({ACCEPTED: 1 + accepted / drafts} if drafts else {})


def over_time(gauges: Sequence[Gauge]) -> Mapping[str, Mapping[str, list[tuple[float, float]]]]:
    """The looks by gauge and engine, as (time, value)."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for gauge in gauges:
        found.setdefault(gauge.name, {}).setdefault(gauge.engine, []).append((gauge.at_s, gauge.value))
    return found
