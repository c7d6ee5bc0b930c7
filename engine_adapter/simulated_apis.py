"""Bodies of the simulated engine's further APIs: Responses, Anthropic's messages, embeddings.

One idea: as in SGLang 0.5.23 each is a chat in other words (prefix.turns), so they share its cache. Stored responses
are remembered by id, with everything that was said before them, only where the engine was started to do so.
"""

import base64
import struct
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import msgspec

from engine_adapter.simulated_asks import Ask, Refusal
from engine_adapter.simulated_bodies import Common, decode, make_ask
from engine_adapter.simulated_text import encode, render_chat, render_tools, token_count
from prefix.body import parse_body
from prefix.errors import BodyError
from prefix.turns import turns_of

_NO_STORE = (
    "Response store is disabled. Stateful Responses require --enable-response-store on a standalone server; "
    "response storage is unavailable in PD mode."
)
_NO_EMBEDDING = (
    "This model does not appear to be an embedding model by default. Please add `--is-embedding` when launching "
    "the server or try another model."
)
_DIMENSIONS = 8


class _Responses(Common, kw_only=True):
    input: str | list[Any]
    instructions: str | None = None
    max_output_tokens: int | None = None
    previous_response_id: str | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = "auto"
    store: bool | None = True


class _Counted(Common, kw_only=True):
    model: str
    messages: list[dict[str, Any]]
    system: Any = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None


class _Messages(_Counted, kw_only=True):
    max_tokens: int


class _Embeddings(msgspec.Struct):
    input: str | list[Any]
    model: str = "default"
    encoding_format: str = "float"


@dataclass(slots=True)
class ResponseStore:
    """The responses of one engine. enabled: as by --enable-response-store."""

    enabled: bool = False
    responses: dict[str, dict[str, Any]] = field(default_factory=dict)
    histories: dict[str, list[Any]] = field(default_factory=dict)

    def get(self, name: str) -> dict[str, Any]:
        """A stored response. Raises Refusal as SGLang refuses."""
        if not self.enabled:
            raise Refusal("responses", _NO_STORE, kind="invalid_request_error", param="response_id")
        if not name.startswith("resp_"):
            message = f"Invalid 'response_id': '{name}'. Expected an ID that begins with 'resp'."
            raise Refusal("responses", message, kind="invalid_request_error", param="response_id")
        if name not in self.responses:
            message = f"Response with id '{name}' not found."
            raise Refusal("responses", message, kind="invalid_request_error", status=404, param="response_id")
        return self.responses[name]

    def add(self, ask: Ask, response: dict[str, Any]) -> None:
        """Keep a response and the items that led to it."""
        if self.enabled and ask.request.get("store") is not False:
            self.responses[response["id"]] = response
            self.histories[response["id"]] = [*ask.history, *response["output"]]


def read_responses(raw: bytes, store: ResponseStore) -> Ask:
    """A body of /v1/responses. Raises Refusal."""
    body = decode("responses", raw, _Responses)
    history: list[Any] = []
    if body.previous_response_id is not None:
        if not store.enabled:
            raise Refusal("responses", _NO_STORE, kind="invalid_request_error", param="previous_response_id")
        store.get(body.previous_response_id)
        history = store.histories[body.previous_response_id]
    given = [{"role": "user", "content": body.input}] if isinstance(body.input, str) else body.input
    history = [*history, *given]
    conversation = {"instructions": body.instructions, "input": history}
    tools = [{"function": tool} for tool in body.tools or [] if tool.get("type") == "function"]
    key = _rendered("responses", conversation, tools, body.tool_choice)
    limit = None if body.max_output_tokens is None else max(body.max_output_tokens - 2, 0)  # as SGLang has it
    return make_ask("responses", body, [key], [limit], request=msgspec.json.decode(raw), history=history)


def read_messages(raw: bytes) -> Ask:
    """A body of /v1/messages. Raises Refusal."""
    body = decode("messages", raw, _Messages)
    if body.max_tokens <= 0:
        raise Refusal("messages", "max_tokens: Value error, max_tokens must be positive")
    body.routed_dp_rank = None  # no field of this API
    return make_ask("messages", body, [_messages_key(body)], [body.max_tokens])


def count_tokens(raw: bytes) -> dict[str, Any]:
    """The answer of /v1/messages/count_tokens. Raises Refusal."""
    return {"input_tokens": token_count(_messages_key(decode("messages", raw, _Counted)))}


def _messages_key(body: _Counted) -> bytes:
    if not body.messages:
        raise Refusal("messages", "Messages cannot be empty.")
    tools = [{"function": {**tool, "parameters": tool.get("input_schema")}} for tool in body.tools or []]
    conversation = {"system": body.system, "messages": body.messages}
    choice = body.tool_choice if isinstance(body.tool_choice, dict) else {}
    named = {"function": {"name": choice.get("name")}} if choice.get("type") == "tool" else choice.get("type")
    return _rendered("messages", conversation, tools, named)


def _rendered(api: Any, conversation: dict[str, Any], tools: list[dict[str, Any]], choice: object) -> bytes:
    try:
        turns = turns_of(parse_body(msgspec.json.encode(conversation)))
    except BodyError as error:
        raise Refusal(api, str(error)) from error
    messages = turns.messages if turns is not None else []
    if any(not isinstance(message, dict) or not isinstance(message.get("role"), str) for message in messages):
        raise Refusal(api, "1 validation error:\n  a message has no role")
    return render_chat(messages, render_tools(tools, choice))


def embeddings(raw: bytes, *, enabled: bool) -> dict[str, Any]:
    """The answer of /v1/embeddings: a small vector for each input, the same for the same input. Raises Refusal."""
    body = decode("chat", raw, _Embeddings)
    if not body.input:
        raise Refusal("chat", "Input cannot be empty")
    if not enabled:
        raise Refusal("chat", _NO_EMBEDDING)
    several = isinstance(body.input, list) and not isinstance(body.input[0], int)
    inputs = [each if isinstance(each, str) else str(each) for each in (body.input if several else [body.input])]
    keys = [encode(text) for text in inputs]
    data = [
        {"embedding": _vector(key, body.encoding_format), "index": place, "object": "embedding"}
        for place, key in enumerate(keys)
    ]
    tokens = sum(map(token_count, keys))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0}
    nothing = {"prompt_tokens_details": None, "reasoning_tokens": 0, "completion_tokens_details": None}
    return {"data": data, "model": body.model, "object": "list", "usage": {**usage, **nothing}}


def _vector(key: bytes, encoding: str) -> list[float] | str:
    values = [crc32(key, place) / 2**32 for place in range(_DIMENSIONS)]
    if encoding == "float":
        return values
    return base64.b64encode(struct.pack(f"<{_DIMENSIONS}f", *values)).decode("ascii")
