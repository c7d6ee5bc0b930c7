"""Engines from Kubernetes: the ready endpoints of a Service, listed once and then watched.

The protocol (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes): a list
gives a resource version, a watch from there gives one JSON object a line, bookmarks move the version on, and 410 (as
a status or as an ERROR event) means that the version is too old: list again. A watch that just ends goes on where it
was. While the API server is away the last answer stands. The service account needs list and watch on
endpointslices.discovery.k8s.io.
"""

import asyncio
import logging
import os
import random
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path

import aiohttp
import msgspec

from gateway.discovery import Endpoints
from gateway.discovery.settings import KubernetesConfig
from gateway.discovery.slices import Event, Slice, SliceList, Status, engines
from prefix.errors import ConfigError

_log = logging.getLogger("prefixgate")
_WATCH_S = 290
_LIST_S = 30.0
_LONGEST_LINE = 32 << 20
_BACKOFF_S = (1.0, 30.0)
_GONE = 410


class _ApiError(Exception):
    """What the API server said no with. status: HTTP's."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"the API server answered {status}: {detail}")
        self.status = status


_TROUBLE = (_ApiError, aiohttp.ClientError, OSError, TimeoutError, msgspec.DecodeError, ConfigError)


class KubernetesSource:
    """One selector in one namespace."""

    def __init__(self, config: KubernetesConfig) -> None:
        self._config = config
        self._account = Path(config.account)
        self._slices: dict[str, Slice] = {}
        self._version: str | None = None

    async def watch(self) -> AsyncIterator[Endpoints]:
        """See `Source`."""
        known: dict[str, bool] | None = None
        failures = 0
        while True:
            try:
                async with await self._session() as session, aclosing(self._looks(session)) as looks:
                    async for found in looks:
                        failures = 0
                        if found != known:
                            known = found
                            yield found
                failures = 0
                await asyncio.sleep(_backoff_s(1))
            except _TROUBLE as error:
                if isinstance(error, _ApiError) and error.status == _GONE:
                    self._version = None
                elif not failures:
                    _log.warning("discovery: kubernetes: %s; the engines found before stay", error)
                failures += 1
                await asyncio.sleep(_backoff_s(failures))

    async def _looks(self, session: aiohttp.ClientSession) -> AsyncGenerator[dict[str, bool]]:
        """The engines after each thing the API server said; ends when the watch did, raises what went wrong."""
        if self._version is None:
            listed = await self._list(session)
            self._slices = {each.metadata.name: each for each in listed.items}
            self._version = listed.metadata.resource_version
            yield engines(self._slices.values(), self._config)
        async with aclosing(self._events(session, self._version)) as events:
            async for event in events:
                self._take(event)
                yield engines(self._slices.values(), self._config)

    async def _list(self, session: aiohttp.ClientSession) -> SliceList:
        timeout = aiohttp.ClientTimeout(total=_LIST_S)
        params = {"labelSelector": self._config.labels}
        async with session.get(await self._path(), params=params, timeout=timeout) as response:
            return msgspec.json.decode(await _body(response), type=SliceList)

    async def _events(self, session: aiohttp.ClientSession, version: str) -> AsyncGenerator[Event]:
        params = {
            "labelSelector": self._config.labels,
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_S),
        }
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_LIST_S, sock_read=_WATCH_S + _LIST_S)
        async with session.get(await self._path(), params=params, timeout=timeout) as response:
            if response.status != 200:
                await _body(response)
            rest = b""
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                if len(rest) > _LONGEST_LINE:
                    raise _ApiError(200, f"a line of the watch is longer than {_LONGEST_LINE} bytes")
                for line in filter(None, lines):
                    yield msgspec.json.decode(line, type=Event)

    def _take(self, event: Event) -> None:
        if event.type == "ERROR":
            status = msgspec.json.decode(event.object, type=Status)
            raise _ApiError(status.code, status.message)
        changed = msgspec.json.decode(event.object, type=Slice)
        self._version = changed.metadata.resource_version
        if event.type == "DELETED":
            self._slices.pop(changed.metadata.name, None)
        elif event.type != "BOOKMARK":
            self._slices[changed.metadata.name] = changed

    async def _session(self) -> aiohttp.ClientSession:
        """With the token as it is now: it is renewed every hour."""
        token = (await asyncio.to_thread((self._account / "token").read_text)).strip()
        base = self._config.api or _cluster()
        tls: ssl.SSLContext | bool = True
        if base.startswith("https://"):
            tls = await asyncio.to_thread(ssl.create_default_context, cafile=self._account / "ca.crt")
        headers = {"authorization": f"Bearer {token}"}
        return aiohttp.ClientSession(base, headers=headers, connector=aiohttp.TCPConnector(ssl=tls))

    async def _path(self) -> str:
        namespace = self._config.namespace
        if namespace is None:
            namespace = (await asyncio.to_thread((self._account / "namespace").read_text)).strip()
        return f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """The answer; raises _ApiError with what it says unless it is a 200."""
    body = await response.read()
    if response.status == 200:
        return body
    try:
        said = msgspec.json.decode(body, type=Status).message
    except msgspec.DecodeError:
        said = response.reason or ""
    raise _ApiError(response.status, said)


def _cluster() -> str:
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigError("not inside a cluster (KUBERNETES_SERVICE_HOST is not set): give `api`")
    return f"https://{f'[{host}]' if ':' in host else host}:{port}"


def _backoff_s(failures: int) -> float:
    first, most = _BACKOFF_S
    return min(most, first * 2.0 ** (failures - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 - to spread replicas
