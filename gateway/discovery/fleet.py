"""Keeping the workers what the sources say: adds what appears, drains what should finish, removes what is gone.

Only what it added itself is touched: an engine of `POST /workers` stays, and one an operator removed stays away until
its source lets it go and lists it anew. A URL that several sources list is there while one of them lists it.
"""

import asyncio
import logging
from collections.abc import Mapping

from gateway.config import Config
from gateway.discovery import Endpoints, Source
from gateway.discovery.dns import DnsSource
from gateway.discovery.file import FileSource
from gateway.discovery.settings import DiscoveryConfig
from gateway.errors import Refusal
from gateway.health import Health
from gateway.workers import Worker, Workers

_log = logging.getLogger("prefixgate")
_STATIC = "engines"


class Fleet:
    """Follows every source while it is entered. Use as an async context manager."""

    def __init__(self, config: Config, workers: Workers, health: Health) -> None:
        self._config = config
        self._workers = workers
        self._health = health
        self._told: dict[str, Endpoints] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._listed: dict[str, bool] = {}
        self._added: dict[str, str] = {}
        self._drained: set[str] = set()

    async def __aenter__(self) -> "Fleet":
        self.configure(self._config)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def configure(self, config: Config) -> None:
        """Follow the sources of another configuration; those in both go on."""
        self._told[_STATIC] = dict.fromkeys(config.engines, True)
        sources = _sources(config.discovery)
        for name in self._tasks.keys() - sources:
            self._tasks.pop(name).cancel()
            self._told.pop(name, None)
        for name, source in sources.items():
            if name not in self._tasks:
                self._tasks[name] = asyncio.get_running_loop().create_task(self._follow(name, source))
        self._apply()

    async def _follow(self, name: str, source: Source) -> None:
        async for endpoints in source.watch():
            self._told[name] = endpoints
            self._apply()

    def _apply(self) -> None:
        before, self._listed = self._listed, _union(self._told)
        workers = {worker.url: worker for worker in self._workers}
        for url in before.keys() - self._listed.keys():
            self._drained.discard(url)
            name = self._added.pop(url, None)
            if name is not None and url in workers:
                self._health.remove(name)
        for url, ready in self._listed.items():
            if url not in before and url not in workers:
                self._add(url, workers)
            if url in self._added and url in workers:
                self._set_ready(workers[url], ready=ready)

    def _add(self, url: str, workers: dict[str, Worker]) -> None:
        try:
            worker = self._health.add(url)
        except Refusal as error:
            _log.warning("discovery: %s: %s", url, error)
        else:
            workers[url] = worker
            self._added[url] = worker.id

    def _set_ready(self, worker: Worker, *, ready: bool) -> None:
        """Only a drain of ours is taken back, not an operator's."""
        if not ready and not worker.drained:
            self._workers.drain(worker)
            self._drained.add(worker.url)
        elif ready and worker.url in self._drained:
            self._drained.discard(worker.url)
            self._workers.resume(worker)


def _union(told: Mapping[str, Endpoints]) -> dict[str, bool]:
    union: dict[str, bool] = {}
    for endpoints in told.values():
        for url, ready in endpoints.items():
            union[url] = union.get(url, False) or ready
    return union


def _sources(config: DiscoveryConfig) -> dict[str, Source]:
    """By a name that says all that is configured of it."""
    every = config.interval_s
    sources: dict[str, Source] = {f"file {path} {every}": FileSource(path, every) for path in config.files}
    sources |= {f"{url} {every}": DnsSource(url, every) for url in config.dns}
    if config.kubernetes:
        from gateway.discovery.kubernetes import KubernetesSource  # its HTTP client takes long to import

        sources |= {f"kubernetes {each}": KubernetesSource(each) for each in config.kubernetes}
    return sources
