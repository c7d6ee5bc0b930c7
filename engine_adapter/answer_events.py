"""Readers of the two dialects that say what each event is: OpenAI's Responses and Anthropic's messages.

One idea: `type` names the event, and the end of the answer is an event of its own, not [DONE]. Deltas carry the
text; the counts come with the end (Responses), or in parts, input first and output last (Anthropic).
Sources: the types of the openai 3.x and anthropic 2.x SDKs; serving_responses.py and anthropic/serving.py of
SGLang 0.5.23.
"""

from collections.abc import Mapping
from typing import Any

from engine_adapter.answer import Answer, message_of

_ENDS = {f"response.{status}": status for status in ("completed", "incomplete", "failed", "cancelled")}


def read_responses(answer: Answer, payload: dict[str, Any]) -> None:
    """An event of /v1/responses. Its finish reason is why it is incomplete, else its status."""
    kind = payload.get("type")
    if answer.keep_text and kind == "response.output_text.delta" and isinstance(delta := payload.get("delta"), str):
        answer.choice(0).text.append(delta)
    response = payload.get("response")
    if not isinstance(response, dict):
        return
    if isinstance(name := response.get("id"), str):
        answer.id = name
    if isinstance(usage := response.get("usage"), dict) and usage:
        answer.usages[0] = usage
    if (status := _ENDS.get(str(kind))) is not None:
        _end_response(answer, response, status)


def _end_response(answer: Answer, response: Mapping[str, Any], status: str) -> None:
    answer.done = True
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    choice = answer.choice(0)
    choice.finish_reason = reason if isinstance(reason, str) else status
    if answer.keep_text and not choice.text:
        choice.text.append(response_text(response))
    if status == "failed":
        answer.error = answer.error or message_of(response) or status


def response_text(response: Mapping[str, Any]) -> str:
    """The output text of a whole Responses answer."""
    items = [item for item in _objects(response.get("output")) if item.get("type") == "message"]
    parts = [part.get("text") for item in items for part in _objects(item.get("content"))]
    return "".join(text for text in parts if isinstance(text, str))


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_anthropic(answer: Answer, payload: dict[str, Any]) -> None:
    """An event of /v1/messages. Counts are cumulative, so a later zero does not take back what was counted."""
    kind = payload.get("type")
    if kind == "message_stop":
        answer.done = True
    elif kind == "message_start" and isinstance(message := payload.get("message"), dict):
        _add_counts(answer, message.get("usage"))
    elif kind == "message_delta":
        _add_counts(answer, payload.get("usage"))
        delta = payload.get("delta")
        if isinstance(delta, dict) and isinstance(reason := delta.get("stop_reason"), str):
            answer.choice(0).finish_reason = reason
    elif answer.keep_text and kind == "content_block_delta":
        delta = payload.get("delta")
        if isinstance(delta, dict) and delta.get("type") == "text_delta" and isinstance(delta.get("text"), str):
            answer.choice(0).text.append(delta["text"])


def _add_counts(answer: Answer, usage: object) -> None:
    if isinstance(usage, dict) and usage:
        before = answer.usages.get(0, {})
        answer.usages[0] = {**before, **{name: count for name, count in usage.items() if count or name not in before}}
