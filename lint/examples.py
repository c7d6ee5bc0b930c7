"""Small logs and bodies for the examples of rules, which are their documentation and their tests."""

import json
from collections.abc import Sequence
from typing import Any, Final

from lint.rule import Example

HANDBOOK: Final = (
    "You are a support agent for an online shop. Quote order numbers exactly as they were given.\n"
    "Refunds are allowed within thirty days of delivery for items that still carry their tags.\n"
    "Exchanges for a different size are free once per order; later ones cost the shipping fee.\n"
    "Gift cards cannot be refunded, replaced or extended, except where local law says otherwise.\n"
    "If the customer mentions injury, fire or legal action, hand the conversation to a human.\n"
    "Never promise a delivery date that the carrier has not confirmed to the shop in writing.\n"
)
"""Static text, long enough that losing it counts."""
QUESTIONS: Final = (
    "Where is my parcel?",
    "Can I change the size?",
    "My card was charged twice.",
    "Do you ship to Oslo?",
)


def message(role: str, content: Any) -> dict[str, Any]:
    """One message."""
    return {"role": role, "content": content}


def chat(system: str, *turns: str, **members: Any) -> dict[str, Any]:
    """A chat body: system text, then user and assistant in turn. members: further ones of the body."""
    said = [message("assistant" if at % 2 else "user", turn) for at, turn in enumerate(turns or QUESTIONS[:1])]
    return {"model": "m", **members, "messages": [message("system", system), *said]}


def tool(name: str, description: str = "", **schema: Any) -> dict[str, Any]:
    """A tool as OpenAI's chat API takes it."""
    text = description or f"The {name} tool of the shop: use it for every question about a {name}, never guess."
    parameters = schema or {"type": "object", "properties": {"id": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}


def log(*bodies: dict[str, Any]) -> Example:
    """A log of these requests."""
    return Example("log.jsonl", "".join(json.dumps(body, ensure_ascii=False) + "\n" for body in bodies))


def asked(*systems: str) -> Example:
    """A log of one request per system text, each with a question of its own."""
    return log(*(chat(system, QUESTIONS[at % len(QUESTIONS)]) for at, system in enumerate(systems)))


def one(body: dict[str, Any]) -> Example:
    """A file with one request."""
    return Example("request.json", json.dumps(body, ensure_ascii=False, indent=1))


def conversation(*bodies: Sequence[str], **members: Any) -> Example:
    """A log of requests, each given as its turns, under one system text."""
    return log(*(chat(HANDBOOK, *turns, **members) for turns in bodies))


def claude(
    *turns: Any, system: Any = HANDBOOK * 30, model: str = "claude-sonnet-4-5", **members: Any
) -> dict[str, Any]:
    """A body of Anthropic's API. turns: contents, user and assistant in turn; system: long enough to be cached."""
    said = [message("assistant" if at % 2 else "user", turn) for at, turn in enumerate(turns or QUESTIONS[:1])]
    return {"model": model, "max_tokens": 100, "system": system, **members, "messages": said}


def marked(text: str, ttl: str | None = None) -> list[dict[str, Any]]:
    """A text as a list of one part with a breakpoint behind it."""
    mark = {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}
    return [{"type": "text", "text": text, "cache_control": mark}]


def entry(body: dict[str, Any], says: Any = None, cached: int | None = None, **members: Any) -> dict[str, Any]:
    """An entry of a gateway's log. says: the answer's message. cached: tokens that the engine reports as cached."""
    usage = {"prompt_tokens": len(json.dumps(body)) // 4, "prompt_tokens_details": {"cached_tokens": cached}}
    given = message("assistant", says) if says is None or isinstance(says, str) else says
    response = {"choices": [{"index": 0, "message": given}], **({} if cached is None else {"usage": usage})}
    return {**members, "request": body, "response": response}
