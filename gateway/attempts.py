"""The attempts of one request: a place at a worker, the question, its answer, and another worker where that may help.

Every place ends in exactly one release, with what it says of the worker; all attempts share one retry budget.
"""

import time
from collections.abc import Callable

from gateway.breaker import Verdict, judge
from gateway.comments import Comments
from gateway.config import Config
from gateway.delivery import Delivery
from gateway.dispatch import Dispatch, Place
from gateway.errors import Refusal
from gateway.exchange import Exchange
from gateway.http1 import EngineFault, FaultKind
from gateway.identity import CREDENTIALS, Caller
from gateway.incoming import Incoming, Send
from gateway.journal import Journal
from gateway.pool import Response
from gateway.prepared import Prepared
from gateway.relay import Broken
from gateway.response_ids import ResponseIds
from gateway.retry import RetryBudget, Tries
from gateway.tracing import note_attempt
from gateway.upstream import Upstream
from gateway.workers import Worker, Workers
from telemetry.tracing import Attempt

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


class Attempts:
    """Gets requests answered. suspect: told of a worker that did not answer."""

    def __init__(
        self,
        workers: Workers,
        upstream: Upstream,
        dispatch: Dispatch,
        journal: Journal,
        response_ids: ResponseIds,
        suspect: Callable[[Worker, EngineFault], None],
    ) -> None:
        self._workers = workers
        self._upstream = upstream
        self._dispatch = dispatch
        self._journal = journal
        self._suspect = suspect
        self._budget = RetryBudget()
        self._now = time.monotonic
        self._delivery = Delivery(response_ids, self._now)

    def configure(self, config: Config, *, open_mode: bool) -> None:
        """open_mode: no customers are configured, so the clients' credentials are the engine's business."""
        self._most = config.max_attempts
        self._open = open_mode

    async def serve(
        self,
        exchange: Exchange,
        incoming: Incoming,
        prepared: Prepared,
        caller: Caller,
        send: Send,
        comments: Comments,
    ) -> None:
        """Try workers until one answers; nothing has been sent to the client before that.

        Raises Refusal when none did.
        """
        tries = Tries(self._budget, self._most, self._dispatch.in_flight)
        verdict: Verdict
        noted: Attempt | None
        while True:
            place = await self._dispatch.place(prepared, tries.tried)
            verdict, noted = "neither", None
            try:
                exchange.route, exchange.worker = place.route, place.worker
                self._journal.dispatched(exchange, prepared, place)
                exchange.queued_s += place.waited_s
                tries.tried.add(place.worker.id)
                noted = note_attempt(exchange, place, self._now())
                body, hide = prepared.for_engine(place.worker.engine, place.rank)
                exchange.dispatched = exchange.dispatched or self._now()
                response, first = await self._ask(exchange, place, incoming, prepared, body, tries, comments)
                verdict = judge(response.status)
                if verdict == "ok":
                    self._workers.breakers.answered(place.worker.id)
                    verdict = "neither"  # until it has answered to the end
                await self._delivery.relay(
                    exchange, place.worker, response, first, send, hide=hide, trusted=caller.trusted
                )
                if response.status < 400:
                    verdict = "fault" if exchange.outcome == "truncated" else "ok"
                return
            except EngineFault as error:
                verdict = "neither" if error.kind == "busy" else "fault"
                exchange.outcome, exchange.error_type = "error", _CODES[error.kind]
                if noted is not None:
                    noted.error = exchange.error_type
                self._suspect(place.worker, error)
                if isinstance(error, Broken) and not exchange.streamed:
                    return
                told = error.kind in ("busy", "unavailable")  # another worker was looked for before they were raised
                if isinstance(error, Broken) or not (told or self._again(error.kind, incoming, prepared, tries)):
                    raise Refusal(_CODES[error.kind], f"worker {place.worker.id}: {error}") from error
                exchange.retries += 1
            finally:
                if noted is not None:
                    noted.ended = self._now()
                self._release(exchange, place, verdict)

    def _again(self, kind: FaultKind, incoming: Incoming, prepared: Prepared, tries: Tries) -> bool:
        """Whether another worker is asked after this fault."""
        if incoming.rest is not None and incoming.rest.started:
            return False  # what has been sent on is not here any more
        if kind == "busy":
            another = self._dispatch.idle(prepared, tries.tried)
        else:
            another = self._dispatch.another(prepared, tries.tried)
        return another and tries.again(kind, self._now())

    async def _ask(
        self,
        exchange: Exchange,
        place: Place,
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
        headers = incoming.headers if self._open else [h for h in incoming.headers if h[0] not in CREDENTIALS]
        worker = place.worker
        if place.rank is not None and prepared.dp_rank is None:
            headers = [*headers, *worker.engine.rank_headers(incoming.path, place.rank)]
        traced = exchange.trace.headers(headers)
        response = await self._upstream.post(
            worker.url, path, traced, body, incoming.method, lambda: self._budget.take(self._now()), incoming.rest
        )
        exchange.trace.answered(response.status)
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

    def _release(self, exchange: Exchange, place: Place, verdict: Verdict) -> None:
        """The place is over, however it ended: free it, and learn from what was reported."""
        prepared, usage = exchange.prepared, exchange.usage
        cached = usage.cached_read if usage else None
        output = (usage.output or 0) if usage else 0
        prompt = usage.input_total if usage else None
        self._dispatch.release(place, verdict, cached_tokens=cached, output_tokens=output, prompt_tokens=prompt)
        if cached is not None and exchange.api.cached == "reporting":  # others tell it whatever is reported
            place.worker.cache_report = True
        if usage is not None and usage.input_total and prepared is not None and prepared.teaches:
            place.group.learn_ratio(len(prepared.view.text), usage.input_total)
