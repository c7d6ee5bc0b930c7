"""prefix.causes: every public case has its name, and every divergence has one."""

from typing import Any

import pytest
from hypothesis import given

from prefix.causes import Cause, find_cause, tool_names, value_text
from prefix.divergence import MISSING, first_divergence
from prefix.explanations import EXPLANATIONS
from tests.cases import case
from tests.prefix.test_divergence import BODIES


def cause(a: Any, b: Any) -> Cause | None:
    """The cause of two bodies."""
    return find_cause(a, b, first_divergence(a, b))


@pytest.mark.parametrize(
    ("number", "a", "b", "kind", "path", "values"),
    [
        (1, "A", "B", "clock", "/messages/0/content", None),
        (1, "A", "fixed", "system_text", "/messages/0/content", None),
        (4, "A", "B", "attribution", "/messages/0/content/0/text", None),
        (5, "A", "B", "environment", "/messages/0/content", ("", " M src/b.py\n")),
        (7, "A", "B", "request_id", "/tools/0/function/description", None),
        (9, "A", "B", "few_shot_order", "/messages/1", ("2+2", "5*3")),
        (
            10,
            "A",
            "B",
            "tool_order",
            "/tools/0",
            ("files_read, git_log, web_search", "web_search, files_read, git_log"),
        ),
        (14, "A", "B", "key_order", "/tools/0/function/parameters", ("type", "required")),
        (
            19,
            "generated_then_replayed_verbatim",
            "replayed_sorted",
            "key_order",
            "/messages/1/tool_calls/0/function/arguments",
            ("path", "edits"),
        ),
        (
            19,
            "generated_then_replayed_verbatim",
            "replayed_compact",
            "json_format",
            "/messages/1/tool_calls/0/function/arguments",
            None,
        ),
        (24, "turn2", "turn3", "reasoning_dropped", "/messages/1/reasoning_content", ("because of X", None)),
        (24, "turn2", "turn3_kept", "appended", "/messages/3", (None, "A2")),
        (25, "turn_t", "turn_t_plus_1", "window_slid", "/messages/1", ("m4", "m6")),
        (25, "block_aligned_t", "block_aligned_t_plus_1", "appended", "/messages/7", (None, "m10")),
        (27, "A", "B", "system_text", "/messages/0/content", ("17", "42")),
        (27, "A_moved", "B_moved", "new_message", "/messages/3/content", None),
        (30, "auto", "named", "tool_choice", "/tool_choice", ("all tools", "finish")),
        (30, "named", "none", "tool_choice", "/tool_choice", ("finish", "none")),
        (32, "A", "B", "signed_url", "/messages/1/content/0/image_url/url", None),
        (32, "A", "C", "media", "/messages/1/content/0/image_url/url", None),
    ],
)
def test_public_cases(
    number: int, a: str, b: str, kind: str, path: str, values: tuple[str | None, str | None] | None
) -> None:
    """Kind, place and, where they are short, both values."""
    given_input = case(number)["input"]
    found = cause(given_input[a], given_input[b])
    assert found is not None
    assert (found.kind, found.path) == (kind, path)
    if values is not None:
        assert (found.a, found.b) == values


def test_a_cause_is_said_as_telemetry_says_it() -> None:
    """With the place in the text where there is one."""
    given_input = case(1)["input"]
    assert str(cause(given_input["A"], given_input["B"])) == "clock in /messages/0/content at 28"
    assert str(Cause("tool_order", "/tools/1", None, "a", "b")) == "tool order in /tools/1"
    assert str(Cause("clock", "/prompt", 1893, "a", "b")) == "clock in /prompt at 1,893"


def chat(*messages: Any, **members: Any) -> dict[str, Any]:
    """A chat body: messages as (role, content), and other members."""
    return {**members, "messages": [{"role": role, "content": content} for role, content in messages]}


def tool(name: str, description: str = "d") -> dict[str, Any]:
    """A tool."""
    return {"type": "function", "function": {"name": name, "description": description}}


SYSTEM = ("system", "You help.")
A, B, C = tool("a"), tool("b"), tool("c")


@pytest.mark.parametrize(
    ("a", "b", "kind", "path", "values"),
    [
        (chat(SYSTEM, tools=[A, B]), chat(SYSTEM, tools=[A]), "tool_set", "/tools/1", ("b", None)),
        (chat(SYSTEM, tools=[A, B]), chat(SYSTEM, tools=[A, C]), "tool_set", "/tools/1", ("b", "c")),
        (chat(SYSTEM, tools=[A]), chat(SYSTEM), "tool_set", "/tools", ("a", None)),
        (chat(SYSTEM, tools=[A, B, C]), chat(SYSTEM, tools=[A, C, B]), "tool_order", "/tools/1", None),
        (
            {"functions": [{"name": "x"}, {"name": "y"}]},
            {"functions": [{"name": "y"}, {"name": "x"}]},
            "tool_order",
            "/functions/0",
            ("x, y", "y, x"),
        ),
        (
            chat(tools=[A, B]),
            chat(tools=[tool("a", "other"), B]),
            "tool_text",
            "/tools/0/function/description",
            ("d", "other"),
        ),
        (
            chat(tools=[tool("a", "at 09:14:07 Z"), B]),
            chat(tools=[tool("a", "at 09:14:08 Z"), B]),
            "clock",
            "/tools/0/function/description",
            None,
        ),
        (
            chat(tools=[A]),
            chat(tools=[{"function": A["function"], "type": "function"}]),
            "key_order",
            "/tools/0",
            ("type", "function"),
        ),
        (chat(SYSTEM, model="m"), chat(SYSTEM, model="n"), "model", "/model", ("m", "n")),
        (chat(("user", "a"), cache_salt="x"), chat(("user", "b")), "namespace", "/cache_salt", ("x", None)),
        (
            chat(SYSTEM, chat_template_kwargs={"a": 1}),
            chat(SYSTEM),
            "template_arguments",
            "/chat_template_kwargs",
            None,
        ),
        (
            chat(("developer", "Be brief.")),
            chat(("developer", "Be kind.")),
            "system_text",
            "/messages/0/content",
            ("brief", "kind"),
        ),
        (chat(("user", "a"), system="x y"), chat(("user", "a"), system="x z"), "system_text", "/system", ("y", "z")),
        (
            {"instructions": "x", "input": "a"},
            {"instructions": "y", "input": "a"},
            "system_text",
            "/instructions",
            None,
        ),
        (
            chat(SYSTEM, ("user", "at 09:14:07")),
            chat(SYSTEM, ("user", "at 09:14:08")),
            "new_message",
            "/messages/1/content",
            None,
        ),
        (
            chat(("system", "a\r\n" + "b" * 40)),
            chat(("system", "a\n" + "b" * 40)),
            "whitespace",
            "/messages/0/content",
            ("\r\n", "\n"),
        ),
        (
            chat(("user", "Hi"), ("assistant", "x"), ("user", "q")),
            chat(("user", "Ho"), ("assistant", "x"), ("user", "q")),
            "history_edited",
            "/messages/0/content",
            ("Hi", "Ho"),
        ),
        (
            chat(("user", "Hi"), ("assistant", "x")),
            chat(("user", "Ho"), ("assistant", "y")),
            "other_conversation",
            "/messages/0/content",
            None,
        ),
        (
            chat(("user", "Hi")),
            chat(("user", [{"type": "text", "text": "Hi"}])),
            "content_form",
            "/messages/0/content",
            None,
        ),
        (chat(system="Hi"), chat(system=[{"type": "text", "text": "Hi"}]), "content_form", "/system", None),
        (
            chat(("user", "Hi")),
            chat(("user", [{"type": "text", "text": "Ho"}])),
            "new_message",
            "/messages/0/content",
            None,
        ),
        (
            {"messages": [{"role": "tool", "tool_call_id": "c1"}, 1]},
            {"messages": [{"role": "tool", "tool_call_id": "c2"}, 2]},
            "call_id",
            "/messages/0/tool_call_id",
            ("c1", "c2"),
        ),
        (
            {"input": [{"call_id": "x", "type": "f"}]},
            {"input": [{"call_id": "y", "type": "f"}]},
            "call_id",
            "/input/0/call_id",
            ("x", "y"),
        ),
        ({"prompt": "Once"}, {"prompt": "Once upon"}, "appended", "/prompt", (None, " upon")),
        ({"prompt": "Once upon"}, {"prompt": "Once again"}, "text", "/prompt", ("upon", "again")),
        ({"text": ["a", "b"]}, {"text": ["a", "c"]}, "text", "/text/1", ("b", "c")),
        ({"input_ids": [1, 2]}, {"input_ids": [1, 2, 3]}, "appended", "/input_ids/2", (None, "3")),
        ({"input_ids": [1, 2, 4]}, {"input_ids": [1, 2, 3]}, "token_ids", "/input_ids/2", ("4", "3")),
        ({"prompt": "a"}, {"messages": []}, "text", "/messages", (None, "[]")),
        (chat(SYSTEM), chat(), "appended", "/messages/0", ("You help.", None)),
        ({"messages": "x"}, {"messages": []}, "text", "/messages", None),
        ({"tools": "x"}, {"tools": ["x"]}, "tool_set", "/tools", (None, "x")),
    ],
)
def test_every_kind(a: Any, b: Any, kind: str, path: str, values: tuple[str | None, str | None] | None) -> None:
    """In every shape of body; the other way round it is the same kind at the same place."""
    found, back = cause(a, b), cause(b, a)
    assert found is not None
    assert back is not None
    assert (found.kind, found.path) == (back.kind, back.path) == (kind, path)
    if values is not None:
        assert (found.a, found.b) == (back.b, back.a) == values


@given(BODIES, BODIES)
def test_every_divergence_has_a_cause(a: dict[str, Any], b: dict[str, Any]) -> None:
    """And what does not part has none."""
    found = cause(a, b)
    assert (found is None) == (first_divergence(a, b) is None)
    assert found is None or found.kind in EXPLANATIONS


def test_a_body_and_itself() -> None:
    """Nothing keeps them apart."""
    assert cause(chat(SYSTEM, model="m"), chat(SYSTEM, model="m", temperature=0)) is None


def test_tool_names() -> None:
    """Of both shapes; what has no name is its own JSON."""
    assert tool_names([A, {"name": "x"}, {"name": 1}, 7]) == ["a", "x", '{"name":1}', "7"]
    assert tool_names("x") == tool_names(None) == []


def test_value_text() -> None:
    """A message by what it says, anything else as JSON, nothing for what is not there."""
    assert value_text({"role": "user", "content": "Hi"}) == "Hi"
    assert value_text({"role": "user", "content": None}) == '{"role":"user","content":null}'
    assert value_text("x") == "x"
    assert value_text(MISSING) is None


def test_tools_that_are_no_list() -> None:
    """They are no crash: an object where a list should be is another text of tools."""
    found = cause({"tools": {}}, {"tools": {":": 1, "x": 2}})
    assert found is not None
    assert (found.kind, found.path) == ("tool_text", "/tools/:")
