"""The simulated engine's Responses, Anthropic messages and embeddings, against what SGLang was recorded saying."""

import json
from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions, read_options
from tests.engine_adapter.test_dialects import RECORDED

WHOLE = json.loads(
    (Path(__file__).parents[1] / "data" / "streams" / "sglang-response.json").read_text(encoding="utf-8")
)
SYSTEM = "be brief " * 12
RESPONSE: dict[str, Any] = {
    "model": "m",
    "max_output_tokens": 8,
    "temperature": 0,
    "instructions": SYSTEM,
    "input": "hi",
}
MESSAGE: dict[str, Any] = {
    "model": "m",
    "max_tokens": 8,
    "temperature": 0,
    "system": SYSTEM,
    "messages": [{"role": "user", "content": "hi"}],
}
CHAT: dict[str, Any] = {
    "model": "m",
    "max_tokens": 8,
    "temperature": 0,
    "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "hi"}],
}


@pytest.fixture
async def engine() -> AsyncIterator[SimulatedEngine]:
    """One that stores responses and embeds."""
    async with SimulatedEngine(EngineOptions(model="m", speed=500.0, response_store=True, embedding=True)) as engine:
        yield engine


async def ask(engine: SimulatedEngine, path: str, body: Any, method: str = "POST") -> tuple[int, Any]:
    """Status and JSON, or the text of a stream."""
    async with aiohttp.ClientSession() as http, http.request(method, engine.url + path, json=body) as answer:
        text = await answer.text()
        return answer.status, text if answer.content_type == "text/event-stream" else json.loads(text)


def shape(value: Any) -> Any:
    """Keys and types; of a list its first element's."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    return type(value).__name__


def frames(stream: str) -> list[Any]:
    """The events' names and shapes; of equal neighbours one."""
    events = [event.split("\n") for event in stream.removesuffix("\n\n").split("\n\n")]
    return [each for each, _ in groupby((name, shape(json.loads(data[6:]))) for name, data in events)]


@pytest.mark.parametrize(
    ("name", "path", "body"), [("messages", "/v1/messages", MESSAGE), ("responses", "/v1/responses", RESPONSE)]
)
async def test_streams_are_framed_as_sglangs(engine: SimulatedEngine, name: str, path: str, body: Any) -> None:
    """The same events in the same order with the same fields."""
    await ask(engine, path, body)
    status, told = await ask(engine, path, {**body, "stream": True})
    assert (status, frames(told)) == (200, frames(RECORDED[name].decode()))


async def test_a_whole_response_has_the_fields_of_sglangs(engine: SimulatedEngine) -> None:
    """All of them, of the same types, and the same way to say that the output was cut."""
    status, told = await ask(engine, "/v1/responses", RESPONSE)
    assert (status, shape(told)) == (200, shape(WHOLE))
    assert (told["status"], told["incomplete_details"]) == (WHOLE["status"], WHOLE["incomplete_details"])
    assert told["usage"]["output_tokens"] == RESPONSE["max_output_tokens"] - 2 == WHOLE["usage"]["output_tokens"]


async def test_one_conversation_has_one_cache_in_every_api(engine: SimulatedEngine) -> None:
    """The same prompt, whichever API it came through: the same tokens, cached from the second on."""
    _, chat = await ask(engine, "/v1/chat/completions", CHAT)
    _, response = await ask(engine, "/v1/responses", RESPONSE)
    _, message = await ask(engine, "/v1/messages", MESSAGE)
    _, count = await ask(engine, "/v1/messages/count_tokens", MESSAGE)
    tokens = chat["usage"]["prompt_tokens"]
    assert response["usage"]["input_tokens"] == count["input_tokens"] == tokens
    cached = response["usage"]["input_tokens_details"]["cached_tokens"]
    assert message["usage"]["cache_read_input_tokens"] == cached > tokens - 32
    assert message["usage"]["input_tokens"] == tokens - cached


async def test_a_response_continues_what_was_said(engine: SimulatedEngine) -> None:
    """Its prompt is the former's input and output and the new input; and it can be asked for again."""
    _, first = await ask(engine, "/v1/responses", RESPONSE)
    following = {**RESPONSE, "input": "go on", "previous_response_id": first["id"], "stream": True}
    status, stream = await ask(engine, "/v1/responses", following)
    last = json.loads(stream.removesuffix("\n\n").rpartition("data: ")[2])["response"]
    assert (status, last["previous_response_id"]) == (200, first["id"])
    assert last["usage"]["input_tokens"] > first["usage"]["total_tokens"]
    for name in (first["id"], last["id"]):
        assert (await ask(engine, f"/v1/responses/{name}", None, "GET"))[1]["id"] == name
    await ask(engine, "/v1/responses", {**RESPONSE, "store": False})
    assert len(engine._generation.store.responses) == 2


async def test_what_is_not_stored_is_refused_as_sglang_refuses(engine: SimulatedEngine) -> None:
    """Unknown and malformed ids; and everything without --enable-response-store."""
    for name, status, says in (("resp_0", 404, "not found"), ("x", 400, "begins with 'resp'")):
        refused = await ask(engine, "/v1/responses", {**RESPONSE, "previous_response_id": name})
        assert refused[0] == status
        assert says in refused[1]["error"]["message"]
        assert (await ask(engine, f"/v1/responses/{name}/cancel", {}))[0] == status
    async with SimulatedEngine(EngineOptions(model="m")) as bare:
        for path, body in (("", {**RESPONSE, "previous_response_id": "resp_0"}), ("/resp_0/cancel", {})):
            status, refused = await ask(bare, f"/v1/responses{path}", body)
            assert (status, "--enable-response-store" in refused["error"]["message"]) == (400, True)


async def test_a_response_without_room_fails_in_its_stream(engine: SimulatedEngine) -> None:
    """As SGLang does it: 400 whole, `response.failed` streamed."""
    body = {**RESPONSE, "max_output_tokens": 10**7}
    status, refused = await ask(engine, "/v1/responses", body)
    assert (status, refused["error"]["type"]) == (400, "invalid_request_error")
    status, told = await ask(engine, "/v1/responses", {**body, "stream": True})
    assert status == 200
    assert told.count("event: ") == 2
    assert "event: response.failed" in told


async def test_embeddings(engine: SimulatedEngine) -> None:
    """Texts, token ids, both encodings; refused where the engine was not started for them."""
    for given, count in (("a", 1), (["a", "b"], 2), ([1, 2], 1), ([[1, 2], [3]], 2)):
        status, told = await ask(engine, "/v1/embeddings", {"model": "m", "input": given})
        assert (status, len(told["data"])) == (200, count)
    _, coded = await ask(engine, "/v1/embeddings", {"model": "m", "input": "a", "encoding_format": "base64"})
    assert isinstance(coded["data"][0]["embedding"], str)
    async with SimulatedEngine(EngineOptions(model="m")) as generating:
        status, told = await ask(generating, "/v1/embeddings", {"model": "m", "input": "a"})
        assert (status, "--is-embedding" in told["message"]) == (400, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {**MESSAGE, "messages": []}),
        ("/v1/messages", {**MESSAGE, "max_tokens": 0}),
        ("/v1/messages", {**MESSAGE, "messages": ["x"]}),
        ("/v1/messages", {**MESSAGE, "messages": [{"content": "x"}]}),
        ("/v1/messages/count_tokens", {"model": "m"}),
        ("/v1/responses", {"model": "m"}),
        ("/v1/responses", {**RESPONSE, "input": ["x"]}),
    ],
)
async def test_errors_have_the_shape_of_their_api(engine: SimulatedEngine, path: str, body: Any) -> None:
    """Anthropic's on its paths, OpenAI's nested one for Responses."""
    status, told = await ask(engine, path, body)
    assert status == 400
    assert ("type" in told) is path.startswith("/v1/messages")
    assert told["error"]["message"]


def test_options_of_the_command_line() -> None:
    """The flags have SGLang's names."""
    options = read_options(["--enable-response-store", "--is-embedding"])
    assert (options.response_store, options.embedding) == (True, True)
