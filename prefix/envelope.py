"""The request body in what logs, batch files and tracing exports put around it.

One idea: an envelope is an object without a prompt of its own, with an object (or the JSON text of one) under a
well-known name: OpenAI batch files and proxies say `body` or `request`, Langfuse `input`, LiteLLM `kwargs`.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any, Final

from prefix.divergence import MEMBERS

_ENVELOPES: Final = ("request", "body", "request_body", "params", "kwargs", "input", "optional_params")
_PROMPT: Final = frozenset(chain.from_iterable(MEMBERS))
_DEEPEST: Final = 8


def has_prompt(body: dict[str, Any]) -> bool:
    """Something in it becomes a prompt."""
    return any(not isinstance(body[name], dict) for name in _PROMPT.intersection(body))


def unwrap(body: dict[str, Any], parse: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
    """The body in `{"request": {...}}`, `{"body": "{...}"}` and the like, one in another or not.

    What is no envelope is returned as it is. parse: reads an object that is given as text; its errors pass through.
    """
    for _ in range(_DEEPEST):
        if has_prompt(body):
            return body
        inner = next(filter(None, (_inner(body.get(name), parse) for name in _ENVELOPES)), None)
        if inner is None:
            return body
        body = inner
    return body


def _inner(value: Any, parse: Callable[[bytes], dict[str, Any]]) -> dict[str, Any] | None:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = parse(value.encode("utf-8", "surrogatepass"))
    return value if isinstance(value, dict) else None
