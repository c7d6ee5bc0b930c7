"""lint.traffic.form: one form for what is rendered alike."""

from lint.traffic.form import same_form

MARK = {"cache_control": {"type": "ephemeral"}}


def test_marks_go_and_one_text_is_a_string() -> None:
    """In messages, system text and tools; lists of more than one part stay lists."""
    body = {
        "system": [{"type": "text", "text": "s", **MARK}],
        "tools": [{"name": "t", **MARK}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a", **MARK}]},
            {"role": "user", "content": [{"type": "text", "text": "a", **MARK}, {"type": "text", "text": "b"}]},
            "odd",
        ],
    }
    assert same_form(body) == {
        "system": [{"type": "text", "text": "s"}],
        "tools": [{"name": "t"}],
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            "odd",
        ],
    }


def test_what_has_the_form_is_itself() -> None:
    """No copy is made."""
    body = {"messages": [{"role": "user", "content": "a"}], "tools": None}
    assert same_form(body) is body


TOOL = {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"b": 1, "a": 2}}}
TURNED = {"function": {"parameters": {"b": 1, "a": 2}, "name": "t", "description": "d"}, "type": "function"}


def test_declared_members_of_tools() -> None:
    """Stand in one order for engines, which write them so; for providers the order is kept. Schemas are as sent."""
    for model, order in (("Qwen/Qwen3-8B", TOOL), ("gpt-4o", TURNED), ("claude-sonnet-4-5", TURNED)):
        (found,) = same_form({"model": model, "tools": [TURNED]})["tools"]
        assert list(found) == list(order)
        assert list(found["function"]) == list(order["function"])
        assert list(found["function"]["parameters"]) == ["b", "a"]


def test_members_of_messages() -> None:
    """The role first, however it was sent."""
    (turn,) = same_form({"messages": [{"content": "a", "tool_call_id": "c", "role": "tool"}]})["messages"]
    assert list(turn) == ["role", "content", "tool_call_id"]
    body = {"messages": [{"role": "tool", "tool_call_id": "c", "content": "a"}], "tools": [TOOL, "odd"]}
    assert same_form(body) is body
