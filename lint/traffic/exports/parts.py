"""Messages of OpenTelemetry's parts in the form chat APIs take, so that a prompt is one wherever it is from.

gen-ai-input-messages.json: text and reasoning have `content`, a tool call `id`, `name`, `arguments`, the answer to
one `id` and `response` (earlier `result`); other parts stay as they are.
"""

import json
from typing import Any


def plain_message(message: Any) -> Any:
    """`{role, parts}` as `{role, content, tool_calls, tool_call_id}`; what has no parts is itself."""
    parts = message.get("parts") if isinstance(message, dict) else None
    if not isinstance(parts, list):
        return message
    plain: dict[str, Any] = {"role": message.get("role")}
    content = [_content(part) for part in parts if _kind(part) != "tool_call"]
    if content:
        plain["content"] = content[0]["text"] if len(content) == 1 and "text" in content[0] else content
    calls = [_call(part) for part in parts if _kind(part) == "tool_call"]
    answer = next((part for part in parts if _kind(part) == "tool_call_response"), None)
    return plain | ({"tool_calls": calls} if calls else {}) | ({"tool_call_id": answer.get("id")} if answer else {})


def plain_text(parts: Any) -> str:
    """The text of system instructions: parts, or a text."""
    if isinstance(parts, str):
        return parts
    texts = (part.get("content") for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    return "\n".join(text for text in texts if isinstance(text, str))


def _kind(part: Any) -> Any:
    return part.get("type") if isinstance(part, dict) else None


def _content(part: Any) -> dict[str, Any]:
    kind = _kind(part)
    if kind == "tool_call_response":
        return {"type": "text", "text": _as_text(part.get("response", part.get("result")))}
    if kind == "text":
        return {"type": "text", "text": _as_text(part.get("content"))}
    return part if isinstance(part, dict) else {"type": "text", "text": _as_text(part)}


def _call(part: dict[str, Any]) -> dict[str, Any]:
    function = {"name": part.get("name"), "arguments": _as_text(part.get("arguments"))}
    return {"id": part.get("id"), "type": "function", "function": function}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
