"""A request's conversation as messages, in whichever API's words it came.

One idea: what engines do. SGLang 0.5.23 turns Responses and Anthropic requests into chat messages and renders those
(serving_responses.py:_construct_input_messages, anthropic/serving.py), so one view of messages serves the three:
`system` and `instructions` stand in front as a system message, a Responses `input` text is the user's, its
`function_call` an assistant's call, its `function_call_output` a tool's message. Chat bodies pass as they are.
"""

from typing import Any, NamedTuple

from prefix.body import Body
from prefix.errors import BodyError


class Turns(NamedTuple):
    """Chat messages. key: the member they are from. front: the member that was put in front of them, or ""."""

    key: str
    front: str
    messages: list[Any]

    def pointer(self, place: int) -> str:
        """Where the message at this place stands in the body."""
        if not self.front:
            return f"/{self.key}/{place}"
        return f"/{self.key}/{place - 1}" if place else f"/{self.front}"


def turns_of(body: Body) -> Turns | None:
    """The conversation, or None when the body has none. Raises BodyError `invalid_type`."""
    if "messages" in body:
        messages = body.value("messages")
        if type(messages) is not list:
            raise wrong_type("/messages", "an array of messages", messages)
        return _led("messages", "system", messages, body) if "system" in body else Turns("messages", "", messages)
    if "input" not in body and "instructions" not in body:
        return None
    given = body.value("input")
    if type(given) not in (str, list, type(None)):
        raise wrong_type("/input", "a string or an array of items", given)
    items = given if type(given) is list else [] if given is None else [{"role": "user", "content": given}]
    return _led("input", "instructions", [_message(item, place) for place, item in enumerate(items)], body)


def _led(key: str, front: str, messages: list[Any], body: Body) -> Turns:
    system = body.value(front)
    if system in (None, "", []):
        return Turns(key, "", messages)
    return Turns(key, front, [{"role": "system", "content": system}, *messages])


def _message(item: Any, place: int) -> Any:
    """An item of a Responses `input` as a chat message; ids and statuses are not rendered."""
    if type(item) is not dict:
        raise wrong_type(f"/input/{place}", "an object", item)
    kind = item.get("type")
    if kind == "function_call":
        call = {"name": item.get("name"), "arguments": item.get("arguments")}
        return {"role": "assistant", "tool_calls": [{"function": call}]}
    if kind == "function_call_output":
        return {"role": "tool", "content": item.get("output")}
    if type(item.get("role")) is str:
        return item
    shown = {key: value for key, value in item.items() if key not in ("id", "status")}
    return {"role": str(kind), "content": [shown]}


def wrong_type(pointer: str, wanted: str, got: Any) -> BodyError:
    """The refusal of a field that is not what it must be."""
    kind = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    found = kind.get(type(got), "a number")
    return BodyError("invalid_type", f"{pointer} must be {wanted}, not {found}", pointer=pointer)
