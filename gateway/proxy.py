"""The proxied paths as one raw ASGI endpoint: read, prepare, place, forward, account.

Validation layers and response classes cost more than the rest of a request together, so this is plain ASGI
(https://asgi.readthedocs.io/en/latest/specs/www.html). A watch ends the request's task when the client leaves or its
time is over, which closes the engine's connection. Every request ends in exactly one record, and every place at a
worker in exactly one release, with what it says of the worker.
"""

import asyncio
import time
from collections.abc import Callable

from engine_adapter.sse import StreamTap
from gateway.admission import Admission
from gateway.apis import Api, Apis, response_id
from gateway.breaker import Verdict, judge
from gateway.candidates import Candidates
from gateway.comments import Comments
from gateway.config import Config
from gateway.credentials import Secrets
from gateway.dispatch import Dispatch, Place
from gateway.errors import Refusal
from gateway.exchange import Exchange
from gateway.held import Bodies, Held
from gateway.http1 import EngineFault, FaultKind
from gateway.identity import CREDENTIALS, Caller, KeyRing
from gateway.incoming import ClientGone, Incoming, Receive, Scope, Send, read_request
from gateway.misses import Misses
from gateway.prepare import Prepared, Preparer
from gateway.relay import Broken, relay_stream, relay_whole, usage_of
from gateway.reply import break_off, error_event, refuse, start
from gateway.response_ids import ResponseIds, id_of
from gateway.retry import RetryBudget, Tries
from gateway.upstream import Response, Upstream
from gateway.watch import Watch
from gateway.workers import Worker, Workers
from prefix.errors import ConfigError
from prefix.record import RequestRecord

_CODES: dict[FaultKind, str] = {
    "refused": "no_engine",
    "unavailable": "no_engine",
    "unreachable": "no_engine",
    "busy": "overloaded",
    "disconnected": "engine_disconnected",
    "timeout": "engine_timeout",
    "invalid": "engine_answer_invalid",
}
_ELSEWHERE: dict[int, FaultKind] = {429: "busy", 502: "unavailable", 503: "unavailable"}
"""Statuses for which another worker is asked, where one may be."""


class Proxy:
    """The endpoint. `suspect` is told of a worker that did not answer; `finished` gets each request's record, and
    the request where it was understood.

    draining: the gateway is shutting down.
    """

    def __init__(
        self,
        config: Config,
        workers: Workers,
        upstream: Upstream,
        suspect: Callable[[Worker, EngineFault], None],
        finished: Callable[[RequestRecord, Prepared | None], None],
        secrets: Secrets,
    ) -> None:
        self._workers = workers
        self._upstream = upstream
        self._suspect = suspect
        self._finished = finished
        self._preparer = Preparer(workers.models)
        self.response_ids = ResponseIds()
        self.misses = Misses()
        self._candidates = Candidates(workers, self.response_ids, upstream)
        self._budget = RetryBudget()
        self._bodies = Bodies()
        self._now = time.monotonic
        self.draining = False
        self.dispatch = Dispatch(config, workers, self._candidates.of)
        self._admission = Admission()
        self.configure(config, secrets)

    def configure(self, config: Config, secrets: Secrets) -> None:
        """Use another configuration from the next request on. Raises ConfigError without a secret it needs."""
        if config.isolates and secrets.isolation is None:
            raise ConfigError("a customer is isolated, and there is no secret to derive its salt from")
        self._preparer.isolation = secrets.isolation
        self._admission.configure(config)
        self._config = config
        self.dispatch.configure(config)
        self._bodies.most = config.max_held_bytes
        self._keys = KeyRing(config.customers)
        self.apis = Apis(config.allow_paths)

    def caller(self, authorization: bytes | None) -> Caller:
        """Who asks. Raises Refusal `invalid_api_key` when customers are configured and this is none of them."""
        return self._keys.caller(authorization)

    def drain(self) -> None:
        """Refuse new requests and those that wait for a worker; what runs finishes."""
        self.draining = True
        self.dispatch.close()

    async def __call__(self, api: Api, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request to a path of this API."""
        exchange = Exchange(api, self._now())
        try:
            await self._serve(exchange, scope, receive, send)
        except Refusal as refusal:
            exchange.error_type = refusal.code
            if exchange.worker is not None:
                exchange.outcome = "error"
            if exchange.status:  # the head has left: there is no other way to say it
                await break_off(exchange, refusal, send)
            else:
                exchange.status = refusal.kind.status
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
            self._admission.leave(exchange, self._now())
            exchange.explain(self.misses)
            record = exchange.record(time.time, self._now())
            self.misses.remember(record, exchange.prepared, exchange.explained)
            self._finished(record, exchange.prepared)

    async def _serve(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        api, config = exchange.api, self._config
        method = "GET" if scope["method"] == "HEAD" else scope["method"]  # the server leaves the body out
        if method not in api.methods:
            raise Refusal("method_not_allowed", f"{scope['path']} takes {' and '.join(api.methods)}", allow=api.allow)
        if self.draining:
            raise Refusal("shutting_down")
        with Held(self._bodies) as held, Watch(self._upstream.watches) as watch:
            watch.limit(exchange.received + config.body_timeout_s, "request_timeout")
            stream_over = config.stream_body_over_bytes if api.body == "any" else None
            incoming = await read_request(scope, receive, config.max_body_bytes, held, stream_over)
            exchange.client_request_id = incoming.request_id
            caller = self.caller(incoming.authorization)
            now = self._now()
            self._admission.enter(exchange, caller, incoming, now)
            prepared = self._preparer.prepare(api, incoming, caller, config, now)
            for stored in response_id(incoming.path) or prepared.stored:
                prepared = await self._candidates.bind(prepared, stored, caller, now)
            exchange.prepared, exchange.streamed, exchange.owner = prepared, prepared.stream, caller.customer
            self._admission.charge(exchange, prepared, now)

            def arrived() -> None:
                total = config.total_timeout_s
                watch.limit(None if total is None else exchange.received + total, "total_timeout")
                watch.follow(receive)

            if incoming.rest is None:
                arrived()
            else:
                incoming.rest.ended = arrived
            every_s = config.sse_keepalive_s if prepared.stream else None
            async with Comments(exchange, send, every_s) as comments:
                await self._attempts(exchange, incoming, prepared, caller, send, comments)

    async def _attempts(
        self,
        exchange: Exchange,
        incoming: Incoming,
        prepared: Prepared,
        caller: Caller,
        send: Send,
        comments: Comments,
    ) -> None:
        """Try workers until one answers; nothing has been sent to the client before that."""
        tries = Tries(self._budget, self._config.max_attempts, self.dispatch.in_flight)
        while True:
            place = await self.dispatch.place(prepared, tries.tried)
            exchange.route, exchange.worker = place.route, place.worker
            exchange.sight = self.misses.at_dispatch(prepared, place)
            exchange.queued_s += place.waited_s
            tries.tried.add(place.worker.id)
            verdict: Verdict = "neither"
            try:
                body, hide = prepared.for_engine(place.worker.engine)
                exchange.dispatched = exchange.dispatched or self._now()
                response, first = await self._ask(place.worker, incoming, prepared, body, tries, comments)
                verdict = judge(response.status)
                if verdict == "ok":
                    self._workers.breakers.answered(place.worker.id)
                    verdict = "neither"  # until it has answered to the end
                await self._relay(exchange, place.worker, response, first, send, hide=hide, trusted=caller.trusted)
                if response.status < 400:
                    verdict = "fault" if exchange.outcome == "truncated" else "ok"
                return
            except EngineFault as error:
                verdict = "neither" if error.kind == "busy" else "fault"
                exchange.outcome, exchange.error_type = "error", _CODES[error.kind]
                self._suspect(place.worker, error)
                if isinstance(error, Broken) and not exchange.streamed:
                    return
                told = error.kind in ("busy", "unavailable")  # another worker was looked for before they were raised
                if isinstance(error, Broken) or not (told or self._again(error.kind, incoming, prepared, tries)):
                    raise Refusal(_CODES[error.kind], f"worker {place.worker.id}: {error}") from error
                exchange.retries += 1
            finally:
                self._release(exchange, place, verdict)

    def _again(self, kind: FaultKind, incoming: Incoming, prepared: Prepared, tries: Tries) -> bool:
        """Whether another worker is asked after this fault."""
        if incoming.rest is not None and incoming.rest.started:
            return False  # what has been sent on is not here any more
        if kind == "busy":
            another = self.dispatch.idle(prepared, tries.tried)
        else:
            another = self.dispatch.another(prepared, tries.tried)
        return another and tries.again(kind, self._now())

    async def _ask(
        self,
        worker: Worker,
        incoming: Incoming,
        prepared: Prepared,
        body: bytes,
        tries: Tries,
        comments: Comments,
    ) -> tuple[Response, bytes]:
        """Send the request; the response and its first bytes.

        Raises EngineFault; `busy` and `unavailable` only where another worker is to be asked.
        """
        path = incoming.path if not incoming.query else f"{incoming.path}?{incoming.query.decode('latin-1')}"
        headers = incoming.headers if self._keys.open else [h for h in incoming.headers if h[0] not in CREDENTIALS]
        response = await self._upstream.post(
            worker.url, path, headers, body, incoming.method, lambda: self._budget.take(self._now()), incoming.rest
        )
        try:
            kind = _ELSEWHERE.get(response.status)
            if kind is not None and self._again(kind, incoming, prepared, tries):
                raise EngineFault(kind, f"answered {response.status}")
            first = await response.read()
            await comments.stop()
            return response, first
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
        early, exchange.error_type = exchange.status, None
        events = response.content_type == b"text/event-stream" and exchange.api.stream is not None
        streams = response.status == 200 and events
        try:
            if not early:
                exchange.status, exchange.streamed = response.status, streams
                await send(start(exchange, response, streams=streams, trusted=trusted))
            if streams:
                await self._stream(exchange, worker, response, first, send, hide=hide)
            elif early:
                await self._tell(exchange, response, first, send)
            else:
                await self._whole(exchange, worker, response, first, send)
        finally:
            response.close()

    async def _whole(self, exchange: Exchange, worker: Worker, response: Response, first: bytes, send: Send) -> None:
        api = exchange.api
        answer = await relay_whole(response, first, send)
        if response.status < 400:
            exchange.outcome = "ok"
            cache_report = None if api.cached == "never" else worker.cache_report
            exchange.usage = usage_of(answer, cache_report, choices=exchange.choices) if api.counted else None
            self._remember(exchange, id_of(answer) if api.stored else None)
        else:
            worker.learn(api.path, response.status, answer)
            exchange.outcome, exchange.error_type = "error", str(response.status)

    async def _tell(self, exchange: Exchange, response: Response, first: bytes, send: Send) -> None:
        """The head of a stream has left, and the engine does not stream: its answer is one event, without an end."""
        answer = await relay_whole(response, first, _nowhere)
        exchange.outcome, exchange.error_type = "error", str(response.status)
        event = error_event(response.status, answer, exchange.api.errors)
        await send({"type": "http.response.body", "body": event, "more_body": True})

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
            result = await relay_stream(response, first, send, tap, notice, dialect)
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
            self.response_ids.remember(name, exchange.worker.id, exchange.owner, self._now())

    def _release(self, exchange: Exchange, place: Place, verdict: Verdict) -> None:
        """The place is over, however it ended: free it, and learn from what was reported."""
        prepared, usage = exchange.prepared, exchange.usage
        cached = usage.cached_read if usage else None
        output = (usage.output or 0) if usage else 0
        self.dispatch.release(place, verdict, cached_tokens=cached, output_tokens=output)
        if cached is not None and exchange.api.cached == "reporting":  # others tell it whatever is reported
            place.worker.cache_report = True
        if usage is not None and usage.input_total and prepared is not None and prepared.teaches:
            place.group.learn_ratio(len(prepared.view.text), usage.input_total)


async def _nowhere(_: object) -> None:
    """A client that is sent nothing."""
