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
