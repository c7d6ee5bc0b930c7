"""The API server as far as EndpointSlices go: lists, chunked watches, bookmarks, versions too old, tokens.

What a watch gets is what changed behind the version it asks for, then what changes while it lasts, as the real one
does it (https://kubernetes.io/docs/reference/using-api/api-concepts/). `compacted`: versions up to it are gone.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from gateway.discovery.settings import KubernetesConfig

NAMESPACE, TOKEN = "prod", "token-1"
PATH = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
TLS = Path(__file__).parents[2] / "data" / "tls"


def pod(address: str, **conditions: bool) -> dict[str, Any]:
    """One endpoint."""
    return {"addresses": [address], "conditions": conditions, "targetRef": {"kind": "Pod", "name": address}}


class FakeKubernetes:
    """The server. asked: (what, resourceVersion) of each request. broken: the status every request is answered."""

    def __init__(self) -> None:
        self.version = 100
        self.slices: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, dict[str, Any]]] = []
        self.asked: list[tuple[str, str | None]] = []
        self.token = TOKEN
        self.compacted = 0
        self.broken: int | None = None
        self.gone_as_status = False
        self._changed = asyncio.Condition()
        self._watches: set[asyncio.Event] = set()
        self.url = ""

    async def put(self, name: str, *pods: dict[str, Any], port: int = 30000) -> None:
        """Create or change a slice."""
        kind = "MODIFIED" if name in self.slices else "ADDED"
        self.slices[name] = {
            "metadata": {"name": name, "labels": {"app": "sglang"}, "generation": 1},
            "addressType": "IPv4",
            "endpoints": list(pods) or None,
            "ports": [{"name": "http", "port": port, "protocol": "TCP"}, {"name": "metrics", "port": 9}],
        }
        await self._tell(kind, self.slices[name])

    async def delete(self, name: str) -> None:
        """Remove a slice."""
        await self._tell("DELETED", self.slices.pop(name))

    async def bookmark(self) -> None:
        """Something else changed: only the version moves on."""
        await self._tell("BOOKMARK", {"metadata": {"name": ""}})

    async def end_watches(self) -> None:
        """As the server does every few minutes."""
        for each in self._watches:
            each.set()
        async with self._changed:
            self._changed.notify_all()

    async def _tell(self, kind: str, changed: dict[str, Any]) -> None:
        self.version += 1
        changed["metadata"]["resourceVersion"] = str(self.version)
        self.history.append((self.version, json.loads(json.dumps({"type": kind, "object": changed}))))
        async with self._changed:
            self._changed.notify_all()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        watching = request.query.get("watch") == "1"
        self.asked.append(("watch" if watching else "list", request.query.get("resourceVersion")))
        if self.broken is not None:
            return _status(self.broken, "broken")
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _status(401, "Unauthorized")
        assert request.query["labelSelector"] == "kubernetes.io/service-name=sglang"
        if watching:
            return await self._watch(request)
        body = {"kind": "EndpointSliceList", "metadata": {"resourceVersion": str(self.version)}}
        return web.json_response(body | {"items": list(self.slices.values())})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        at = int(request.query["resourceVersion"])
        old = at < self.compacted
        if old and self.gone_as_status:
            return _status(410, f"too old resource version: {at}")
        response = web.StreamResponse(headers={"content-type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        if old:
            gone = {"kind": "Status", "code": 410, "message": f"too old resource version: {at}"}
            await response.write(json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n")
            return response
        ended = asyncio.Event()
        self._watches.add(ended)
        try:
            while not ended.is_set():
                for version, event in self.history:
                    if version > at:
                        at = version
                        line = json.dumps(event).encode() + b"\n"
                        for cut in (line[:7], line[7:]):
                            await response.write(cut)
                async with self._changed:
                    if not any(version > at for version, _ in self.history) and not ended.is_set():
                        await self._changed.wait()
        finally:
            self._watches.discard(ended)
        return response

    @asynccontextmanager
    async def running(self, account: Path) -> AsyncIterator[KubernetesConfig]:
        """The server, and what to tell the source; `account` becomes the service account's folder."""
        for name, text in (
            ("token", TOKEN + "\n"),
            ("namespace", NAMESPACE),
            ("ca.crt", (TLS / "cert.pem").read_text()),
        ):
            (account / name).write_text(text)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
        app = web.Application()
        app.router.add_get(PATH, self._handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield KubernetesConfig(service="sglang", port="http", api=self.url, account=str(account))
        finally:
            await self.end_watches()
            await runner.cleanup()


def _status(code: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message}, status=code)
