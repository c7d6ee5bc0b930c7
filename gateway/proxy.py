"""The proxied paths as one raw ASGI endpoint: read, prepare, place, forward, account.

Validation layers and response classes cost more than the rest of a request together, so this is plain ASGI
(https://asgi.readthedocs.io/en/latest/specs/www.html). A watch ends the request's task when the client leaves or its
time is over, which closes the engine's connection. Every request ends in exactly one record.
"""

import asyncio
import time
from collections.abc import Callable

from gateway.admission import Admission
from gateway.apis import Api, Apis, response_id
from gateway.attempts import Attempts
from gateway.candidates import Candidates
from gateway.comments import Comments
from gateway.config import Config
from gateway.credentials import Secrets
from gateway.dispatch import Dispatch
from gateway.errors import Refusal
from gateway.exchange import Exchange
from gateway.held import Bodies, Held
from gateway.http1 import EngineFault
from gateway.identity import Caller, KeyRing
from gateway.incoming import ClientGone, Receive, Scope, Send, read_body, read_head
from gateway.journal import Journal
from gateway.paging import Paging
from gateway.prepare import Preparer
from gateway.reply import break_off, refuse
from gateway.response_ids import ResponseIds
from gateway.tracing import Tracing
from gateway.upstream import Upstream
from gateway.watch import Watch
from gateway.workers import Worker, Workers
from prefix.errors import ConfigError


class Proxy:
    """The endpoint. `suspect` is told of a worker that did not answer; `journal` of each dispatch and end.

    draining: the gateway is shutting down.
    """

    def __init__(
        self,
        config: Config,
        workers: Workers,
        upstream: Upstream,
        suspect: Callable[[Worker, EngineFault], None],
        secrets: Secrets,
        journal: Journal,
        tracing: Tracing,
        response_ids: ResponseIds,
        paging: Paging,
    ) -> None:
        self._upstream = upstream
        self._preparer = Preparer(workers.models)
        self._paging = paging
        self.response_ids = response_ids
        self._journal = journal
        self._tracing = tracing
        self._candidates = Candidates(workers, self.response_ids, upstream)
        self._bodies = Bodies()
        self._now = time.monotonic
        self.draining = False
        self.dispatch = Dispatch(config, workers, self._candidates.of)
        self._attempts = Attempts(workers, upstream, self.dispatch, journal, self.response_ids, suspect)
        self.admission = Admission()
        self.configure(config, secrets)

    def configure(self, config: Config, secrets: Secrets) -> None:
        """Use another configuration from the next request on. Raises ConfigError without a secret it needs."""
        if config.isolates and secrets.isolation is None:
            raise ConfigError("a customer is isolated, and there is no secret to derive its salt from")
        self._preparer.isolation = secrets.isolation
        self.admission.configure(config)
        self._config = config
        self.dispatch.configure(config)
        self._bodies.most = config.max_held_bytes
        self._keys = KeyRing(config.customers)
        self._attempts.configure(config, open_mode=self._keys.open)
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
        exchange = Exchange(api, self._now(), self._tracing.begin(scope["headers"]))
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
            now = self._now()
            self.admission.leave(exchange, now)
            self._journal.ended(exchange, scope, time.time(), now)

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
            head = read_head(scope, config.max_body_bytes)
            exchange.client_request_id = head.request_id
            caller = self.caller(head.authorization)
            self.admission.enter(exchange, caller, head, self._now())  # who may not go on makes us hold nothing
            incoming = await read_body(head, receive, config.max_body_bytes, held, stream_over)
            exchange.raw = incoming.body
            now = self._now()
            prepared = self._preparer.prepare(api, incoming, caller, config, now)
            for stored in response_id(incoming.path) or prepared.stored:
                prepared = await self._candidates.bind(prepared, stored, caller, incoming.headers, now)
            if prepared.group.page_tokens is not None:
                prepared = await self._paging.paged(prepared)
            exchange.prepared, exchange.streamed, exchange.owner = prepared, prepared.stream, caller.customer
            self.admission.charge(exchange, prepared, now)

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
                await self._attempts.serve(exchange, incoming, prepared, caller, send, comments)
