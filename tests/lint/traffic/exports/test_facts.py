"""lint.traffic.exports: what is found in a gateway's log is found in the export of the same traffic.

The examples of rules that need answers, times, workers or cached tokens, as each product writes them.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from lint.linter import lint_text
from lint.registry import rules
from lint.rule import Example

Line = dict[str, Any]
PLAIN = ("PC504", "PC911", "PC912")
MARKED = ("PC806", "PC807")
"""Judged by Anthropic's breakpoints, which spans do not carry."""


def usage(line: Line) -> Line | None:
    found: Line | None = line.get("response", {}).get("usage")
    return found


def moments(line: Line) -> dict[str, float]:
    """When it began, when the answer did, when it ended: what the log says of it."""
    start = line.get("started")
    after = {"start": 0, "first": line.get("ttft_s"), "end": line.get("duration_s")}
    return {} if start is None else {name: start + some for name, some in after.items() if some is not None}


def litellm(line: Line) -> Line:
    """The standard logging payload."""
    body, names = line["request"], {"start": "startTime", "first": "completionStartTime", "end": "endTime"}
    return {
        "call_type": "acompletion",
        "model": body["model"],
        "messages": body["messages"],
        "model_parameters": {key: value for key, value in body.items() if key not in ("model", "messages")},
        "api_base": line.get("worker"),
        "response": line.get("response"),
        "metadata": {"usage_object": usage(line)},
        **{names[name]: at for name, at in moments(line).items()},
    }


def langfuse(line: Line) -> Line:
    """An observation of its API."""
    names = {"start": "startTime", "first": "completionStartTime", "end": "endTime"}
    used, answer = usage(line), line.get("response", {}).get("choices")
    cached = used["prompt_tokens_details"]["cached_tokens"] if used else 0
    return {
        "type": "GENERATION",
        "traceId": "t",
        "model": line["request"]["model"],
        "input": line["request"],
        "output": answer and answer[0]["message"],
        "metadata": {"worker": line.get("worker")},
        "usageDetails": {"input": used["prompt_tokens"] - cached, "input_cached_tokens": cached} if used else {},
        **{names[name]: datetime.fromtimestamp(at, UTC).isoformat() for name, at in moments(line).items()},
    }


def parts(message: Line) -> Line:
    """A message as OpenTelemetry has it."""
    content, calls = message.get("content"), message.get("tool_calls", ())
    functions = [(call["id"], call["function"]) for call in calls]
    found = [{"type": "text", "content": content}] if content is not None else []
    found += [{"type": "tool_call", "id": name, **function} for name, function in functions]
    return {"role": message["role"], "parts": found}


def otel(line: Line) -> Line:
    """A span, with its messages as text."""
    used, choices = usage(line), line.get("response", {}).get("choices", ())
    values = {
        "gen_ai.request.model": line["request"]["model"],
        "gen_ai.input.messages": json.dumps(list(map(parts, line["request"]["messages"]))),
        **({"server.address": line["worker"]} if line.get("worker") else {}),
        **({"gen_ai.output.messages": json.dumps([parts(one["message"]) for one in choices])} if choices else {}),
    }
    if used:
        values["gen_ai.usage.input_tokens"] = str(used["prompt_tokens"])
        values["gen_ai.usage.cache_read.input_tokens"] = str(used["prompt_tokens_details"]["cached_tokens"])
    times = {name: str(int(at * 1e9)) for name, at in moments(line).items()}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    span = {"name": "chat", "attributes": attributes, "startTimeUnixNano": times.get("start", "")}
    span |= {"endTimeUnixNano": times["end"]} if "end" in times else {}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def events(line: Line) -> Line:
    """A span with an event for each message."""
    span = otel({**line, "response": {}})["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span["attributes"] = [one for one in span["attributes"] if one["key"] != "gen_ai.input.messages"]
    said = [(f"gen_ai.{message['role']}.message", message) for message in line["request"]["messages"]]
    said += [("gen_ai.choice", one) for one in line.get("response", {}).get("choices", ())]
    return {**span, "attributes": {}, "events": [{"name": name, "attributes": one} for name, one in said]}


def lines(example: Example) -> list[Line]:
    found = [json.loads(text) for text in example.text.splitlines()]
    entries = [line if "request" in line else {"request": line} for line in found]
    return [{"worker": line.get("replica"), **line} for line in entries]


def codes(example: Example, export: Callable[[Line], Line]) -> set[str]:
    text = "".join(json.dumps(export(line), ensure_ascii=False) + "\n" for line in lines(example))
    return {finding.code for finding in lint_text("log.jsonl", text)}


CASES = [
    *((code, export) for code in PLAIN for export in (litellm, langfuse, otel)),
    *((code, export) for code in MARKED for export in (litellm, langfuse)),
    ("PC504", events),
]


@pytest.mark.parametrize(("code", "export"), CASES, ids=lambda one: getattr(one, "__name__", one))
def test_examples(code: str, export: Callable[[Line], Line]) -> None:
    """Bad ones are found, good ones are not."""
    logs = [
        (example, is_bad)
        for is_bad, examples in ((True, rules()[code].bad), (False, rules()[code].good))
        for example in examples
        if example.filename.endswith("l")
    ]
    assert len(logs) > 4
    assert [code in codes(example, export) for example, _ in logs] == [is_bad for _, is_bad in logs]
