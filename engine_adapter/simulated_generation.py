"""One generation request of the simulated engine, from its body to its last byte.

One idea: a request is a `Flight` of choices; each has a place in the engine and hears its reports, and leaving
the flight, for whatever reason (the end, a client that went away), gives the places back.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import msgspec
from aiohttp import web

from engine_adapter.engine_request import EngineConfig, EngineRequest, Report
from engine_adapter.simulated_answers import Choice, StreamWriter, answer
from engine_adapter.simulated_apis import ResponseStore, read_messages, read_responses
from engine_adapter.simulated_asks import Api, Ask, Prompt, Refusal, check_lengths
from engine_adapter.simulated_bodies import read_ask
from engine_adapter.simulated_driver import EngineDriver
from engine_adapter.simulated_events import (
    MessagesWriter,
    ResponsesWriter,
    failed_stream,
    messages_answer,
    response_answer,
)
from engine_adapter.simulated_ranks import Ranks
from engine_adapter.simulated_status import Totals
from engine_adapter.simulated_text import invent_output, natural_length
from prefix.errors import EngineError
from prefix.radix import token_key


@dataclass(slots=True, kw_only=True)
class Faults:
    """What goes wrong, for tests; may be set while the engine runs.

    status: answer generation requests with it. hang: take a request and never answer. die_after_events: cut the
    connection after so many stream events (0, or when the answer is no stream: before any byte).
    hang_after_events: say nothing more in the middle of a stream. healthy: False makes /health say 503.
    """

    status: int | None = None
    hang: bool = False
    die_after_events: int | None = None
    hang_after_events: int | None = None
    healthy: bool = True


def json_response(body: object, *, status: int = 200) -> web.Response:
    """A JSON response in SGLang's dress: compact, no charset."""
    return web.Response(body=msgspec.json.encode(body), status=status, content_type="application/json")


class Flight:
    """The choices of one request while they run. `with` submits them, and aborts what is left at the end."""

    def __init__(self, driver: EngineDriver, totals: Totals, choices: Sequence[Choice]) -> None:
        self._driver = driver
        self._totals = totals
        self._choices = {choice.request: choice for choice in choices}
        self._fresh: dict[Choice, None] = {}
        self._news = asyncio.Event()

    def __enter__(self) -> Self:
        try:
            for request in self._choices:
                self._driver.submit(request, self._hear)
        except EngineError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for request, choice in self._choices.items():
            if not choice.finished:
                self._totals.aborted += 1
                self._driver.abort(request)

    async def news(self) -> list[Choice]:
        """Wait for tokens; the choices that got some since the last call. Empty when all have ended."""
        if not self._fresh and all(choice.finished for choice in self._choices.values()):
            return []
        await self._news.wait()
        self._news.clear()
        fresh = list(self._fresh)
        self._fresh.clear()
        return fresh

    async def land(self) -> None:
        """Wait for the end of all choices."""
        while await self.news():
            pass

    def _hear(self, report: Report) -> None:
        choice = self._choices[report.request]
        choice.produced, choice.finished = report.output_tokens, report.finished
        if report.finished:
            self._totals.count(report.request, report.output_tokens)
        self._fresh[choice] = None
        self._news.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Answers generation requests on one engine."""

    ranks: Ranks
    config: EngineConfig
    totals: Totals
    faults: Faults
    cache_report: bool
    stream_interval: int
    store: ResponseStore

    async def respond(self, http: web.Request, api: Api, body: bytes) -> web.StreamResponse:
        """The response to one request; errors as the engine has them."""
        if self.faults.hang:
            await asyncio.Event().wait()
        try:
            if self.faults.status is not None:
                raise Refusal(api, "a fault that was asked for", kind="Fault", status=self.faults.status)
            ask = self._read(api, body)
            try:
                check_lengths(ask, self.config.context_tokens)
            except Refusal as refusal:
                if ask.api == "responses" and ask.stream:
                    return await self._begun(http, failed_stream(str(refusal)))
                raise
            return await self._answer(http, ask)
        except Refusal as refusal:
            return json_response(refusal.body, status=refusal.status)

    def _read(self, api: Api, body: bytes) -> Ask:
        if api == "responses":
            return read_responses(body, self.store)
        return read_messages(body) if api == "messages" else read_ask(api, body)

    async def _answer(self, http: web.Request, ask: Ask) -> web.StreamResponse:
        try:
            driver = self.ranks.pick(_header_rank(http, ask.dp_rank))
            if ask.n > 1:  # as SGLang does it: the shared prompt first, so that no choice computes it
                with self._flight(
                    driver, [self._choice(ask, prompt, 0, limit=0) for prompt in ask.prompts]
                ) as flight:
                    await flight.land()
            asked = [(prompt, prompt.max_tokens) for prompt in ask.prompts for _ in range(ask.n)]
            choices = [self._choice(ask, prompt, index, limit=limit) for index, (prompt, limit) in enumerate(asked)]
            with self._flight(driver, choices) as flight:
                if ask.stream:
                    return await self._stream(http, ask, choices, flight)
                await flight.land()
        except EngineError as error:
            raise error if isinstance(error, Refusal) else Refusal(ask.api, str(error)) from error
        if self.faults.die_after_events is not None:
            return _cut(http, web.Response())
        return json_response(self._whole(ask, choices))

    def _whole(self, ask: Ask, choices: Sequence[Choice]) -> object:
        if ask.api == "messages":
            return messages_answer(ask, choices[0], cache_report=self.cache_report)
        if ask.api == "responses":
            response = response_answer(ask, choices[0])
            self.store.add(ask, response)
            return response
        return answer(ask, choices, cache_report=self.cache_report)

    def _writer(self, ask: Ask) -> StreamWriter | MessagesWriter | ResponsesWriter:
        if ask.api == "messages":
            return MessagesWriter(ask, cache_report=self.cache_report)
        return ResponsesWriter(ask) if ask.api == "responses" else StreamWriter(ask, cache_report=self.cache_report)

    def _flight(self, driver: EngineDriver, choices: Sequence[Choice]) -> Flight:
        return Flight(driver, self.totals, choices)

    def _choice(self, ask: Ask, prompt: Prompt, index: int, *, limit: int | None) -> Choice:
        wanted = len(prompt.forced) if prompt.forced is not None else limit
        length = natural_length(prompt.key) if wanted is None else wanted
        count = length if limit is None else min(length, limit)
        tokens = invent_output(prompt.key, count) if prompt.forced is None else prompt.forced[:count]
        request = EngineRequest(
            key=prompt.key + token_key(tokens),
            prompt_tokens=prompt.tokens,
            output_tokens=count,
            max_output_tokens=self.config.context_tokens if limit is None else limit,
            ignore_eos=prompt.ignore_eos,
            namespace=prompt.namespace,
            report_every=self.stream_interval if ask.stream else 0,
        )
        return Choice(request, index, tokens, limit is None or length < limit, prompt.echo)

    # ------------------------------------------------------------------ streams

    async def _stream(self, http: web.Request, ask: Ask, choices: list[Choice], flight: Flight) -> web.StreamResponse:
        writer = self._writer(ask)
        response = _events()
        sent, opened = 0, set[int]()
        while fresh := await flight.news():
            events = []
            for choice in fresh:
                if choice.index not in opened:
                    opened.add(choice.index)
                    events += writer.opening(choice)
                events += writer.progress(choice)
            sent = await self._send(http, response, events, sent)
        if ask.api == "responses":
            self.store.add(ask, response_answer(ask, choices[0]))
        await self._send(http, response, writer.closing(choices), sent)
        return response

    async def _begun(self, http: web.Request, events: list[bytes]) -> web.StreamResponse:
        response = _events()
        await self._send(http, response, events, 0)
        return response

    async def _send(self, http: web.Request, response: web.StreamResponse, events: list[bytes], sent: int) -> int:
        """Write events, or as many as the faults allow; how many went out so far."""
        limits = [
            limit for limit in (self.faults.die_after_events, self.faults.hang_after_events) if limit is not None
        ]
        allowed = min(limits, default=sent + len(events)) - sent
        if not (response.prepared or (allowed <= 0 and self.faults.die_after_events is not None)):
            await response.prepare(http)
        if allowed > 0:
            await response.write(b"".join(events[:allowed]))
        if allowed < len(events):
            if self.faults.die_after_events is None:
                await asyncio.Event().wait()
            _cut(http, response)
            raise ConnectionResetError("the engine died, as asked")
        return sent + len(events)


def _header_rank(http: web.Request, rank: int | None) -> int | None:
    """The DP rank that the request must go to: the header goes before the body."""
    named = http.headers.get("x-data-parallel-rank", "")
    return int(named) if named.isdigit() else rank


def _events() -> web.StreamResponse:
    return web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})


def _cut(http: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Close the connection under the response."""
    if http.transport is not None:
        http.transport.abort()
    return response
