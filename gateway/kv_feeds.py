"""Which streams of KV events are followed: those of the engines that publish, one for each DP rank.

Looks at the workers a few times a second, so it needs no hooks where they come and go. Which state a worker is in
("exact" or "predicted"), and why, is worked out where it is asked for.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from engine_adapter.kv_stream import KvStream
from gateway.config import Config
from gateway.kv_settings import KvSource
from gateway.models import ModelGroup
from gateway.paging import Paging
from gateway.ranks import rank_names
from gateway.router import INDEX_CAPACITY_BLOCKS
from gateway.workers import Worker, Workers
from prefix.errors import ConfigError
from prefix.pages import HeldPages
from telemetry.catalog import (
    KV_EVENTS_DELIVERED,
    KV_EVENTS_EXACT,
    KV_EVENTS_GAPS,
    KV_EVENTS_LAG,
    KV_EVENTS_PREDICTED,
    KV_EVENTS_RESYNCS,
)
from telemetry.points import Family

if TYPE_CHECKING:
    from gateway.kv_feed import KvFeed  # and with it pyzmq

_LOOK_S = 0.25
_OFF = "not switched on: kv_events.enabled"
_SILENT = "publishes no KV events"


class KvFeeds:
    """Follows the streams while it is entered. paging: what renders prompts."""

    def __init__(self, config: Config, workers: Workers, paging: Paging) -> None:
        _check_installed(config)
        self._config = config.kv_events
        self._workers = workers
        self._paging = paging
        self._feeds: dict[str, tuple[KvFeed, AsyncExitStack, tuple[object, ...]]] = {}

    def configure(self, config: Config) -> None:
        """Use another configuration from the next look on. Raises ConfigError."""
        _check_installed(config)
        self._paging.configure(config.kv_events)
        self._config = config.kv_events

    async def __aenter__(self) -> Self:
        self._task = asyncio.ensure_future(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._task.cancel()
        for name in tuple(self._feeds):
            await self._stop(name)

    def feed(self, name: str) -> "KvFeed | None":
        """The stream of a worker's name in its router."""
        found = self._feeds.get(name)
        return None if found is None else found[0]

    def describe(self, worker: Worker) -> dict[str, Any]:
        """The section `kv_events` of a worker: whether it is exact and if not why, and its streams."""
        names = rank_names(worker.id, worker.ranks)
        feeds = [feed for feed in map(self.feed, names) if feed is not None]
        exact = bool(feeds) and all(feed.exact.trusted for feed in feeds)
        silent = _SILENT if self._config.enabled else _OFF
        reasons = [feed.exact.reason for feed in feeds if not feed.exact.trusted] or [silent]
        return {
            "state": "exact" if exact else "predicted",
            "reason": None if exact else reasons[0],
            "lag_s": max((feed.stream.lag_s for feed in feeds if feed.stream.lag_s is not None), default=None),
            "gaps": sum(feed.stream.counts.gaps for feed in feeds),
            "resyncs": sum(feed.stream.counts.resyncs for feed in feeds),
            "ranks": [_describe(feed) for feed in feeds],
        }

    def families(self) -> Iterator[Family]:
        """Their metrics; safe to call from another thread."""
        feeds = [feed for feed, *_ in tuple(self._feeds.values())]
        for metric, value in (
            (KV_EVENTS_EXACT, lambda feed: int(feed.exact.trusted)),
            (KV_EVENTS_LAG, lambda feed: feed.stream.lag_s),
            (KV_EVENTS_GAPS, lambda feed: feed.stream.counts.gaps),
            (KV_EVENTS_RESYNCS, lambda feed: feed.stream.counts.resyncs),
            (KV_EVENTS_PREDICTED, lambda feed: feed.exact.predicted_tokens),
            (KV_EVENTS_DELIVERED, lambda feed: feed.exact.delivered_tokens),
        ):
            points = [((feed.name,), value(feed)) for feed in feeds[: metric.limit]]
            yield Family(metric, tuple((name, each) for name, each in points if each is not None))

    async def _run(self) -> None:
        while True:
            await self._look()
            await asyncio.sleep(_LOOK_S)

    async def _look(self) -> None:
        wanted: set[str] = set()
        for worker in self._workers:
            source = self._source(worker)
            group = self._workers.models.group_of(worker.id)
            if source is None or group is None:
                continue
            for rank, name in enumerate(rank_names(worker.id, worker.ranks)):
                wanted.add(name)
                await self._follow(name, source, rank if worker.ranks > 1 else None)
                self._attach(name, group, worker)
        for name in self._feeds.keys() - wanted:
            await self._stop(name)

    def _source(self, worker: Worker) -> KvSource | None:
        if not self._config.enabled:
            return None
        told = worker.info.kv_events if worker.info is not None else None
        if told is None or worker.url in self._config.engines:
            return self._config.engines.get(worker.url)
        host = told.host or urlsplit(worker.url).hostname or ""
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        replay = None if told.replay_port is None else f"tcp://{host}:{told.replay_port}"
        return KvSource(f"tcp://{host}:{told.port}", replay, told.topic)

    async def _follow(self, name: str, source: KvSource, rank: int | None) -> None:
        endpoint, replay = source.of_rank(rank or 0)
        key = (endpoint, replay, source.topic, rank, self._config.max_lag_s)
        if name in self._feeds:
            if self._feeds[name][2] == key:
                return
            await self._stop(name)
        held = HeldPages(INDEX_CAPACITY_BLOCKS)
        from gateway.kv_feed import KvFeed

        stream = KvStream(held, topic=source.topic.encode(), rank=rank, replays=replay is not None)
        feed = KvFeed(
            name, endpoint, replay, stream, max_lag_s=self._config.max_lag_s, emptied=self._workers.models.emptied
        )
        stack = AsyncExitStack()
        await stack.enter_async_context(feed)
        self._feeds[name] = feed, stack, key

    def _attach(self, name: str, group: ModelGroup, worker: Worker) -> None:
        """Tell the router what the stream says, and see what stands in its way."""
        feed = self._feeds[name][0]
        page = feed.stream.held.page_tokens
        feed.stream.held.limit = INDEX_CAPACITY_BLOCKS // max(1, len(self._feeds))
        if group.page_tokens is None:
            told = worker.info.kv_events if worker.info is not None else None
            group.page_tokens = page or (told.block_size if told is not None else None)
        feed.obstacle = None
        if group.name not in self._paging:
            feed.obstacle = f"no tokenizer for {group.name}: set kv_events.models"
        elif page not in (None, group.page_tokens):
            feed.obstacle = f"pages of {page} tokens where the model's other engines have {group.page_tokens}"
        feed.settle()
        group.router.use_events(name, feed.exact)

    async def _stop(self, name: str) -> None:
        _, stack, _ = self._feeds.pop(name)
        await stack.aclose()
        for group in self._workers.models:
            if name in group.router.holdings():
                group.router.use_events(name, None)


def _check_installed(config: Config) -> None:
    if config.kv_events.enabled and find_spec("zmq") is None:
        raise ConfigError("kv_events needs the package pyzmq: pip install 'prefixgate[sglang]'")


def _describe(feed: "KvFeed") -> dict[str, Any]:
    stream, exact = feed.stream, feed.exact
    counts = stream.counts
    return {
        "id": feed.name,
        "endpoint": feed.endpoint,
        "state": "exact" if exact.trusted else "predicted",
        "reason": exact.reason,
        "seq": stream.seq,
        "pages": len(stream.held),
        "lag_s": stream.lag_s,
        **{name: getattr(counts, name) for name in counts.__slots__},
        "trouble": stream.trouble,
        "orphan_pages": stream.held.orphans,
        "compared_requests": exact.compared,
        "right_requests": exact.right,
        "predicted_tokens": exact.predicted_tokens,
        "delivered_tokens": exact.delivered_tokens,
    }
