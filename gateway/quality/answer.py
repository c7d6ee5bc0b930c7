"""One answer of a target, as far as a check looks at it."""

import re
from typing import Any, Final

import msgspec

_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE: Final = re.compile(r"```[\w+-]*[ \t]*\r?\n(.*?)```", re.DOTALL)


class _Function(msgspec.Struct):
    name: str
    arguments: str = ""


class _Call(msgspec.Struct):
    function: _Function


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class ToolCall(msgspec.Struct, frozen=True):
    """arguments: as the model spelled them."""

    name: str
    arguments: str


class Answer(msgspec.Struct, frozen=True):
    """text: without the model's thoughts. error: why there is no answer; then nothing else is set.

    rewritten: the gateway on the way says that it changed the request.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    rewritten: bool = False

    @property
    def said(self) -> tuple[str, tuple[ToolCall, ...], str | None]:
        """What two equal answers have in common."""
        return self.text, self.tool_calls, self.refusal


def parse_answer(body: bytes, *, rewritten: bool = False) -> Answer:
    """The first choice of a chat completion (OpenAI API reference, "The chat completion object")."""
    try:
        completion = msgspec.json.decode(body, type=_Completion)
    except msgspec.DecodeError as error:
        return Answer(error=f"not a chat completion: {error}")
    if not completion.choices:
        return Answer(error="a chat completion without choices")
    choice = completion.choices[0]
    calls = tuple(ToolCall(each.function.name, each.function.arguments) for each in choice.message.tool_calls or ())
    text = _THOUGHT.sub("", choice.message.content or "").strip()
    return Answer(text, calls, choice.message.refusal, choice.finish_reason, rewritten=rewritten)


def fenced(text: str) -> str:
    """What stands in the last code fence of a text; all of it when there is none."""
    blocks = _FENCE.findall(text)
    return str(blocks[-1] if blocks else text).strip()


def as_json(text: str) -> Any:
    """A text as JSON, inside a fence or not. Raises msgspec.DecodeError when it is none."""
    return msgspec.json.decode(fenced(text).encode())
