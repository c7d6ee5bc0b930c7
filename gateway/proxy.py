"""The proxied paths as one raw ASGI endpoint: read, prepare, place, forward, account.

Validation layers and response classes cost more than the rest of a request together, so this is plain ASGI
(https://asgi.readthedocs.io/en/latest/specs/www.html). A watcher notices the client leaving at any moment and
cancels the request's task, which closes the engine's connection. Every request ends in exactly one record, and
every placement in exactly one release.
"""

import asyncio
import time
from collections.abc import Callable

from engine_adapter.sse import StreamTap
from gateway.apis import Api, Apis, response_id
from gateway.candidates import Candidates
from gateway.config import Config
from gateway.errors import Refusal
from gateway.exchange import Exchange
from gateway.http1 import EngineFault, FaultKind
from gateway.identity import Caller, KeyRing
from gateway.incoming import CREDENTIALS, ClientGone, Incoming, Receive, Scope, Send, read_request
from gateway.prepare import Prepared, Preparer
from gateway.relay import Broken, relay_stream, relay_whole, usage_of
from gateway.reply import refuse, start
from gateway.response_ids import ResponseIds, id_of
from gateway.upstream import Response, Upstream
from gateway.workers import Worker, Workers
from prefix.record import RequestRecord

_CODES: dict[FaultKind, str] = {
    "refused": "no_engine",
    "unavailable": "no_engine",
    "unreachable": "no_engine",
    "disconnected": "engine_disconnected",
    "timeout": "engine_timeout",
    "invalid": "engine_answer_invalid",
}
_RETRY: frozenset[FaultKind] = frozenset(("refused", "unreachable", "unavailable", "disconnected"))
_RETRY_STATUS = frozenset((502, 503))


class Proxy:
    """The endpoint. `suspect` is told of a worker that did not answer; `finished` gets each request's record."""

    def __init__(
        self,
        config: Config,
        workers: Workers,
        upstream: Upstream,
        suspect: Callable[[Worker, EngineFault], None],
        finished: Callable[[RequestRecord], None],
    ) -> None:
        self._workers = workers
        self._upstream = upstream
        self._suspect = suspect
        self._finished = finished
        self._preparer = Preparer(workers.models)
        self.response_ids = ResponseIds()
        self._candidates = Candidates(workers, self.response_ids, upstream)
        self._now = time.monotonic
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Use another configuration from the next request on."""
        self._config = config
        self._keys = KeyRing(config.customers)
        self.apis = Apis(config.allow_paths)

    def caller(self, authorization: bytes | None) -> Caller:
        """Who asks. Raises Refusal `invalid_api_key` when customers are configured and this is none of them."""
        return self._keys.caller(authorization)

    async def __call__(self, api: Api, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request to a path of this API."""
        exchange = Exchange(api, self._now())
        try:
            await self._serve(exchange, scope, receive, send)
        except Refusal as refusal:
            exchange.status, exchange.error_type = refusal.kind.status, refusal.code
            await refuse(exchange, refusal, send)
        except ClientGone:
            exchange.status, exchange.outcome, exchange.error_type = 499, "client_disconnect", "client_disconnect"
        except asyncio.CancelledError:  # the server is stopping and waits no longer
            exchange.outcome, exchange.error_type = "error", "shutting_down"
            if not exchange.status:
                exchange.status = 503
                await refuse(exchange, Refusal("shutting_down"), send)
            raise
        finally:
            self._finished(exchange.record(time.time, self._now()))

    async def _serve(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        api = exchange.api
        method = "GET" if scope["method"] == "HEAD" else scope["method"]  # the server leaves the body out
        if method not in api.methods:
            raise Refusal("method_not_allowed", f"{scope['path']} takes {' and '.join(api.methods)}", allow=api.allow)
        incoming = await read_request(scope, receive, self._config.max_body_bytes)
        exchange.client_request_id = incoming.request_id
        caller = self.caller(incoming.authorization)
        prepared = self._preparer.prepare(api, incoming, caller, self._config, self._now())
        for stored in response_id(incoming.path) or prepared.stored:
            prepared = await self._candidates.bind(prepared, stored, caller, self._now())
        exchange.prepared, exchange.streamed, exchange.customer = prepared, prepared.stream, caller.customer
        task = asyncio.current_task()
        assert task is not None
        watcher = asyncio.ensure_future(_until_gone(receive))
        watcher.add_done_callback(lambda done: None if done.cancelled() else task.cancel("client gone"))
        try:
            await self._attempts(exchange, incoming, prepared, caller, send)
        except asyncio.CancelledError:
            if not watcher.done() or watcher.cancelled():
                raise
            task.uncancel()
            raise ClientGone from None
        finally:
            watcher.cancel()

    async def _attempts(
        self, exchange: Exchange, incoming: Incoming, prepared: Prepared, caller: Caller, send: Send
    ) -> None:
        """Try workers until one answers; nothing has been sent to the client before that."""
        left = self._config.max_attempts
        tried: set[str] = set()
        while True:
            worker = self._place(exchange, prepared, self._candidates.of(prepared) - tried)
            tried.add(worker.id)
            left -= 1
            last = left <= 0 or not self._candidates.of(prepared) - tried
            try:
                body, hide = prepared.for_engine(worker.engine)
                exchange.dispatched = exchange.dispatched or self._now()
                response, first = await self._ask(worker, incoming, body, last=last)
                await self._relay(exchange, worker, response, first, send, hide=hide, trusted=caller.trusted)
                return
            except EngineFault as error:
                exchange.outcome, exchange.error_type = "error", _CODES[error.kind]
                self._suspect(worker, error)
                if isinstance(error, Broken):
                    return
                if last or error.kind not in _RETRY:
                    raise Refusal(_CODES[error.kind], f"worker {worker.id}: {error}") from error
                if error.kind == "disconnected":
                    left = 1  # it may be the request that ends engines: one more may see it, not all of them
                exchange.retries += 1
            finally:
                self._release(exchange, worker)

    def _place(self, exchange: Exchange, prepared: Prepared, candidates: frozenset[str] | set[str]) -> Worker:
        if not candidates:
            raise Refusal("no_engine")
        route = prepared.group.router.route(
            prepared.blocks,
            prepared.prompt_tokens,
            self._now(),
            max_output_tokens=prepared.max_output_tokens,
            candidates=candidates,
            session=prepared.identity.session,
        )
        worker = self._workers.get(route.worker)
        worker.in_flight += 1
        exchange.route, exchange.worker = route, worker
        return worker

    async def _ask(self, worker: Worker, incoming: Incoming, body: bytes, *, last: bool) -> tuple[Response, bytes]:
        """Send the request; the response and its first bytes. Raises EngineFault, for 502 and 503 unless `last`."""
        path = incoming.path if not incoming.query else f"{incoming.path}?{incoming.query.decode('latin-1')}"
        headers = incoming.headers if self._keys.open else [h for h in incoming.headers if h[0] not in CREDENTIALS]
        response = await self._upstream.post(worker.url, path, headers, body, incoming.method)
        try:
            if response.status in _RETRY_STATUS and not last:
                raise EngineFault("unavailable", f"answered {response.status}")
            return response, await response.read()
        except BaseException:
            response.close()
            raise

    async def _relay(
        self,
        exchange: Exchange,
        worker: Worker,
        response: Response,
        first: bytes,
        send: Send,
        *,
        hide: bool,
        trusted: bool,
    ) -> None:
        exchange.status, exchange.error_type = response.status, None
        api = exchange.api
        streams = response.status == 200 and response.content_type == b"text/event-stream" and api.stream is not None
        try:
            await send(start(exchange, response, streams=streams, trusted=trusted))
            if streams:
                await self._stream(exchange, worker, response, first, send, hide=hide)
                return
            exchange.streamed = False
            answer = await relay_whole(response, first, send)
            if response.status < 400:
                exchange.outcome = "ok"
                cache_report = None if api.cached == "never" else worker.cache_report
                exchange.usage = usage_of(answer, cache_report, choices=exchange.choices) if api.counted else None
                self._remember(exchange, id_of(answer) if api.stored else None)
            else:
                worker.learn(api.path, response.status, answer)
                exchange.outcome, exchange.error_type = "error", str(response.status)
        finally:
            response.close()

    async def _stream(
        self, exchange: Exchange, worker: Worker, response: Response, first: bytes, send: Send, *, hide: bool
    ) -> None:
        dialect = exchange.api.errors  # of its stream too
        tap = StreamTap(
            api=dialect, hide_usage=hide, keep_text=False, choices=exchange.choices, cache_report=worker.cache_report
        )

        def notice() -> bool:
            if tap.response_id is not None:
                self._remember(exchange, tap.response_id)
            if tap.first_content:
                exchange.first_content(self._now())
            return tap.first_content

        try:
            result = await relay_stream(response, first, send, tap, notice, Refusal("stream_broken").event(dialect))
        except asyncio.CancelledError:
            exchange.usage = tap.close().usage
            raise
        self._remember(exchange, tap.response_id)
        exchange.usage, exchange.outcome = result.usage if exchange.api.counted else None, result.outcome
        if result.outcome != "ok":
            exchange.error_type = "stream_broken" if result.outcome == "truncated" else "engine_error"

    def _remember(self, exchange: Exchange, name: str | None) -> None:
        """The worker answered with a response of this id, which later requests may name."""
        if name is not None and exchange.worker is not None:
            self.response_ids.remember(name, exchange.worker.id, exchange.customer, self._now())

    def _release(self, exchange: Exchange, worker: Worker) -> None:
        """The placement is over, however it ended: free its load, correct the index by what was reported."""
        route, prepared, usage = exchange.route, exchange.prepared, exchange.usage
        if route is None or prepared is None:
            return
        worker.in_flight -= 1
        cached = usage.cached_read if usage else None
        prepared.group.router.release(
            route, self._now(), cached_tokens=cached, output_tokens=(usage.output or 0) if usage else 0
        )
        if cached is not None and exchange.api.cached == "reporting":  # others tell it whatever is reported
            worker.cache_report = True
        if usage is not None and usage.input_total and prepared.teaches:
            prepared.group.learn_ratio(len(prepared.view.text), usage.input_total)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
