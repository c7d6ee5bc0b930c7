"""For the tests of an application: is what it sends the same, from request to request, up to the newest message?

from lint.testing import assert_prefix_stable

def test_prompt():
    assert_prefix_stable(lambda: build_messages(user="Ada", question="Where is my parcel?"))
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lint.bodies import RequestBody
from lint.registry import rules
from prefix.causes import find_cause
from prefix.divergence import first_divergence
from prefix.explanations import EXPLANATIONS

_NAME: Final = "the prompt"
_NEWEST: Final = {"role": "user", "content": ""}
"""Stands for the messages that may differ, so that what is before them is not taken for the newest."""


def assert_prefix_stable(
    make: Callable[[], Mapping[str, Any] | Sequence[Any]], *, calls: int = 3, newest: int = 1
) -> None:
    """Raise AssertionError, with the cause, when prompts that should share a prefix do not.

    make: builds a whole request body, or its messages; called `calls` times. newest: how many messages at the end may
    differ. A clock that stands still between the calls is found by its looks (rules PC1xx, warnings and errors).
    """
    bodies = [_prefix(make(), newest) for _ in range(max(1, calls))]
    for number, body in enumerate(bodies[1:], 2):
        cause = find_cause(bodies[0], body, first_divergence(bodies[0], body))
        if cause is not None:
            advice = EXPLANATIONS[cause.kind].advice
            raise AssertionError(f"call {number} parts from call 1: {cause}: {cause.a!r} -> {cause.b!r}. {advice}")
    for rule in rules().values():
        for finding in rule.check(RequestBody(_NAME, bodies[0])):
            if rule.code.startswith("PC1") and finding.severity != "info":
                raise AssertionError(f"{finding.code} {finding.name}: {finding.message}. {rule.instead}")


def _prefix(made: Mapping[str, Any] | Sequence[Any], newest: int) -> dict[str, Any]:
    body = dict(made) if isinstance(made, Mapping) else {"messages": list(made)}
    key = "input" if isinstance(body.get("input"), list) else "messages"
    turns = body.get(key)
    if isinstance(turns, list):
        body[key] = [*turns[: max(0, len(turns) - newest)], _NEWEST]
    return body
