"""OpenTelemetry GenAI: spans and events in OTLP/JSON (resourceSpans, resourceLogs) and as SDKs print them.

Four conventions are in use. Now (open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-input-messages.json,
gen-ai-system-instructions.json, gen-ai-tool-definitions.json): attributes `gen_ai.input.messages` of parts,
`gen_ai.system_instructions`, `gen_ai.tool.definitions`, on the span or on the event
`gen_ai.client.inference.operation.details`, structured or as text. Up to 1.36: one event per message,
`gen_ai.user.message` and so on, as span events or log records of one span. OpenLLMetry: `gen_ai.prompt.0.role`,
`gen_ai.prompt.0.content`. OpenInference: `llm.input_messages.0.message.role`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from lint.traffic.exports.given import given
from lint.traffic.exports.parts import plain_message, plain_text
from lint.traffic.logged import Logged, logged

_GROUPS: Final = (
    ("resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans"),
    ("resourceLogs", ("scopeLogs",), "logRecords"),
)
_MESSAGE_EVENT: Final = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_CHOICE: Final = "gen_ai.choice"
_MEMBER: Final = re.compile(r"\.(\d+)\.(?:message\.)?(role|content|name)")
_PROMPTS: Final = ("gen_ai.prompt", "llm.input_messages")
_ANSWERS: Final = ("gen_ai.completion", "llm.output_messages")
_TOKENS: Final = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_CACHED: Final = (
    *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
    "llm.token_count.prompt_details.cache_read",
)
_MODELS: Final = ("gen_ai.request.model", "llm.model_name", "gen_ai.response.model")
_VALUES: Final = ("stringValue", "intValue", "doubleValue", "boolValue")


def is_export(value: Mapping[str, Any]) -> bool:
    """An OTLP/JSON message, or one span."""
    return any(group in value for group, _, _ in _GROUPS) or ("attributes" in value and "name" in value)


def requests_of(value: Mapping[str, Any]) -> Iterator[Logged | None]:
    """The requests of its spans; spans and records that are of no request are passed over."""
    found = False
    for record in _records(value):
        found = True
        yield record
    if not found:
        yield None


def _records(value: Mapping[str, Any]) -> Iterator[Logged]:
    if "attributes" in value:
        yield from filter(None, [_request(_span(value), value)])
    for group, scopes, members in _GROUPS:
        items = [
            item
            for resource in _list(value.get(group))
            for name in scopes
            for scope in _list(resource.get(name))
            for item in _list(scope.get(members))
        ]
        spans = ((_span(item), item) for item in items) if members == "spans" else _by_span(items)
        yield from filter(None, (_request(span, item) for span, item in spans))


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _span(item: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span and of its events, and `messages` from events that are one each."""
    attributes = _attributes(item.get("attributes"))
    messages: list[Any] = []
    choices: list[Any] = []
    for event in _list(item.get("events")):
        inner = _attributes(event.get("attributes"))
        messages += _message(event.get("name"), inner)
        choices += _choice(event.get("name"), inner)
        attributes |= {key: one for key, one in inner.items() if key.startswith("gen_ai.") and key not in attributes}
    return attributes | ({"messages": messages} if messages else {}) | ({"choices": choices} if choices else {})


def _by_span(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Log records: those of one span as one, with the first of them."""
    spans: dict[Any, tuple[dict[str, Any], Mapping[str, Any]]] = {}
    for number, record in enumerate(records):
        attributes = _attributes(record.get("attributes"))
        name = record.get("eventName") or attributes.get("event.name")
        key = record.get("spanId")
        span, _ = spans.setdefault(key if isinstance(key, str) and key else number, ({}, record))
        span |= {key: one for key, one in attributes.items() if key.startswith("gen_ai.")}
        said = _value(record.get("body"))
        for member, items in (("messages", _message(name, said)), ("choices", _choice(name, said))):
            if items:
                span.setdefault(member, []).extend(items)
    yield from spans.values()


def _message(name: Any, content: Any) -> list[dict[str, Any]]:
    match = _MESSAGE_EVENT.fullmatch(name) if isinstance(name, str) else None
    if match is None or not isinstance(content, dict):
        return []
    fields = {key.removeprefix("gen_ai.event."): given(one) for key, one in content.items() if key != "gen_ai.system"}
    return [{"role": match[1], **fields}]


def _choice(name: Any, content: Any) -> list[dict[str, Any]]:
    """One of the answers: `message`, an object or its text, with what it says."""
    if name != _CHOICE or not isinstance(content, dict) or "message" not in content:
        return []
    return [{"message": given(content["message"])}]


def _request(span: dict[str, Any], item: Mapping[str, Any]) -> Logged | None:
    messages = _messages(span)
    if not messages:
        return None
    body: dict[str, Any] = {"messages": messages}
    model = next((span[name] for name in _MODELS if span.get(name)), None)
    tools = given(span.get("gen_ai.tool.definitions"))
    body |= {"tools": tools} if isinstance(tools, list) and tools else {}
    body |= {"model": model} if isinstance(model, str) else {}
    tokens, cached = (
        next((_count(span[name]) for name in names if name in span), None) for names in (_TOKENS, _CACHED)
    )
    found = logged(body, span, item)
    return found._replace(input_tokens=tokens, cached_tokens=cached, answer=_answer(span))


def _messages(span: Mapping[str, Any]) -> list[Any]:
    said = given(span.get("gen_ai.input.messages", span.get("gen_ai.prompt")))
    found = (
        list(map(plain_message, said)) if isinstance(said, list) else span.get("messages") or _indexed(span, _PROMPTS)
    )
    instructions = plain_text(given(span.get("gen_ai.system_instructions")))
    return [*([{"role": "system", "content": instructions}] if instructions else []), *found] if found else []


def _answer(span: Mapping[str, Any]) -> Any:
    """As it was logged: parts, a text, events of choices, or attributes; none where those hold calls, which are not
    read."""
    given_whole = span.get("gen_ai.output.messages", span.get("gen_ai.completion"))
    if given_whole is not None or "choices" in span:
        return given_whole if given_whole is not None else {"choices": span["choices"]}
    has_calls = any(key.startswith(_ANSWERS) and "tool_call" in key for key in span)
    return None if has_calls else _indexed(span, _ANSWERS) or None


def _indexed(span: Mapping[str, Any], prefixes: tuple[str, ...]) -> list[dict[str, Any]]:
    """`prefix.N.field` attributes, in the order of N."""
    found: dict[int, dict[str, Any]] = {}
    for key, one in span.items():
        prefix = next(filter(key.startswith, prefixes), None)
        match = None if prefix is None else _MEMBER.fullmatch(key, len(prefix))
        if match is not None:
            found.setdefault(int(match[1]), {})[match[2]] = one
    return [found[number] for number in sorted(found)]


def _attributes(value: Any) -> dict[str, Any]:
    """Attributes as OTLP has them (a list of key and typed value), or as a plain object."""
    if isinstance(value, dict):
        return dict(value)
    return {one["key"]: _value(one.get("value")) for one in _list(value) if isinstance(one.get("key"), str)}


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    for name in _VALUES:
        if name in value:
            return value[name]
    if "arrayValue" in value:
        return [_value(one) for one in _values(value["arrayValue"])]
    return _attributes(_values(value["kvlistValue"])) if "kvlistValue" in value else value


def _values(value: Any) -> list[Any]:
    values = value.get("values") if isinstance(value, dict) else None
    return values if isinstance(values, list) else []


def _count(value: Any) -> int | None:
    """OTLP/JSON writes 64-bit integers as text."""
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else None
