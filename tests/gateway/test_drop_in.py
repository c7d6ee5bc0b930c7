"""The gateway as what clients think it is: the official OpenAI client, its base_url changed and nothing else."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from tests.gateway.running import Running, running, until

MESSAGES: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]


@pytest.fixture
async def engine() -> AsyncIterator[SimulatedEngine]:
    """A fast engine."""
    async with SimulatedEngine(EngineOptions(speed=200, model="m")) as engine:
        yield engine


@pytest.fixture
async def gateway(engine: SimulatedEngine) -> AsyncIterator[Running]:
    """A gateway in front of it."""
    async with running(engine) as gateway:
        yield gateway


@pytest.fixture
async def client(gateway: Running) -> AsyncIterator[openai.AsyncOpenAI]:
    """The official client."""
    async with openai.AsyncOpenAI(base_url=gateway.url + "/v1", api_key="k", max_retries=0) as client:
        yield client


async def test_chat(client: openai.AsyncOpenAI) -> None:
    """Answer and usage, cached tokens included; the gateway's headers are there to read."""
    for cached in (False, True):
        raw = await client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES * 20, max_tokens=5)
        answer = raw.parse()
        assert answer.choices[0].finish_reason == "length"
        assert answer.choices[0].message.content
        assert answer.usage is not None
        assert answer.usage.completion_tokens == 5
        assert answer.usage.prompt_tokens_details is not None
        assert bool(answer.usage.prompt_tokens_details.cached_tokens) is cached
        assert raw.headers["x-prefixgate-request-id"]


@pytest.mark.parametrize("asked", [True, False])
async def test_a_streamed_chat(client: openai.AsyncOpenAI, asked: bool) -> None:
    """Every chunk has a choice unless usage was asked for, then the last one is the usage."""
    options: Any = {"stream_options": {"include_usage": True}} if asked else {}
    stream = await client.chat.completions.create(model="m", messages=MESSAGES, max_tokens=5, stream=True, **options)
    chunks = [chunk async for chunk in stream]
    *told, last = chunks
    assert "".join(chunk.choices[0].delta.content or "" for chunk in told)
    assert (last.usage is not None, bool(last.choices)) == (asked, not asked)


async def test_completions(client: openai.AsyncOpenAI) -> None:
    """Whole and streamed."""
    answer = await client.completions.create(model="m", prompt="Hi", max_tokens=4)
    assert (answer.choices[0].finish_reason, answer.usage and answer.usage.completion_tokens) == ("length", 4)
    stream = await client.completions.create(model="m", prompt="Hi", max_tokens=4, stream=True)
    assert "".join([chunk.choices[0].text async for chunk in stream]) == answer.choices[0].text


async def test_models(client: openai.AsyncOpenAI) -> None:
    """Listed and looked up."""
    assert [model.id async for model in client.models.list()] == ["m"]
    assert (await client.models.retrieve("m")).id == "m"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("n")


async def test_what_the_client_calls_extra(client: openai.AsyncOpenAI, engine: SimulatedEngine) -> None:
    """extra_body and extra_headers are how a route is named and an engine's own fields are sent."""
    await client.chat.completions.create(
        model="m",
        messages=MESSAGES,
        max_tokens=1,
        extra_body={"cache_salt": "s", "top_k": 1},
        extra_headers={"x-prefixgate-route": "chat", "x-own": "1"},
    )
    (got,) = engine.received
    assert b'"cache_salt":"s"' in got.body.replace(b" ", b"")
    assert "X-Own" in {name.title() for name in got.headers}
    assert not [name for name in got.headers if name.lower().startswith("x-prefixgate")]


async def test_a_stream_that_breaks_is_an_exception(client: openai.AsyncOpenAI, engine: SimulatedEngine) -> None:
    """The client cannot take half an answer for a whole one, and sees why."""
    engine.faults.die_after_events = 3
    stream = await client.chat.completions.create(model="m", messages=MESSAGES, max_tokens=50, stream=True)
    with pytest.raises(openai.APIError, match="before its end"):
        _ = [chunk async for chunk in stream]


async def test_closing_a_stream_frees_the_engine(
    client: openai.AsyncOpenAI, engine: SimulatedEngine, gateway: Running
) -> None:
    """Leaving the loop early is leaving."""
    stream = await client.chat.completions.create(model="m", messages=MESSAGES, max_tokens=100_000, stream=True)
    async for _ in stream:
        break
    await stream.close()
    await until(lambda: engine.scheduler.load().running == 0)
    assert (await gateway.last_record()).outcome == "client_disconnect"
