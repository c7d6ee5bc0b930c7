"""lint.traffic.exports: the same request out of every product's export, with what it says of time and tokens."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lint.traffic.engine import TrafficEngine
from lint.traffic.exports import requests_of
from lint.traffic.logged import Logged

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
TOOL = {"type": "function", "name": "f", "parameters": {}}
BODY = {"model": "m", "messages": MESSAGES}
AT = 1_772_532_847.5
ISO = "2026-03-03T10:14:07.500000Z"
WHOLE = Logged(BODY, AT, input_tokens=40, cached_tokens=16)
PARTS = [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
NOW = {
    "gen_ai.request.model": "m",
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    "gen_ai.input.messages": json.dumps(PARTS),
    "gen_ai.usage.input_tokens": "40",
    "gen_ai.usage.cache_read.input_tokens": 16,
}
USED = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 40, "gen_ai.usage.cache_read.input_tokens": 16}
EVENTS = [
    {"name": "gen_ai.system.message", "attributes": {"content": "Be brief.", "gen_ai.system": "openai"}},
    {"name": "gen_ai.user.message", "attributes": {"content": "Hi"}},
    {"name": "gen_ai.choice", "attributes": {"index": 0}},
]


def parse(raw: bytes) -> dict[str, Any]:
    value = json.loads(raw)
    return value if isinstance(value, dict) else {}


def otlp(value: Any) -> Any:
    """A value as OTLP/JSON writes it."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attributes(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp(one) for one in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": otlp(value)} for key, value in values.items()]


def span(values: dict[str, Any], events: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    inner = [{**event, "attributes": attributes(event["attributes"])} for event in events or ()]
    one = {"name": "chat m", "startTimeUnixNano": "1772532847500000000", "attributes": attributes(values)}
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [{**one, "events": inner}]}]}]}


def records(*bodies: tuple[str, Any]) -> dict[str, Any]:
    shared = {"spanId": "s", "timeUnixNano": "1772532847500000000", "attributes": attributes(USED)}
    found = [{**shared, "eventName": name, "body": otlp(body)} for name, body in bodies]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": found}]}]}


USAGE = {"prompt_tokens": 40, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 16}}
OBSERVATION = {"type": "GENERATION", "provided_model_name": "m", "start_time": "2026-03-03 10:14:07.500000"}
CASES: dict[str, Any] = {
    "flat": {**BODY, "timestamp": ISO, "usage": USAGE},
    "capture": {"request": BODY, "started": AT, "input_tokens": 40, "cached_tokens": 16},
    "helicone": {"request_body": BODY, "response_body": {"usage": USAGE}, "request_created_at": ISO},
    "text in text": {"body": json.dumps(BODY), "ts": int(AT * 1000), "usage": USAGE},
    "litellm payload": {
        "call_type": "acompletion",
        "model": "m",
        "messages": MESSAGES,
        "model_parameters": {},
        "startTime": AT,
        "metadata": {"usage_object": USAGE},
    },
    "litellm kwargs": {
        "kwargs": {
            "standard_logging_object": {
                "model": "m",
                "messages": json.dumps(MESSAGES),
                "model_parameters": {},
                "startTime": AT,
                "metadata": {"usage_object": USAGE},
            }
        }
    },
    "litellm spend log": {
        "messages": "{}",
        "model": "azure/m",
        "proxy_server_request": json.dumps(BODY),
        "startTime": ISO,
        "metadata": json.dumps({"usage_object": USAGE}),
    },
    "langfuse blob": {
        **OBSERVATION,
        "input": json.dumps(MESSAGES),
        "model_parameters": "{}",
        "usage_details": {"input": 24, "input_cached_tokens": 16, "output": 1},
    },
    "langfuse api": {
        "traceId": "t",
        "type": "GENERATION",
        "model": "m",
        "input": {"messages": MESSAGES},
        "startTime": ISO,
        "usageDetails": {"input": 24, "cache_read_input_tokens": 16},
    },
    "otlp now": span(NOW),
    "otlp structured": span({**NOW, "gen_ai.input.messages": PARTS}),
    "otlp on the event": span({}, [{"name": "gen_ai.client.inference.operation.details", "attributes": NOW}]),
    "otlp span events": span(USED, EVENTS),
    "otlp log records": records(
        ("gen_ai.system.message", {"content": "Be brief."}), ("gen_ai.user.message", {"content": "Hi"})
    ),
    "openllmetry": span(
        {
            **USED,
            **{f"gen_ai.prompt.{at}.{key}": one for at in (1, 0) for key, one in MESSAGES[at].items()},
        }
    ),
    "openinference": span(
        {
            "llm.model_name": "m",
            **{f"llm.input_messages.{at}.message.{k}": one for at in (0, 1) for k, one in MESSAGES[at].items()},
            "llm.token_count.prompt": 40,
            "llm.token_count.prompt_details.cache_read": 16,
        }
    ),
    "sdk console": {"name": "chat m", "start_time": ISO, "attributes": NOW, "events": []},
}


@pytest.mark.parametrize("name", CASES)
def test_every_shape_is_the_same_request(name: str) -> None:
    """Body, time, input and cached tokens."""
    (found,) = requests_of(CASES[name], parse)
    assert found is not None
    assert found._replace(body={key: found.body[key] for key in BODY}, answer=None) == WHOLE


def test_pages_traces_and_arrays() -> None:
    """Several requests in one value, what is none of them counted."""
    one = CASES["langfuse api"]
    other = {**one, "type": "SPAN"}
    for value in ([one, other], {"data": [one, other], "meta": {}}, {"id": "t", "observations": [one, other]}):
        found, none = requests_of(value, parse)
        assert found is not None
        assert (found._replace(answer=None), none) == (WHOLE, None)


def test_a_list_of_messages_is_a_request() -> None:
    """As some loggers keep nothing else."""
    (found,) = requests_of(MESSAGES, parse)
    assert found is not None
    assert found.body == {"messages": MESSAGES}


def test_tools_and_calls() -> None:
    """Tools of every product are the body's, and calls have the form of chat APIs."""
    parts = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "f", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "x"}]},
    ]
    (otel,) = requests_of(
        span({"gen_ai.input.messages": json.dumps(parts), "gen_ai.tool.definitions": json.dumps([TOOL])}), parse
    )
    assert otel is not None
    assert otel.body["tools"] == [TOOL]
    assert otel.body["messages"][0]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}
    assert otel.body["messages"][1] == {"role": "tool", "content": "x", "tool_call_id": "1"}
    payload = {**CASES["litellm payload"], "model_parameters": {"tools": [TOOL]}}
    fuse = {**CASES["langfuse blob"], "tool_definitions": {"f": json.dumps(TOOL)}}
    for value in (payload, fuse):
        (found,) = requests_of(value, parse)
        assert found is not None
        assert found.body["tools"] == [TOOL]


@pytest.mark.parametrize(
    "value",
    [
        {**CASES["litellm payload"], "messages": "redacted-by-litellm"},
        {**CASES["litellm payload"], "call_type": "aembedding"},
        {"messages": "{}", "proxy_server_request": "{}"},
        {**CASES["langfuse blob"], "input": ""},
        span({"http.method": "GET"}),
        {"resourceSpans": None},
        {"resourceLogs": [{"scopeLogs": 7}]},
        {"attributes": [{"key": 1}], "name": "x"},
        {"event": 1},
        7,
        [],
    ],
)
def test_what_is_no_request(value: Any) -> None:
    """Prompts that were not kept, other calls and other things: never a request, never a crash."""
    assert [found for found in requests_of(value, parse) if found is not None] == []


def test_unknown_is_not_zero() -> None:
    """What the export does not say is None."""
    (found,) = requests_of({"request": BODY, "timestamp": "yesterday", "usage": {"total_tokens": 3}}, parse)
    assert found is not None
    assert found == Logged(BODY)


def test_worker_and_session() -> None:
    """Under whatever name."""
    (found,) = requests_of({"body": BODY, "worker": "w1", "session_id": 7}, parse)
    assert found is not None
    assert (found.worker, found.session) == ("w1", "7")


_KEYS = st.sampled_from(
    """attributes name events resourceSpans scopeSpans spans resourceLogs scopeLogs logRecords body eventName spanId
    key value stringValue arrayValue values kvlistValue input type data meta observations usage_details
    model_parameters tool_definitions messages model standard_logging_object proxy_server_request metadata
    optional_params
    gen_ai.input.messages gen_ai.system_instructions gen_ai.tool.definitions gen_ai.prompt.0.role parts role content
    request response response_body usage prompt_tokens timestamp startTime session_id usage_object""".split()
)
_TEXTS = st.sampled_from(["", "{", "[]", "[{}]", '{"messages": [1]}', "GENERATION", "user", "9" * 400, "1e999", "-"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300)
@given(_JSON)
def test_any_value(value: Any) -> None:
    """Whatever calls itself an export is a request, or none; never a crash."""
    for found in requests_of(value, parse_or_not):
        if found is not None:
            TrafficEngine().add(found, 1)


@pytest.mark.parametrize("wrong", [7, "x", [1], {"values": 7}, {"a": []}, None, True, [[]], [{"key": "k"}]])
def test_spans_of_wrong_types(wrong: Any) -> None:
    """A member of another type is passed over."""
    whole = span(NOW, EVENTS)
    (one,) = whole["resourceSpans"][0]["scopeSpans"][0]["spans"]
    (record,) = records(("gen_ai.user.message", {"content": "Hi"}))["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    for item, group in ((one, "resourceSpans"), (record, "resourceLogs")):
        inner = ("scopeSpans", "spans") if group == "resourceSpans" else ("scopeLogs", "logRecords")
        for name in item:
            broken = {**item, name: wrong, "attributes": [{"key": "gen_ai.prompt", "value": {"arrayValue": wrong}}]}
            list(requests_of({group: [{inner[0]: [{inner[1]: [broken, {**item, name: wrong}]}]}]}, parse))
        list(requests_of({group: wrong}, parse))


def parse_or_not(raw: bytes) -> dict[str, Any]:
    try:
        return parse(raw)
    except ValueError:
        return {}


def test_what_litellm_itself_logs() -> None:
    """The standard logging payload of litellm 1.110.2, as a callback got it from a call with a mocked answer."""
    file = Path(__file__).parents[3] / "data" / "lint" / "exports" / "litellm-1.110.2.json"
    (found,) = requests_of(json.loads(file.read_text(encoding="utf-8")), parse)
    assert found is not None
    assert [message["content"] for message in found.body["messages"]] == ["Be brief", "Hi"]
    assert [tool["function"]["name"] for tool in found.body["tools"]] == ["f"]
    assert (found.body["model"], found.input_tokens, found.cached_tokens) == ("gpt-4o", 10, None)
    assert found.started is not None
