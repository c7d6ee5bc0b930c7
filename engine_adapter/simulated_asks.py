"""What is asked of the simulated engine, whichever API it came through, and what it refuses.

Error statuses, texts and shapes were taken from a running SGLang 0.5.23.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from engine_adapter.simulated_text import token_count
from prefix.errors import EngineError

Api: TypeAlias = Literal["chat", "completion", "generate", "responses", "messages"]


class Refusal(EngineError):
    """A request that the engine answers with an error: HTTP status and JSON body."""

    def __init__(
        self, api: Api, message: str, *, kind: str = "BadRequestError", status: int = 400, param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {
            "object": "error",
            "message": message,
            "type": kind,
            "param": None,
            "code": status,
        }
        if api == "generate" and kind == "BadRequestError":
            self.body = {"error": {"message": message}}
        elif api == "responses":
            named = "invalid_request_error" if kind == "BadRequestError" else kind
            self.body = {"error": {"message": message, "type": named, "param": param, "code": status}}
        elif api == "messages":
            named = "invalid_request_error" if status < 500 else "api_error"
            self.body = {"type": "error", "error": {"type": named, "message": message}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt of a request. max_tokens: the limit asked for. forced: its output. echo: text before the output."""

    key: bytes
    namespace: Hashable
    max_tokens: int | None
    ignore_eos: bool
    forced: Sequence[int] | None
    echo: str

    @property
    def tokens(self) -> int:
        """Its length."""
        return token_count(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One HTTP request, read: n answers to each prompt. batch: /generate answers with a list.

    request, history: of /v1/responses the body, which the answer repeats, and all items that led to it. dp_rank: the
    one that must answer it, None: any.
    """

    api: Api
    model: str
    prompts: Sequence[Prompt]
    batch: bool
    n: int
    stream: bool
    include_usage: bool
    continuous_usage: bool
    request: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Any] = ()
    dp_rank: int | None = None


def check_lengths(ask: Ask, context_tokens: int) -> None:
    """Refuse a prompt that the context has no room for, alone or with the output asked for."""
    for prompt in ask.prompts:
        if prompt.tokens >= context_tokens:
            raise Refusal(
                ask.api,
                f"The input ({prompt.tokens} tokens) is longer than the model's context length "
                f"({context_tokens} tokens).",
            )
        output = prompt.max_tokens or 0
        if prompt.tokens + output > context_tokens:
            raise Refusal(
                ask.api,
                f"Requested token count exceeds the model's maximum context length of {context_tokens} tokens. "
                f"You requested a total of {prompt.tokens + output} tokens: {prompt.tokens} tokens from the input "
                f"messages and {output} tokens for the completion. Please reduce the number of tokens in the input "
                "messages or the completion to fit within the limit.",
            )
