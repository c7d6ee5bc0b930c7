"""The official SDKs against an engine and against the gateway in front of one: the same program sees the same."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import msgspec
import openai
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from tests.engine_adapter.streams import DONE, sse
from tests.engine_adapter.test_dialects import typed
from tests.gateway.fake_engine import EVENTS_HEAD, FakeEngine, chunk, raw, stream, whole
from tests.gateway.running import running
from tests.sdks import anthropic_script, openai_script
from tests.sdks.openai_script import FLAT_TOOL, MESSAGES, TOOL, City, collect
from tests.sdks.processes import curl, litellm_and_langchain
from tests.sdks.transcript import Transcript

OPTIONS = EngineOptions(model="m", speed=500.0, response_store=True, embedding=True)
Program = Callable[[str, str], Awaitable[Transcript]]
PROGRAMS: dict[str, tuple[Program, dict[str, str]]] = {  # and what they see raised, by either
    "chat and completions": (
        openai_script.generations,
        {
            "stream helper": "LengthFinishReasonError",
            "no such model": "NotFoundError",
            "too long": "BadRequestError",
            "too long stream": "BadRequestError",
            "wrong role": "BadRequestError",
            "wrong n": "BadRequestError",
            "not the structure": "LengthFinishReasonError",
            "sync error": "BadRequestError",
        },
    ),
    "embeddings": (openai_script.embeddings, {"none": "BadRequestError"}),
    "responses": (
        openai_script.responses,
        {
            "delete": "NotFoundError",
            "unknown": "NotFoundError",
            "retrieve unknown": "NotFoundError",
            "too long": "BadRequestError",
        },
    ),
    "messages": (
        anthropic_script.messages,
        dict.fromkeys(("no room", "nothing", "empty", "sync error"), "BadRequestError"),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_program_sees_the_same_with_and_without_the_gateway(name: str) -> None:
    """base_url is all that changes: answers, events, usage, errors and their texts are equal."""
    program, raised = PROGRAMS[name]
    async with SimulatedEngine(OPTIONS) as alone, SimulatedEngine(OPTIONS) as engine, running(engine) as gateway:
        direct, through = await program(alone.url, "m"), await program(gateway.url, "m")
    assert [name for name, _ in through.steps] == [name for name, _ in direct.steps]
    for one, other in zip(through.steps, direct.steps, strict=True):
        assert one == other
    assert direct.raises() == raised


# ---------------------------------------------------------------------- tools and structures, from canned answers

ARGUMENTS = '{"city": "Bergen"}'
CITY = '{"name": "Bergen", "people": 290000}'
CHAT_USAGE = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
CALL: Any = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}


def chat_body(finish: str, **message: Any) -> bytes:
    """A whole chat answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return msgspec.json.encode({**head, "choices": [choice], "usage": CHAT_USAGE})


def chat_events(finish: str, *deltas: Any) -> bytes:
    """A streamed chat answer, without the usage nobody asked for."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    ends = [*((delta, None) for delta in deltas), ({}, finish)]
    choices = [{"index": 0, "delta": delta, "finish_reason": reason} for delta, reason in ends]
    return b"".join(sse({**head, "choices": [choice]}) for choice in choices) + DONE


def call_deltas() -> list[Any]:
    """A tool call in pieces."""
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": ARGUMENTS[at : at + 5]}} for at in range(0, len(ARGUMENTS), 5)]
    return [{"role": "assistant", "content": None}, *({"tool_calls": [each]} for each in (first, *pieces))]


FUNCTION_CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "status": "completed"}


def response_body(status: str = "completed", *output: Any) -> dict[str, Any]:
    """A response with this output."""
    usage = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status}
    settings = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "metadata": {}}
    return {**head, **settings, "output": list(output), "usage": {**usage, **details}}


def response_events() -> bytes:
    """A streamed function call."""
    place = {"item_id": "fc_1", "output_index": 0}
    started, ended = {**FUNCTION_CALL, "arguments": ""}, {**FUNCTION_CALL, "arguments": ARGUMENTS}
    events: list[tuple[str, dict[str, Any]]] = [
        ("created", {"response": response_body("in_progress")}),
        ("output_item.added", {"item": started, "output_index": 0}),
        *(("function_call_arguments.delta", {"delta": ARGUMENTS[at : at + 6], **place}) for at in range(0, 18, 6)),
        ("function_call_arguments.done", {"arguments": ARGUMENTS, "name": "weather", **place}),
        ("output_item.done", {"item": ended, "output_index": 0}),
        ("completed", {"response": response_body("completed", ended)}),
    ]
    return b"".join(typed(f"response.{kind}", sequence_number=n, **rest) for n, (kind, rest) in enumerate(events))


TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "weather"}
MESSAGE: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}


def message_events() -> bytes:
    """A streamed tool use."""
    start = {**MESSAGE, "content": [], "stop_reason": None, "usage": {"input_tokens": 9, "output_tokens": 0}}
    pieces = [{"type": "input_json_delta", "partial_json": ARGUMENTS[at : at + 6]} for at in range(0, 18, 6)]
    return b"".join(
        [
            typed("message_start", message=start),
            typed("content_block_start", index=0, content_block={**TOOL_USE, "input": {}}),
            *(typed("content_block_delta", index=0, delta=piece) for piece in pieces),
            typed("content_block_stop", index=0),
            typed(
                "message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 5}
            ),
            typed("message_stop"),
        ]
    )


async def tools(url: str, model: str) -> Transcript:
    """Tool calls and structured outputs in both SDKs, whole and streamed. The answers come in this order."""
    seen = Transcript()
    asked: dict[str, Any] = {"model": model, "messages": MESSAGES}
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        chat = client.chat.completions
        await seen.step("tool", lambda: chat.create(tools=[TOOL], **asked))
        await seen.step("tool stream", lambda: collect(chat.create(tools=[TOOL], stream=True, **asked)))

        async def helper() -> Any:
            async with chat.stream(tools=[TOOL], **asked) as events:
                kinds = [event.type async for event in events]
                return kinds, await events.get_final_completion()

        await seen.step("tool helper", helper)
        await seen.step("structure", lambda: chat.parse(response_format=City, **asked))

        async def structured() -> Any:
            async with chat.stream(response_format=City, **asked) as events:
                kinds = [event.type async for event in events]
                return kinds, await events.get_final_completion()

        await seen.step("structure stream", structured)
        respond: dict[str, Any] = {"model": model, "input": "Weather?", "tools": [FLAT_TOOL]}
        await seen.step("function call", lambda: client.responses.create(**respond))
        await seen.step("function call stream", lambda: collect(client.responses.create(stream=True, **respond)))
        await seen.step("response structure", lambda: client.responses.parse(text_format=City, **respond))
    async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as claude:
        use: dict[str, Any] = {"model": model, "max_tokens": 9, "tools": [anthropic_script.TOOL]}
        messages: Any = [{"role": "user", "content": "Weather?"}]
        await seen.step("tool use", lambda: claude.messages.create(messages=messages, **use))

        async def used() -> Any:
            async with claude.messages.stream(messages=messages, **use) as events:
                kinds = [event.type async for event in events]
                return kinds, await events.get_final_message()

        await seen.step("tool use helper", used)
    return seen


def canned() -> FakeEngine:
    """An engine that has these answers, in the order in which `tools` asks."""
    called = {**FUNCTION_CALL, "arguments": ARGUMENTS}
    text = {"type": "output_text", "text": CITY, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    used = {**MESSAGE, "content": [{**TOOL_USE, "input": {"city": "Bergen"}}], "stop_reason": "tool_use"}
    used["usage"] = {"input_tokens": 9, "output_tokens": 5}
    return FakeEngine(
        whole(chat_body("tool_calls", tool_calls=[CALL])),
        stream(chat_events("tool_calls", *call_deltas())),
        stream(chat_events("tool_calls", *call_deltas())),
        whole(chat_body("stop", content=CITY)),
        stream(chat_events("stop", {"role": "assistant", "content": CITY[:9]}, {"content": CITY[9:]})),
        whole(msgspec.json.encode(response_body("completed", called))),
        stream(response_events()),
        whole(msgspec.json.encode(response_body("completed", said))),
        whole(msgspec.json.encode(used)),
        stream(message_events()),
    )


async def test_tools_and_structures_arrive_as_the_engine_gave_them() -> None:
    """Calls, their pieces and parsed structures are equal, and none of the steps failed."""
    async with canned() as alone, canned() as engine, running(engine) as gateway:
        direct, through = await tools(alone.url, "m"), await tools(gateway.url, "m")
    assert direct.raises() == {}
    assert through.steps == direct.steps
    told = json.dumps(direct.steps)
    assert told.count("Bergen") > 10
    assert '"people": 290000' in told


# ---------------------------------------------------------------------- the gateway's own errors, as SDKs raise them


async def test_sdks_raise_their_own_errors_for_ours() -> None:
    """No engine, no such model, a broken stream: the class and the text a program would handle, in both SDKs."""
    seen: dict[str, Exception] = {}
    begun = typed(
        "message_start", message={**MESSAGE, "content": [], "usage": {"input_tokens": 1, "output_tokens": 0}}
    )
    answers = (
        raw(EVENTS_HEAD, chunk(chat_events("stop", {"content": "x"}).removesuffix(DONE)), then="close"),
        raw(EVENTS_HEAD, chunk(typed("response.created", response=response_body("in_progress"))), then="close"),
        raw(EVENTS_HEAD, chunk(begun), then="close"),
    )
    async with (
        FakeEngine(*answers) as engine,
        running(engine) as gateway,
        openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0) as client,
        anthropic.AsyncAnthropic(base_url=gateway.url, api_key="none", max_retries=0) as claude,
    ):
        chat: Any = {"model": "m", "messages": MESSAGES}
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "chat": lambda: collect(client.chat.completions.create(stream=True, **chat)),
            "response": lambda: collect(client.responses.create(model="m", input="x", stream=True)),
            "message": lambda: collect(
                claude.messages.create(model="m", max_tokens=2, messages=MESSAGES[1:], stream=True)
            ),
            "openai 404": lambda: client.chat.completions.create(**{**chat, "model": "none"}),
            "anthropic 404": lambda: claude.messages.create(model="none", max_tokens=2, messages=MESSAGES[1:]),
        }
        for name, call in calls.items():
            with pytest.raises((openai.APIError, anthropic.APIError)) as error:
                await call()
            seen[name] = error.value
    assert all("before its end" in str(seen[name]) for name in ("chat", "response", "message"))
    assert type(seen["chat"]) is type(seen["response"]) is openai.APIError
    assert isinstance(seen["message"], anthropic.APIStatusError)
    assert isinstance(seen["openai 404"], openai.NotFoundError)
    assert seen["openai 404"].code == "model_not_found"
    assert isinstance(seen["anthropic 404"], anthropic.NotFoundError)


# ---------------------------------------------------------------------- clients in processes of their own


async def test_curl_sees_the_same() -> None:
    """Status, content type and body: a chat, a stream, an error, an upload with Expect: 100-continue."""
    async with SimulatedEngine(OPTIONS) as alone, SimulatedEngine(OPTIONS) as engine, running(engine) as gateway:
        assert await curl(alone.url, "m") == await curl(gateway.url, "m")


@pytest.mark.slow
async def test_litellm_and_langchain_see_the_same() -> None:
    """Clients on top of the SDKs: chat, streams, tools, Anthropic's API by litellm, ChatOpenAI's messages."""
    async with SimulatedEngine(OPTIONS) as alone, SimulatedEngine(OPTIONS) as engine, running(engine) as gateway:
        direct, through = await litellm_and_langchain("m", alone.url, gateway.url)
    assert direct == through
