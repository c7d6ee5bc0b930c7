"""What an engine makes of a request's body before it tokenizes: the prompt's text, by the model's chat template.

One idea: mirror what SGLang 0.5.23 passes to the template (entrypoints/openai/serving_chat.py: _process_messages,
_apply_jinja_template; protocol.py), and give up on everything else. A request that is given up is predicted; a
template that renders something else here than in the engine shows in the lengths of prompts (gateway.exact).

The template is the operator's own file, compiled as transformers does, in a sandbox.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import TemplateError

from lint.sources.render_child import environment
from prefix.errors import ConfigError, PromptError

_GIVEN_UP: Final = frozenset(
    {
        "chat_template",
        "continue_final_message",
        "add_generation_prompt",
        "add_special_tokens",
        "documents",
        "lora_path",
    }
)
"""Members of a body that make another prompt."""

_MESSAGE: Final = ("role", "content", "tool_call_id", "name", "phase", "reasoning_content", "tool_calls", "tools")
_FUNCTION: Final = ("description", "name", "parameters", "strict", "defer_loading")


class Rendering:
    """One model's chat template. Raises ConfigError when it cannot be compiled."""

    def __init__(self, template: str) -> None:
        try:
            self._template = environment().from_string(template)
        except TemplateError as error:
            raise ConfigError(f"the chat template cannot be compiled: {error}") from None
        self._takes_parts = self._reads_parts()

    def chat(self, body: Mapping[str, Any], tools: Sequence[Any] | None) -> str:
        """The prompt of a chat. body: its other members, parsed. Raises PromptError."""
        given_up = _GIVEN_UP & {key for key, value in body.items() if value is not None}
        if given_up:
            raise PromptError(f"has {min(given_up)}")
        messages = [self._message(message) for message in body["messages"]]
        effort = body.get("reasoning_effort")
        more = {"reasoning_effort": effort} if effort is not None else {}
        kwargs = body.get("chat_template_kwargs")
        if kwargs is not None:
            more |= kwargs
        return self._render(messages, _shown(tools, body.get("tool_choice")), more)

    def _render(self, messages: Sequence[Any], tools: Sequence[Any] | None, more: Mapping[str, Any]) -> str:
        try:
            return self._template.render(
                messages=messages,
                tools=tools,
                documents=None,
                add_generation_prompt=True,
                strftime_now=datetime.now().astimezone().strftime,
                **more,
            )
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise PromptError(f"the chat template fails: {error}") from None

    def _message(self, message: Any) -> dict[str, Any]:
        if type(message) is not dict or type(message.get("role")) is not str:
            raise PromptError("a message is no message")
        role = message["role"].lower() if message["role"] != "user" else "user"
        keys = ("role", "content") if role == "user" else _MESSAGE
        shown = {key: message[key] for key in keys if message.get(key) is not None} | {"role": role}
        shown["content"] = self._content(shown.get("content"), role)
        if "tool_calls" in shown:
            shown["tool_calls"] = [_call(call) for call in shown["tool_calls"]]
        return shown

    def _content(self, content: Any, role: str) -> Any:
        if content is None or type(content) is str:
            return content or ""
        if type(content) is not list or not all(type(p) is dict and type(p.get("text")) is str for p in content):
            raise PromptError("content that is not text")
        if self._takes_parts and role != "tool":
            return [{"type": "text", "text": part["text"]} for part in content]
        return " ".join(part["text"] for part in content)

    def _reads_parts(self) -> bool:
        """Whether the template wants content as a list of parts."""
        parts = [{"type": "text", "text": "prefixgate"}]
        try:
            text = self._render([{"role": "user", "content": parts}], None, {})
        except PromptError:
            return False
        return "prefixgate" in text and "'type'" not in text and '"type"' not in text


def find_template(folder: Path, file: str | None) -> str | None:
    """The chat template of a model, None when it has none. Raises ConfigError for one that cannot be read."""
    try:
        if file is not None:
            return Path(file).read_text()
        if (beside := folder / "chat_template.jinja").is_file():
            return beside.read_text()
        config = json.loads((folder / "tokenizer_config.json").read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"the chat template in {file or folder} cannot be read: {error}") from None
    template = config.get("chat_template")
    if isinstance(template, list):
        template = next((each.get("template") for each in template if each.get("name") == "default"), None)
    return template if isinstance(template, str) else None


def _shown(tools: Sequence[Any] | None, choice: Any) -> list[Any] | None:
    """The tools that reach the template, as SGLang's models dump them."""
    if not tools or choice == "none":
        return None
    named = choice.get("function", {}).get("name") if type(choice) is dict else None
    shown = [_tool(tool) for tool in tools]
    return [tool for tool in shown if named is None or tool["function"]["name"] == named] or None


def _tool(tool: Any) -> dict[str, Any]:
    if type(tool) is not dict or type(function := tool.get("function")) is not dict or "name" not in function:
        raise PromptError("a tool is no function")
    known = {key: function[key] for key in function if key in _FUNCTION}
    for key in ("description", "parameters"):
        known.setdefault(key, None)
    for key in ("strict", "defer_loading"):
        if known.get(key) is None:
            known.pop(key, None)
    return {"type": tool.get("type", "function"), "function": known, "defer_loading": tool.get("defer_loading")}


def _call(call: Any) -> dict[str, Any]:
    function = call.get("function") if type(call) is dict else None
    if type(function) is not dict:
        raise PromptError("a tool call is no call of a function")
    arguments = function.get("arguments")
    if type(arguments) is str:
        try:
            arguments = json.loads(arguments)
        except ValueError:
            raise PromptError("a tool call's arguments are no JSON") from None
    function = {"name": function.get("name"), "arguments": arguments}
    return {"id": call.get("id"), "index": call.get("index"), "type": "function", "function": function}
