"""Answers of the simulated engine in the dialects that name their events: Responses and Anthropic's messages.

One idea: the order and the fields of the events are those recorded from SGLang 0.5.23 (tests/data/streams); only
text and counts are ours.
"""

import json
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from engine_adapter.simulated_answers import Choice, usage_of
from engine_adapter.simulated_asks import Ask

_STOP = {"stop": "end_turn", "length": "max_tokens"}
_ECHOED = ("instructions", "max_output_tokens", "previous_response_id", "user")
_FRACTIONS = ("temperature", "top_p")


def _event(kind: str, **fields: Any) -> bytes:
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


# ---------------------------------------------------------------------- Anthropic's messages


def messages_usage(ask: Ask, choice: Choice, *, cache_report: bool) -> dict[str, int]:
    """Input without the cached tokens, which are told when there are some and reporting is on."""
    counts = usage_of(ask, [choice], cache_report=cache_report)
    cached = (counts["prompt_tokens_details"] or {}).get("cached_tokens", 0)
    told = {"cache_read_input_tokens": cached} if cached else {}
    return {"input_tokens": counts["prompt_tokens"] - cached, "output_tokens": choice.produced, **told}


def messages_answer(ask: Ask, choice: Choice, *, cache_report: bool) -> dict[str, Any]:
    """The whole answer of /v1/messages."""
    return {
        "id": f"msg_{choice.id}",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": choice.text(0, choice.produced)}],
        "model": ask.model,
        "stop_reason": _STOP[choice.finish_reason],
        "usage": messages_usage(ask, choice, cache_report=cache_report),
    }


class MessagesWriter:
    """The event stream of /v1/messages."""

    def __init__(self, ask: Ask, *, cache_report: bool) -> None:
        self._ask = ask
        self._report = cache_report

    def opening(self, choice: Choice) -> list[bytes]:
        """The start of the message, with what it cost so far, and of its one block."""
        usage = messages_usage(self._ask, choice, cache_report=self._report) | {"output_tokens": 0}
        head = {"id": f"msg_{choice.id}", "type": "message", "role": "assistant", "content": []}
        message = {**head, "model": self._ask.model, "usage": usage}
        block = {"type": "text", "text": ""}
        return [
            _event("message_start", message=message),
            _event("content_block_start", index=0, content_block=block),
        ]

    def progress(self, choice: Choice) -> list[bytes]:
        """The text since the last call."""
        text = choice.text(choice.sent, choice.produced)
        choice.sent = choice.produced
        return [_event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})] if text else []

    def closing(self, choices: Sequence[Choice]) -> list[bytes]:
        """The end, with the reason and the output."""
        (choice,) = choices
        return [
            _event("content_block_stop", index=0),
            _event(
                "message_delta",
                delta={"stop_reason": _STOP[choice.finish_reason]},
                usage={"output_tokens": choice.produced},
            ),
            _event("message_stop"),
        ]


# ---------------------------------------------------------------------- Responses


def _item(choice: Choice, text: str | None) -> dict[str, Any]:
    content = [] if text is None else [_part(text)]
    status = "in_progress" if text is None else "completed"
    head = {"id": f"msg_{choice.id}", "content": content, "role": "assistant", "status": status}
    return {**head, "type": "message", "phase": "final_answer"}


def _part(text: str) -> dict[str, Any]:
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": None}


def response_answer(ask: Ask, choice: Choice, *, ended: bool = True) -> dict[str, Any]:
    """A response, whole or as it begins. It tells the cached tokens whether or not they are reported elsewhere."""
    cut = ended and choice.finish_reason == "length"
    counts = usage_of(ask, [choice], cache_report=True)
    usage = {
        "input_tokens": counts["prompt_tokens"],
        "input_tokens_details": {**counts["prompt_tokens_details"], "cache_write_tokens": 0},
        "output_tokens": choice.produced,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": counts["total_tokens"],
    }
    text = choice.text(0, choice.produced)
    return {
        "id": f"resp_{choice.id}",
        "object": "response",
        "created_at": int(time.time()),
        "model": ask.model,
        "output": [_item(choice, text)] if ended else [],
        "status": "incomplete" if cut else "completed" if ended else "in_progress",
        "usage": usage if ended else None,
        "parallel_tool_calls": True,
        "tool_choice": ask.request.get("tool_choice", "auto"),
        "tools": ask.request.get("tools", []),
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "reasoning": {"effort": None, "summary": None},
        "store": ask.request.get("store", True),
        "text": {"format": {"type": "text"}} if ended else None,
        "truncation": "disabled",
        "metadata": ask.request.get("metadata", {}),
        **{name: ask.request.get(name) for name in _ECHOED},
        **{name: None if (value := ask.request.get(name)) is None else float(value) for name in _FRACTIONS},
    }


class ResponsesWriter:
    """The event stream of /v1/responses."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._sequence = 0

    def opening(self, choice: Choice) -> list[bytes]:
        """The response, its message and its text begin."""
        response = response_answer(self._ask, choice, ended=False)
        item = {"item_id": f"msg_{choice.id}", "output_index": 0}
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
            self._event("response.output_item.added", item=_item(choice, None), output_index=0),
            self._event("response.content_part.added", content_index=0, **item, part=_part("")),
        ]

    def progress(self, choice: Choice) -> list[bytes]:
        """The text since the last call."""
        text = choice.text(choice.sent, choice.produced)
        choice.sent = choice.produced
        place = {"content_index": 0, "item_id": f"msg_{choice.id}", "output_index": 0}
        return [self._event("response.output_text.delta", delta=text, logprobs=[], **place)] if text else []

    def closing(self, choices: Sequence[Choice]) -> list[bytes]:
        """Text, message and response end, each told whole once more."""
        (choice,) = choices
        text = choice.text(0, choice.produced)
        place = {"content_index": 0, "item_id": f"msg_{choice.id}", "output_index": 0}
        response = response_answer(self._ask, choice)
        return [
            self._event("response.output_text.done", text=text, logprobs=[], **place),
            self._event("response.content_part.done", part=_part(text), **place),
            self._event("response.output_item.done", item=_item(choice, text), output_index=0),
            self._event(f"response.{response['status']}", response=response),
        ]

    def _event(self, kind: str, **fields: Any) -> bytes:
        event = _event(kind, **fields, sequence_number=self._sequence)
        self._sequence += 1
        return event


def failed_stream(message: str) -> list[bytes]:
    """A stream of a response that the engine found no way to begin: SGLang refuses it in the stream."""
    response = {"id": f"resp_{uuid4().hex}", "object": "response", "created_at": int(time.time()), "output": []}
    error = {"code": "server_error", "message": message}
    return [
        _event("response.created", response={**response, "status": "in_progress"}, sequence_number=0),
        _event("response.failed", response={**response, "status": "failed", "error": error}, sequence_number=1),
    ]
