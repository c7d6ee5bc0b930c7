"""The conversations that chat templates are tried on: what an agent sends, request after request.

Every text is another one, so that where a rendered prompt parts from the next can be said as a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

Message = dict[str, Any]
CLOCK: Final = "2026-03-05T10:20:30"
LATER: Final = "2026-03-05T21:47:51"
NEXT_DAY: Final = "2026-03-06T10:20:30"
REASONING: Final = "reasoning of "
_REASONING_KEYS: Final = ("reasoning_content", "reasoning", "thinking")
"""Each is what some family of templates reads."""
_TOOL: Final = {
    "type": "function",
    "function": {
        "name": "find_parcel",
        "description": "Says where a parcel is.",
        "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
    },
}
_CONTEXT: Final[dict[str, Any]] = {"tools": None, "documents": None, "bos_token": "<s>", "eos_token": "</s>"}


class Form(NamedTuple):
    """How messages are written. parts: content as a list; spelled: arguments of calls as a JSON string."""

    parts: bool = False
    spelled: bool = False


FORMS: Final = (Form(), Form(spelled=True), Form(parts=True), Form(parts=True, spelled=True))
"""Which of them a template can read it shows by failing on the others."""


class Conversation(NamedTuple):
    """name: for messages. messages: all of them, append-only. variables: further ones of the template."""

    name: str
    messages: tuple[Message, ...]
    variables: Mapping[str, Any] = MappingProxyType({})

    def requests(self) -> list[int]:
        """How many messages each request has: a request ends in a user's message or a tool's result."""
        return [at for at, message in enumerate(self.messages, 1) if message["role"] in ("user", "tool")]

    def answers(self) -> list[int]:
        """How many messages there are when an answer has been given."""
        return [at for at, message in enumerate(self.messages, 1) if message["role"] == "assistant"]

    def unreasoned(self) -> Conversation:
        """The same one without reasoning."""
        plain = tuple({k: v for k, v in m.items() if k not in _REASONING_KEYS} for m in self.messages)
        return self._replace(messages=plain)

    @property
    def reasons(self) -> bool:
        """Whether answers come with reasoning."""
        return any(key in message for message in self.messages for key in _REASONING_KEYS)

    def case(self, length: int, form: Form = FORMS[0], *, prompt: bool = True, clock: str = CLOCK) -> dict[str, Any]:
        """The variables of a template for its first messages. prompt: with the generation prompt."""
        messages = [_written(message, form) for message in self.messages[:length]]
        return {
            **_CONTEXT,
            **self.variables,
            "messages": messages,
            "add_generation_prompt": prompt,
            "clock": clock,
        }


def _written(message: Message, form: Form) -> Message:
    out = dict(message)
    if form.parts and isinstance(message.get("content"), str):
        out["content"] = [{"type": "text", "text": message["content"]}]
    if form.spelled and "tool_calls" in message:
        out["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": '{"number": "' + call["id"] + '"}'}}
            for call in message["tool_calls"]
        ]
    return out


def _chat(*turns: Message, system: bool = True) -> tuple[Message, ...]:
    head = ({"role": "system", "content": "You answer for a parcel service."},) if system else ()
    return (*head, *turns)


def _asks(number: int) -> Message:
    return {"role": "user", "content": f"This is question {number}: where is my parcel?"}


def _says(number: int, *, reasoned: bool = False) -> Message:
    return {"role": "assistant", "content": f"This is answer {number}: on its way.", **_reasoning(number, reasoned)}


def _calls(number: int, *, reasoned: bool = False) -> Iterator[Message]:
    """A call and its result."""
    name = f"call{number:05d}"
    call = {"type": "function", "id": name, "function": {"name": "find_parcel", "arguments": {"number": name}}}
    yield {"role": "assistant", "content": "", "tool_calls": [call], **_reasoning(number, reasoned)}
    yield {"role": "tool", "name": "find_parcel", "tool_call_id": name, "content": f"This is result {number}: Oslo."}


def _reasoning(number: int, reasoned: bool) -> Message:
    return dict.fromkeys(_REASONING_KEYS, f"{REASONING}answer {number}") if reasoned else {}


def _agent(*, reasoned: bool) -> tuple[Message, ...]:
    return _chat(
        _asks(1),
        *_calls(1, reasoned=reasoned),
        *_calls(2, reasoned=reasoned),
        _says(3, reasoned=reasoned),
        _asks(2),
        _says(4, reasoned=reasoned),
        _asks(3),
    )


_PLAIN: Final = (_asks(1), _says(1), _asks(2), _says(2), _asks(3))
_REASONED: Final = (_asks(1), _says(1, reasoned=True), _asks(2), _says(2, reasoned=True), _asks(3))
CONVERSATIONS: Final[Sequence[Conversation]] = (
    Conversation("a conversation", _chat(*_PLAIN)),
    Conversation("a conversation without system text", _chat(*_PLAIN, system=False)),
    Conversation("a conversation with tools", _agent(reasoned=False), {"tools": [_TOOL]}),
    Conversation("a conversation with enable_thinking false", _chat(*_PLAIN), {"enable_thinking": False}),
    Conversation("a conversation with reasoning", _chat(*_REASONED)),
    Conversation("a conversation with reasoning and tools", _agent(reasoned=True), {"tools": [_TOOL]}),
)
