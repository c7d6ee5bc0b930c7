"""gateway.rendering: what SGLang passes to a chat template; other requests are given up, never guessed."""

from pathlib import Path
from typing import Any

import pytest

from examples.real_sglang_cpu import engine_process
from gateway.rendering import Rendering, find_template
from prefix.errors import ConfigError, PromptError

TEMPLATE = (Path(engine_process.__file__).parent / "chat_template.jinja").read_text()
TOOL = {"type": "function", "function": {"parameters": {"type": "object"}, "name": "f"}}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": "\\u00fc"}'}}


def render(messages: list[Any], template: str = TEMPLATE, *, tools: list[Any] | None = None, **more: Any) -> str:
    """The prompt of these messages."""
    return Rendering(template).chat({"messages": messages, **more}, tools)


def test_messages_as_the_engine_passes_them() -> None:
    """Roles in lower case, parts joined, arguments parsed, nothing that its models drop."""
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "user", "content": "hi", "name": "dropped"},
        {"role": "Assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": [{"type": "text", "text": "r"}], "tool_call_id": "1"},
    ]
    assert render(messages) == (
        "<|im_start|>system\na b<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        '<|im_start|>assistant\n\n<tool_call>\n{"name": "f", "arguments": {"x": "\u00fc"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\nr\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


def test_tools_as_the_engine_passes_them() -> None:
    """In the client's order of keys, with what its models add; only those that tool_choice lets through."""
    function = '"function": {"parameters": {"type": "object"}, "name": "f", "description": null}'
    shown = f'{{"type": "function", {function}, "defer_loading": null}}'
    user = [{"role": "user", "content": "x"}]
    assert shown in render(user, tools=[TOOL])
    other = {"type": "function", "function": {"name": "g"}}
    assert "# Tools" not in render(user, tools=[TOOL], tool_choice="none")
    named = render(user, tools=[TOOL, other], tool_choice={"type": "function", "function": {"name": "g"}})
    assert '"g"' in named
    assert '"f"' not in named


def test_arguments_of_the_template() -> None:
    """chat_template_kwargs and reasoning_effort reach it."""
    template = "{{ thinking }} {{ reasoning_effort }} {{ messages[0].content }}"
    more = {"chat_template_kwargs": {"thinking": False}, "reasoning_effort": "low"}
    assert render([{"role": "user", "content": "x"}], template, **more) == "False low x"


def test_templates_that_read_parts_get_parts() -> None:
    """Found out by trying, as engines find out by looking."""
    template = "{% for m in messages %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endfor %}"
    assert (
        render(
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], template
        )
        == "<a><b>"
    )


@pytest.mark.parametrize(
    ("messages", "more", "why"),
    [
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}], {}, "not text"),
        (["x"], {}, "no message"),
        ([{"role": "user", "content": "x"}], {"continue_final_message": True}, "continue_final_message"),
        ([{"role": "user", "content": "x"}], {"documents": []}, "documents"),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}], {}, "no JSON"),
        ([{"role": "assistant", "tool_calls": [3]}], {}, "no call"),
    ],
)
def test_what_is_not_known_is_given_up(messages: list[Any], more: dict[str, Any], why: str) -> None:
    """With a reason; such requests are predicted."""
    with pytest.raises(PromptError, match=why):
        render(messages, **more)


def test_failing_templates_are_given_up() -> None:
    """Those that refuse a conversation, and those that reach for what a sandbox does not give."""
    for template in ("{{ raise_exception('no') }}", "{{ messages.__class__.__mro__ }}", "{{ messages[0].x.y }}"):
        with pytest.raises(PromptError):
            render([{"role": "user", "content": "x"}], template)
    with pytest.raises(ConfigError):
        Rendering("{% if %}")


def test_where_templates_are_found(tmp_path: Path) -> None:
    """A file of its own, beside the tokenizer, or in its settings: one, or the default of several."""
    assert find_template(tmp_path, None) is None
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": [{"name": "default", "template": "A"}]}')
    assert find_template(tmp_path, None) == "A"
    (tmp_path / "chat_template.jinja").write_text("B")
    assert find_template(tmp_path, None) == "B"
    (tmp_path / "own.jinja").write_text("C")
    assert find_template(tmp_path, str(tmp_path / "own.jinja")) == "C"
    (tmp_path / "chat_template.jinja").unlink()
    (tmp_path / "tokenizer_config.json").write_text("[")
    with pytest.raises(ConfigError):
        find_template(tmp_path, None)
