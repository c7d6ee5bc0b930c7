"""lint.traffic.engine: what a log lost, cause by cause."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint.examples import HANDBOOK, QUESTIONS, chat
from lint.traffic.engine import Traffic, TrafficEngine
from lint.traffic.logged import Logged
from lint.traffic.losses import Loss
from lint.traffic.mend import mend
from prefix.divergence import view_bytes
from prefix.explanations import EXPLANATIONS

OTHER = "".join(f"Clause {at}: the tenant of flat {at * 3} waters the plants on the stairs.\n" for at in range(12))


def run(bodies: Iterable[Mapping[str, Any]]) -> Traffic:
    engine = TrafficEngine()
    for row, body in enumerate(bodies, 1):
        engine.add(Logged(body), row)
    return engine.result("log")


def clocks(count: int, text: str = HANDBOOK) -> list[dict[str, Any]]:
    return [chat(f"Now: 2026-03-01T{at // 60:02}:{at % 60:02}:07Z\n{text}", QUESTIONS[at % 4]) for at in range(count)]


def test_one_loss_per_cause() -> None:
    """However often it strikes; also where the cause is no longer asked for."""
    result = run(clocks(200))
    (loss,) = result.losses
    assert (loss.kind, loss.occurrences, loss.request, loss.offset) == ("clock", 199, 1, 5)
    assert (loss.requests, loss.total_bytes, result.requests) == (200, result.bytes, 200)
    assert 0.7 < loss.share < 0.95


def test_templates_are_told_apart() -> None:
    """Two templates, mixed: the one with a clock loses, the other does not, and each has its own share."""
    mixed = [body for pair in zip(clocks(20), [chat(OTHER, q) for q in QUESTIONS * 5], strict=True) for body in pair]
    (loss,) = run(mixed).losses
    assert (loss.kind, loss.occurrences, loss.requests) == ("clock", 19, 20)


def test_two_causes_are_two_losses() -> None:
    """A clock in one template, line ends in another."""
    ends = [chat(OTHER.replace("\n", end)) for end in ("\n", "\r\n", "\n", "\r\n")]
    assert {loss.kind for loss in run([*clocks(8), *ends]).losses} == {"clock", "whitespace"}


def test_a_conversation_that_goes_on_loses_nothing() -> None:
    """Each turn begins with all of the one before."""
    turns = [f"Turn {at} of a long conversation about shoes that never came." for at in range(30)]
    assert run(chat(HANDBOOK, *turns[:end]) for end in range(1, 30, 2)).losses == ()


@pytest.mark.parametrize("named", [False, True])
def test_a_session_that_the_log_names(named: bool) -> None:
    """Its turns are compared with each other, though an edit left no message that would tell so."""

    def said(number: int, opening: str, count: int) -> dict[str, Any]:
        words = [" ".join(f"{number}w{at}v{k * k % 977}" for k in range(80)) for at in range(count)]
        return chat(HANDBOOK, opening, *words[:-1], f"{words[-1]} {count}")

    engine = TrafficEngine()
    for opening, count in (("Hello.", 2), ("Hello, I am back.", 4)):
        for number in range(4):
            engine.add(Logged(said(number, opening, count), session=f"s{number}" if named else None), 1)
    kinds = [loss.kind for loss in engine.result("log").losses]
    assert kinds == (["history_edited"] if named else [])


def test_a_rolling_mark_is_no_difference() -> None:
    """Anthropic clients move `cache_control` along, which makes a list of a text; the prompt is the same."""

    def marked(turns: list[str]) -> dict[str, Any]:
        body = chat(HANDBOOK, *turns)
        last = body["messages"][-1]
        last["content"] = [{"type": "text", "text": last["content"], "cache_control": {"type": "ephemeral"}}]
        return body

    turns = [f"Turn {at} of a long conversation about shoes that never came." for at in range(12)]
    assert run(marked(turns[:end]) for end in range(1, 12, 2)).losses == ()


def test_what_another_request_shares_is_not_lost() -> None:
    """Two variants in turn: only the first request of the second one is cold."""
    bodies = [chat(HANDBOOK.replace("\n", end), q) for q in QUESTIONS for end in ("\n", "\r\n")]
    (loss,) = run(bodies).losses
    assert (loss.kind, loss.occurrences) == ("whitespace", 1)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_MEMBERS = st.sampled_from(["messages", "tools", "system", "prompt", "input", "model", "response_format"])


@given(st.lists(st.dictionaries(_MEMBERS, _JSON, max_size=4), min_size=1, max_size=5))
def test_any_body(bodies: list[dict[str, Any]]) -> None:
    """Whatever JSON calls itself a request is taken, and no more is recoverable than was sent."""
    result = run(bodies)
    assert result.requests == len(bodies)
    assert sum(loss.recoverable_bytes for loss in result.losses) <= result.bytes
    assert all(json.loads(view_bytes(body)) is not None for body in bodies)


@given(
    st.lists(st.dictionaries(_MEMBERS, _JSON, max_size=4), min_size=2, max_size=5),
    st.sampled_from([*EXPLANATIONS, "response_format"]),
    st.sampled_from(
        ["/messages/0/content", "/messages/1", "/tools", "/tools/0/name", "/system", "/prompt", "/model"]
    ),
)
def test_any_mend(bodies: list[dict[str, Any]], kind: str, pointer: str) -> None:
    """Whatever it was made for, it leaves a body of any shape a body."""
    loss = Loss(kind, 0, pointer, 3, ("a", "b"), 0, 1, pointers=(pointer,))
    change = mend(loss)
    for body in bodies if callable(change) else ():
        assert isinstance(view_bytes(change(body)), bytes)
