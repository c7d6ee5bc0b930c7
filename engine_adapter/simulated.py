"""The simulated engine: SGLang's HTTP face on engine_model, in real time.

One idea: it is the scheduler and the cache of SGLang 0.5.23 without the model. Nothing is computed; what is
cached, queued, evicted, retracted and reported, and when, is what the engine would do.

    python -m engine_adapter.simulated --port 30000 --model m          prints one line when it listens

In a test: `async with SimulatedEngine(EngineOptions(...)) as engine:`, then `engine.url`, `engine.faults`,
`engine.received`, `engine.scheduler`. `stop` and `start` restart it on the same port with a cold cache.
"""

import asyncio
import contextlib
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

import msgspec
import uvloop
from aiohttp import web

from engine_adapter import simulated_status as status
from engine_adapter.engine_model import EngineModel
from engine_adapter.simulated_apis import ResponseStore, count_tokens, embeddings
from engine_adapter.simulated_asks import Api, Refusal
from engine_adapter.simulated_generation import Faults, Generation, json_response
from engine_adapter.simulated_options import EngineOptions, read_options
from engine_adapter.simulated_ranks import Ranks
from engine_adapter.simulated_text import encode, token_ids

if TYPE_CHECKING:
    from engine_adapter.simulated_kv import Publisher  # and with it pyzmq

GENERATING: dict[str, Api] = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completion",
    "/generate": "generate",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}
MAX_BODY_BYTES = 256 * 2**20
FLUSHED = (
    "Cache flushed.\nPlease check backend logs for more details. "
    "(When there are running or waiting requests, the operation will not be performed.)\n"
)


@dataclass(frozen=True, slots=True)
class Received:
    """A generation request as it came in."""

    path: str
    headers: dict[str, str]
    body: bytes


class SimulatedEngine:
    """One engine on one port, from `start` (or `async with`) to `stop`."""

    def __init__(self, options: EngineOptions | None = None) -> None:
        self.options = options or EngineOptions()
        self.faults = Faults()
        self.received: deque[Received] = deque(maxlen=self.options.remember)
        self.port = self.options.port
        self.publishers = _publishers(self.options)
        self._renew()

    def _renew(self) -> None:
        options = self.options
        self.ranks = Ranks(options.config, options.dp, options.speed)
        self.totals = status.Totals()
        self._generation = Generation(
            ranks=self.ranks,
            config=options.config,
            totals=self.totals,
            faults=self.faults,
            cache_report=options.cache_report,
            stream_interval=options.stream_interval,
            store=ResponseStore(options.response_store),
        )

    @property
    def scheduler(self) -> EngineModel:
        """Of the first rank."""
        return self.ranks.models[0]

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self.options.host}:{self.port}"

    async def start(self) -> None:
        """Listen, with a cold cache. Raises OSError when the port is taken."""
        self._renew()
        self._runner = web.AppRunner(
            self._app(), handler_cancellation=True, access_log=None, shutdown_timeout=0.1, keepalive_timeout=75
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self.options.host, self.port).start()
        except OSError:
            await self._runner.cleanup()
            raise
        self.port = self._runner.addresses[0][1]
        for publisher, model in zip(self.publishers, self.ranks.models, strict=False):
            publisher.open()
            publisher.watch(model.cache)
        self._task = asyncio.get_running_loop().create_task(self.ranks.run())

    async def stop(self) -> None:
        """Stop at once: running answers are cut off."""
        await self._runner.cleanup()
        for publisher in self.publishers:
            await publisher.close()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    # ------------------------------------------------------------------ the routes

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        both = web.post, web.get
        app.add_routes(
            [
                *(web.post(path, partial(self._generated, api=api)) for path, api in GENERATING.items()),
                web.get("/v1/responses/{id}", self._stored),
                web.post("/v1/responses/{id}/cancel", self._stored),
                web.post("/v1/messages/count_tokens", self._count_tokens),
                web.post("/v1/embeddings", self._embeddings),
                *(add("/flush_cache", self._flush) for add in both),
                *(web.post(path, self._tokenize) for path in ("/tokenize", "/v1/tokenize")),
                *(web.get(path, self._health) for path in ("/health", "/health_generate")),
                *(web.get(path, self._server_info) for path in ("/server_info", "/get_server_info")),
                *(web.get(path, self._model_info) for path in ("/model_info", "/get_model_info")),
                web.get("/v1/models", self._models),
                web.get("/v1/models/{model}", self._model),
                web.get("/v1/loads", self._loads),
                web.get("/metrics", self._metrics),
                web.route("*", "/{path:.*}", _not_found),
            ]
        )
        return app

    async def _stored(self, http: web.Request) -> web.Response:
        return _told(lambda: self._generation.store.get(http.match_info["id"]))

    async def _count_tokens(self, http: web.Request) -> web.Response:
        body = await http.read()
        return _told(lambda: count_tokens(body))

    async def _embeddings(self, http: web.Request) -> web.Response:
        body = await http.read()
        return _told(lambda: embeddings(body, enabled=self.options.embedding))

    async def _generated(self, http: web.Request, api: Api) -> web.StreamResponse:
        body = await http.read()
        if self.options.remember:
            self.received.append(Received(http.path, dict(http.headers), body))
        return await self._generation.respond(http, api, body)

    async def _flush(self, _: web.Request) -> web.Response:
        done = self.ranks.flush()
        return web.Response(text=FLUSHED, status=200 if done else 400)

    async def _tokenize(self, http: web.Request) -> web.Response:
        try:
            prompt = msgspec.json.decode(await http.read(), type=_Tokenize).prompt
        except msgspec.DecodeError as error:
            return json_response({"object": "error", "message": str(error), "code": 400}, status=400)
        tokens = token_ids(encode(prompt))
        size = {"count": len(tokens), "max_model_len": self.options.config.context_tokens}
        return json_response({"tokens": tokens, **size})

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=200 if self.faults.healthy else 503)

    async def _models(self, _: web.Request) -> web.Response:
        card = status.model_card(self.options.model, self.scheduler)
        return json_response({"object": "list", "data": [card]})

    async def _model(self, http: web.Request) -> web.Response:
        name = http.match_info["model"]
        if name == self.options.model:
            return json_response(status.model_card(name, self.scheduler))
        error = {"message": f"The model '{name}' does not exist", "type": "invalid_request_error"}
        return json_response({"error": {**error, "param": "model", "code": "model_not_found"}}, status=404)

    async def _server_info(self, _: web.Request) -> web.Response:
        options = self.options
        told = None
        if self.publishers:
            from engine_adapter.simulated_kv import describe

            told = describe(self.publishers, options.config.page_tokens)
        info = status.server_info(
            options.model, self.scheduler, options.dp, cache_report=options.cache_report, kv_events=told
        )
        return json_response(info)

    async def _model_info(self, _: web.Request) -> web.Response:
        return json_response(status.model_info(self.options.model))

    async def _loads(self, _: web.Request) -> web.Response:
        return json_response(status.loads(self.ranks.models))

    async def _metrics(self, _: web.Request) -> web.Response:
        text = status.metrics(self.options.model, self.ranks.models, self.totals)
        return web.Response(text=text, content_type="text/plain", charset="utf-8")


def _publishers(options: EngineOptions) -> "list[Publisher]":
    """One for each rank, where it is to publish."""
    if options.kv_events is None:
        return []
    from engine_adapter.simulated_kv import Publisher

    first = options.kv_events
    ports = [(first + rank, first + options.dp + rank) if first else (0, 0) for rank in range(options.dp)]
    return [Publisher(options.host, *pair, rank) for rank, pair in enumerate(ports)]


def _told(tell: Callable[[], object]) -> web.Response:
    try:
        return json_response(tell())
    except Refusal as refusal:
        return json_response(refusal.body, status=refusal.status)


class _Tokenize(msgspec.Struct):
    prompt: str


async def _not_found(_: web.Request) -> web.Response:
    return json_response({"detail": "Not Found"}, status=404)


async def serve(engine: SimulatedEngine) -> int:
    """Run an engine until SIGTERM or SIGINT; the exit code: 2 when the port is taken."""
    options = engine.options
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await engine.start()
    except OSError as error:
        sys.stderr.write(f"cannot listen on {options.host}:{options.port}: {error.strerror or error}\n")
        return 2
    sys.stdout.write(f"simulated engine listening on {engine.url}\n")
    sys.stdout.flush()
    await stop.wait()
    await engine.stop()
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; the exit code."""
    return uvloop.run(serve(SimulatedEngine(read_options(arguments))))


if __name__ == "__main__":
    sys.exit(main())
