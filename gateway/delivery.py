"""An engine's answer on its way to the client: streamed or whole, and what it tells on the way.

A head that left early (keep-alive comments) can only be followed by events. Response ids, usage and the outcome are
noted on the exchange; the bytes are the engine's.
"""

import asyncio
from collections.abc import Callable

from engine_adapter.sse import StreamTap
from gateway.exchange import Exchange
from gateway.incoming import Send
from gateway.pool import Response
from gateway.relay import relay_stream, relay_whole, usage_of
from gateway.reply import error_event, start
from gateway.response_ids import ResponseIds, id_of
from gateway.said import said_by, said_in
from gateway.workers import Worker


class Delivery:
    """Relays answers. response_ids: where the ids of kept responses are remembered. now: seconds, monotonic."""

    def __init__(self, response_ids: ResponseIds, now: Callable[[], float]) -> None:
        self._response_ids = response_ids
        self._now = now

    async def relay(
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
        """Give the client what the engine answers, head to end, and close the response.

        first: the body's bytes that are here already. hide: the client did not ask for the usage chunk. Raises
        EngineFault when the engine breaks off.
        """
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
            if exchange.trace.sampled and api.counted:
                exchange.said = said_in(answer)
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
            result = tap.close()
            exchange.usage = result.usage
            exchange.said = said_by(result)
            raise
        self._remember(exchange, tap.response_id)
        if exchange.trace.sampled:
            exchange.said = said_by(result)
        exchange.usage, exchange.outcome = result.usage if exchange.api.counted else None, result.outcome
        if result.outcome != "ok":
            exchange.error_type = "stream_broken" if result.outcome == "truncated" else "engine_error"

    def _remember(self, exchange: Exchange, name: str | None) -> None:
        """The worker answered with a response of this id, which later requests may name."""
        if name is not None and exchange.worker is not None:
            self._response_ids.remember(name, exchange.worker.id, exchange.owner, self._now())


async def _nowhere(_: object) -> None:
    """A client that is sent nothing."""
