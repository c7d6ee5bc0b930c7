"""A program on the anthropic SDK: messages whole, streamed and helped, token counts, errors."""

import asyncio
from typing import Any

import anthropic

from tests.sdks.openai_script import SCHEMA, collect
from tests.sdks.transcript import Transcript

TOOL: Any = {"name": "weather", "description": "Of a city.", "input_schema": SCHEMA}


async def messages(url: str, model: str) -> Transcript:
    """Whatever the messages API has that a local engine answers."""
    seen = Transcript()
    async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
        create = client.messages.create
        asked: dict[str, Any] = {"model": model, "max_tokens": 8, "extra_body": {"temperature": 0}}
        question: Any = [{"role": "user", "content": "Tell a story."}]
        await seen.step("message", lambda: create(messages=question, system="Be brief.", **asked))
        await seen.step("stream", lambda: collect(create(messages=question, stream=True, **asked)))
        marked: Any = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
        await seen.step("marked", lambda: create(messages=question, system=marked, **asked))
        await seen.step("with a tool", lambda: create(messages=question, tools=[TOOL], **asked))

        async def helper() -> Any:
            async with client.messages.stream(messages=question, **asked) as stream:
                text = [piece async for piece in stream.text_stream]
                return text, await stream.get_final_message()

        await seen.step("stream helper", helper)
        counted: Any = client.messages.count_tokens
        await seen.step("count", lambda: counted(model=model, messages=question, system="Be brief."))
        await seen.step("no room", lambda: create(messages=question, **{**asked, "max_tokens": 10**7}, timeout=30.0))
        await seen.step("nothing", lambda: create(messages=question, **{**asked, "max_tokens": 0}))
        await seen.step("empty", lambda: create(messages=[], **asked))
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as sync:
        say: Any = sync.messages.create
        await seen.step("sync", lambda: asyncio.to_thread(say, messages=question, **asked))
        await seen.step(
            "sync stream", lambda: asyncio.to_thread(lambda: list(say(messages=question, stream=True, **asked)))
        )
        await seen.step("sync error", lambda: asyncio.to_thread(say, messages=[], **asked))
    return seen
