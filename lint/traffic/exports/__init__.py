"""Requests in what tracing and proxy products export: one module per product, each says what it read and where.

What is none of theirs is a request body, alone or in an envelope (prefix.envelope), or a list of its messages.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from lint.traffic.exports import langfuse, litellm, otel
from lint.traffic.logged import KNOWN, Logged, logged
from prefix.envelope import has_prompt, unwrap

_SENT: Final = frozenset(
    (
        *(
            "model",
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "max_new_tokens",
            "temperature",
            "top_p",
        ),
        *("n", "stop", "stream", "seed", "sampling_params", "logprobs", "user", "metadata"),
    )
)
"""Members by which a body is one that was sent, and no example for training or evaluation."""
_BESIDE: Final = frozenset(("prompt", "id", "request_id", "model_name", "tokens", "kind"))
Parse = Callable[[bytes], dict[str, Any]]
"""Reads an object that is given as JSON text; {} when it is none."""


def requests_of(value: Any, parse: Parse) -> Iterator[Logged | None]:
    """The requests in one JSON value of a log, None for each thing in it that is no request."""
    if isinstance(value, list) and not _is_conversation(value):
        for item in value:
            yield from requests_of(item, parse) if isinstance(item, dict) else (None,)
        return
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, dict):
        yield None
    elif otel.is_export(value):
        yield from otel.requests_of(value)
    elif langfuse.is_export(value):
        yield from langfuse.requests_of(value)
    elif litellm.is_export(value):
        yield litellm.request_of(value)
    else:
        yield _plain(value, parse)


def _plain(value: dict[str, Any], parse: Parse) -> Logged | None:
    body = unwrap(value, parse)
    if body is not value and litellm.is_export(body):
        return litellm.request_of(body, value)
    return logged(body, value) if has_prompt(body) and not (body is value and _is_example(body)) else None


def _is_example(body: dict[str, Any]) -> bool:
    """Whether an object is one of a data set: a text with fields that no log has, or a talk with its answer."""
    if not _SENT.isdisjoint(body):
        return False
    turns = body.get("messages")
    if isinstance(turns, list):
        return bool(turns) and isinstance(turns[-1], dict) and turns[-1].get("role") == "assistant"
    return "prompt" in body and not body.keys() <= (_BESIDE | KNOWN)


def _is_conversation(value: list[Any]) -> bool:
    """A list of messages, not of requests."""
    return bool(value) and all(isinstance(item, dict) and "role" in item and "content" in item for item in value)
