"""A program on the openai SDK: chat, completions, responses, embeddings, models; streams, helpers, errors."""

import asyncio
from typing import Any

import openai
from pydantic import BaseModel

from tests.sdks.transcript import Transcript

MESSAGES: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Tell a story."}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL: Any = {"type": "function", "function": {"name": "weather", "description": "Of a city.", "parameters": SCHEMA}}
FLAT_TOOL: Any = {"type": "function", "name": "weather", "description": "Of a city.", "parameters": SCHEMA}


class City(BaseModel):
    """What structured outputs are read into."""

    name: str
    people: int


async def collect(stream: Any) -> list[Any]:
    """All events of a stream."""
    return [event async for event in await stream]


async def generations(url: str, model: str) -> Transcript:
    """Chat and completions, whole and streamed, and their errors."""
    seen = Transcript()
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        chat, common = client.chat.completions, {"model": model, "max_tokens": 8, "temperature": 0}
        asked: dict[str, Any] = {**common, "messages": MESSAGES}
        await seen.step("chat", lambda: chat.create(**asked))
        await seen.step("chat stream", lambda: collect(chat.create(stream=True, **asked)))
        usage: Any = {"include_usage": True}
        await seen.step("with usage", lambda: collect(chat.create(stream=True, stream_options=usage, **asked)))
        await seen.step("with a tool", lambda: chat.create(tools=[TOOL], **asked))
        await seen.step("two choices", lambda: chat.create(n=2, **asked))

        async def helper() -> Any:
            async with chat.stream(**asked) as stream:
                kinds = [event.type async for event in stream]
                return kinds, await stream.get_final_completion()

        await seen.step("stream helper", helper)
        text: dict[str, Any] = {**common, "prompt": "def main("}
        await seen.step("completion", lambda: client.completions.create(**text))
        await seen.step("completion stream", lambda: collect(client.completions.create(stream=True, **text)))
        await seen.step("models", lambda: collect(_models(client)))
        await seen.step("model", lambda: client.models.retrieve(model))
        await seen.step("no such model", lambda: client.models.retrieve("no-such-model"))
        await seen.step("too long", lambda: chat.create(**{**asked, "max_tokens": 10**7}))
        await seen.step(
            "too long stream", lambda: collect(chat.create(**{**asked, "max_tokens": 10**7}, stream=True))
        )
        await seen.step("wrong role", lambda: chat.create(**{**asked, "messages": [{"role": "x", "content": "y"}]}))
        await seen.step("wrong n", lambda: chat.create(**asked, n=-1))
        parsed = {**asked, "response_format": City}
        await seen.step("not the structure", lambda: chat.parse(**parsed))
        raw = await chat.with_raw_response.create(**asked)
        seen.steps.append(("raw", [raw.status_code, raw.headers["content-type"]]))
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as sync:
        say = sync.chat.completions.create
        await seen.step("sync", lambda: asyncio.to_thread(say, **asked))
        await seen.step("sync stream", lambda: asyncio.to_thread(lambda: list(say(stream=True, **asked))))
        await seen.step("sync error", lambda: asyncio.to_thread(say, **{**asked, "max_tokens": 10**7}))
    return seen


async def _models(client: openai.AsyncOpenAI) -> Any:
    return client.models.list()


async def embeddings(url: str, model: str) -> Transcript:
    """Vectors, as base64 (the SDK's own choice) and as numbers, and the engine's refusal of nothing."""
    seen = Transcript()
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        await seen.step("one", lambda: client.embeddings.create(model=model, input="hello"))
        await seen.step(
            "some", lambda: client.embeddings.create(model=model, input=["a", "b"], encoding_format="float")
        )
        await seen.step("none", lambda: client.embeddings.create(model=model, input=""))
    return seen


async def responses(url: str, model: str) -> Transcript:
    """Responses: whole, streamed, helped, continued, retrieved, cancelled, and their errors."""
    seen = Transcript()
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        asked: dict[str, Any] = {
            "model": model,
            "max_output_tokens": 8,
            "temperature": 0,
            "instructions": "Be brief.",
        }
        create = client.responses.create
        first = await seen.step("response", lambda: create(input="Tell a story.", **asked))
        known = first.id if first is not None else "resp_none"
        await seen.step("stream", lambda: collect(create(input="Tell a story.", stream=True, **asked)))
        items: Any = [{"role": "user", "content": [{"type": "input_text", "text": "Tell a story."}]}]
        await seen.step("items", lambda: create(input=items, **asked))
        await seen.step("with a tool", lambda: create(input="Weather?", tools=[FLAT_TOOL], **asked))
        await seen.step("continued", lambda: create(input="Go on.", previous_response_id=known, **asked))

        async def helper() -> Any:
            async with client.responses.stream(input="Tell a story.", **asked) as stream:
                return [event async for event in stream if event.type != "response.output_text.delta"]

        await seen.step("stream helper", helper)
        await seen.step("retrieve", lambda: client.responses.retrieve(known))
        await seen.step("cancel", lambda: client.responses.cancel(known))
        await seen.step("delete", lambda: client.responses.delete(known))
        await seen.step("unknown", lambda: create(input="x", previous_response_id="resp_unknown", **asked))
        await seen.step("retrieve unknown", lambda: client.responses.retrieve("resp_unknown"))
        too_long: dict[str, Any] = {**asked, "max_output_tokens": 10**7}
        await seen.step("too long", lambda: create(input="x", **too_long))
        await seen.step("too long stream", lambda: collect(create(input="x", stream=True, **too_long)))
    return seen
