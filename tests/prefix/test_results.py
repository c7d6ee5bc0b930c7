"""prefix.results: results of one parallel call in the order of the calls, and when they stay."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.canonical import Canonical, Rules, canonicalize
from tests.cases import wire

MARK = {"cache_control": {"type": "ephemeral"}}
GO_ON = {"role": "user", "content": "Go on"}


def calls(*ids: Any) -> dict[str, Any]:
    """An assistant's turn that calls these."""
    return {"role": "assistant", "content": None, "tool_calls": [{"id": name, "type": "function"} for name in ids]}


def result(name: Any, **more: Any) -> dict[str, Any]:
    """One result, as a message."""
    return {"role": "tool", "tool_call_id": name, "content": f"{name} says \r\n", **more}


def use(*ids: str) -> dict[str, Any]:
    """An assistant's turn in Anthropic's shape."""
    thought = {"type": "thinking", "thinking": "which?"}
    return {"role": "assistant", "content": [thought, *({"type": "tool_use", "id": name} for name in ids)]}


def part(name: str, **more: Any) -> dict[str, Any]:
    """One result, as a part."""
    return {"type": "tool_result", "tool_use_id": name, "content": [{"type": "text", "text": f"{name} \r\n"}], **more}


def item(kind: str, name: str) -> dict[str, Any]:
    """A call or its output, as a Responses item."""
    return {"type": kind, "call_id": name, "output": f"{name} \r\n"}


def by_message(*order: str) -> dict[str, Any]:
    """Four parallel calls in OpenAI's chat shape, results in this order."""
    return {"messages": [calls(*"dbca"), *map(result, order), GO_ON]}


def by_part(*order: str) -> dict[str, Any]:
    """The same in Anthropic's shape."""
    return {
        "messages": [use(*"dbca"), {"role": "user", "content": [*map(part, order), {"type": "text", "text": "x"}]}]
    }


def by_item(*order: str) -> dict[str, Any]:
    """The same in the Responses shape."""
    outputs = [item("function_call_output", name) for name in order]
    return {"input": [GO_ON, *(item("function_call", name) for name in "dbca"), *outputs, {"type": "reasoning"}]}


@given(st.permutations("abcd"), st.sampled_from([by_message, by_part, by_item]), st.sampled_from([None, 0, 3]))
def test_any_order_of_arrival_is_one_body(order: list[str], shape: Any, indent: int | None) -> None:
    """All permutations of the results become the body that has them in the order of the calls; gaps stay."""
    sent = canonicalize(json.dumps(shape(*order), indent=indent).encode(), level="normalize")
    assert sent.body == json.dumps(shape(*"dbca"), indent=indent).encode()
    assert sent.changed == (list(order) != list("dbca"))


@pytest.mark.parametrize("shape", [by_message, by_part, by_item])
def test_some_of_the_results_are_ordered_too(shape: Any) -> None:
    """A call without a result leaves no gap in the order of the others."""
    assert canonicalize(wire(shape("a", "d")), level="normalize").body == wire(shape("d", "a"))


def test_the_change_names_the_first_result() -> None:
    """One change a run, at the JSON pointer where it begins."""
    places = {by_message: "/messages/1", by_part: "/messages/1/content/0", by_item: "/input/5"}
    for shape, place in places.items():
        changes = canonicalize(wire(shape(*"abcd")), level="normalize").changes
        assert [tuple(change) for change in changes] == [(place, "result_order")]


def test_every_run_of_a_long_history_is_ordered() -> None:
    """Two parallel calls in one conversation, each with its own results; the ids may come again."""
    twice = [*by_message(*"abcd")["messages"], *by_message(*"cadb")["messages"]]
    sent = canonicalize(wire({"messages": twice}), level="normalize")
    assert sent.body == wire({"messages": by_message(*"dbca")["messages"] * 2})
    assert len(sent.changes) == 2


@pytest.mark.parametrize(
    "turns",
    [
        [calls("a", "b"), result("b"), GO_ON, result("a")],
        [calls("a", "b"), GO_ON, result("b"), result("a")],
        [calls("a", "b"), result("b"), result("other")],
        [calls("a", "b"), result("b"), result("a"), result("a")],
        [calls("a", "b"), result("b"), result("a"), result(None)],
        [calls("a", "b"), result("b"), result("a"), result(7)],
        [calls("a", "a"), result("b"), result("a")],
        [calls("a", None), result("b"), result("a")],
        [calls("", "a"), result("a"), result("")],
        [calls(), result("b"), result("a")],
        [result("b"), result("a")],
        [{"role": "assistant", "tool_calls": "ab"}, result("b"), result("a")],
        [{"role": "assistant", "tool_calls": ["a", "b"]}, result("b"), result("a")],
        [use("a", "b"), {"role": "user", "content": [{"type": "text", "text": "x"}, part("b"), part("a")]}],
        [use("a", "b"), {"role": "user", "content": "b then a"}],
        [use("a", "b"), {"role": "user", "content": [part("b"), part("b")]}],
        [use("a", "b"), "b", None, 7, []],
        [item("function_call", "a"), item("function_call", "b"), GO_ON, item("function_call_output", "b")],
    ],
)
def test_results_that_do_not_fit_their_calls_stay(turns: list[Any]) -> None:
    """Not adjacent, answering nothing known, answering twice, without an id, or of the wrong type."""
    for key in ("messages", "input"):
        raw = wire({key: turns})
        assert canonicalize(raw, level="normalize") == Canonical(raw, ())


@pytest.mark.parametrize("level", ["off", "safe"])
@pytest.mark.parametrize("shape", [by_message, by_part, by_item])
def test_the_order_of_messages_is_not_for_lower_levels(level: Any, shape: Any) -> None:
    """Only who asks for `normalize` gets it."""
    raw = wire(shape(*"abcd"))
    assert canonicalize(raw, level=level) == Canonical(raw, ())


@pytest.mark.parametrize(
    "turns",
    [
        [calls("a", "b"), result("b", **MARK), result("a")],
        [
            {"role": "system", "content": [{"type": "text", "text": "S", **MARK}]},
            calls("a", "b"),
            result("b"),
            result("a"),
        ],
        [use("a", "b"), {"role": "user", "content": [part("b"), part("a", **MARK)]}],
    ],
)
def test_arrays_with_marks_stay_for_engines_that_bill_by_them(turns: list[Any]) -> None:
    """A mark says "cached up to here": moving what stands before it would move what it says."""
    raw = wire({"messages": turns})
    assert canonicalize(raw, level="normalize", rules=Rules(keep_marked=True)) == Canonical(raw, ())
    moved = canonicalize(raw, level="normalize")
    assert [change.kind for change in moved.changes] == ["result_order"]
    assert moved.body.count(b"cache_control") == raw.count(b"cache_control")


def test_a_mark_in_one_array_does_not_bind_another() -> None:
    """Parts of a message without marks are put in order, whatever another message carries."""
    marked = {"role": "user", "content": [{"type": "text", "text": "Hi", **MARK}]}
    raw = wire({"messages": [marked, *by_part(*"abcd")["messages"]]})
    sent = canonicalize(raw, level="normalize", rules=Rules(keep_marked=True))
    assert sent.body == wire({"messages": [marked, *by_part(*"dbca")["messages"]]})
