"""lint.testing: the helper for applications' own tests."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from lint.examples import HANDBOOK, QUESTIONS, chat, message, tool
from lint.testing import assert_prefix_stable

NUMBERS: Iterator[int] = count()


def test_a_stable_prefix() -> None:
    """What varies stands in the newest message: a body, messages, or those of the Responses API."""
    assert_prefix_stable(
        lambda: chat(HANDBOOK, f"It is {next(NUMBERS)}:00 now. {QUESTIONS[0]}", tools=[tool("order")])
    )
    assert_prefix_stable(lambda: [message("system", HANDBOOK), message("user", str(next(NUMBERS)))])
    assert_prefix_stable(lambda: {"instructions": HANDBOOK, "input": [message("user", str(next(NUMBERS)))]})
    assert_prefix_stable(lambda: chat(HANDBOOK, "a", "b", str(next(NUMBERS))), newest=2)


@pytest.mark.parametrize(
    ("bodies", "message"),
    [
        (
            [chat(f"Now: 2026-03-01T10:0{at}:00Z\n{HANDBOOK}") for at in (1, 2, 3)],
            "call 2 parts from call 1: clock in",
        ),
        (
            [chat(HANDBOOK, tools=[tool(name) for name in names]) for names in ("ab", "ab", "ba")],
            "call 3 .* tool order",
        ),
        ([chat(f"Customer {name}\n{HANDBOOK}") for name in ("Ada", "Grace", "Ada")], "'Ada' -> 'Grace'"),
        ([chat(HANDBOOK, model=model) for model in "aab"], "call 3 .* model in /model"),
        ([chat(f"Current time: 2026-03-01T10:10:00Z\n{HANDBOOK}")] * 3, "PC101 clock-in-prefix"),
    ],
)
def test_what_is_not_stable(bodies: list[dict[str, Any]], message: str) -> None:
    """The cause, the values, and what to do; a clock that stands still too."""
    made = iter(bodies)
    with pytest.raises(AssertionError, match=message):
        assert_prefix_stable(lambda: next(made))
