"""prefix.comparison: what a divergence costs, counted, and never more than there is."""

import json
from typing import Any

import pytest
from hypothesis import given

from prefix.comparison import compare
from prefix.divergence import view_bytes
from prefix.tokens import RatioCounter
from tests.cases import case
from tests.prefix.test_divergence import BODIES, CASES

BYTES = RatioCounter(1.0)
RULES = " ".join(f"Rule {place}: be {'very ' * (place % 3)}brief." for place in range(60))


def chat(system: str, *turns: str, **members: Any) -> dict[str, Any]:
    """A conversation behind a system text."""
    return {**members, "messages": [{"role": "system", "content": system}, *({"content": turn} for turn in turns)]}


@pytest.mark.parametrize(("number", "a", "b", "expected"), CASES)
def test_public_cases_share_up_to_the_offset(number: int, a: str, b: str, expected: str) -> None:
    """With one token a byte, shared tokens are the view offset of the case, and all tokens the view's length."""
    given_case = case(number)
    found = compare(given_case["input"][a], given_case["input"][b], BYTES)
    assert found.shared_tokens == given_case["expected"][expected]["view_byte_offset"]
    assert found.tokens == given_case["expected"][expected]["view_bytes"][1]
    assert found.view_bytes == tuple(given_case["expected"][expected]["view_bytes"])


def test_case_27_moving_the_context_is_what_was_promised() -> None:
    """What is recoverable before it is moved is shared after."""
    given_input = case(27)["input"]
    before, after = (compare(given_input[a], given_input[b], BYTES) for a, b in (("A", "B"), ("A_moved", "B_moved")))
    assert before.recoverable_tokens > 0.9 * (after.shared_tokens - before.shared_tokens)
    assert after.recoverable_tokens == 0


def test_text_behind_a_clock_is_recoverable() -> None:
    """All but the clock and the new question."""
    a, b = (chat(f"Now: 09:14:0{n}. {RULES}", "x" * 200, f"Question {n}?") for n in (1, 2))
    found = compare(a, b, BYTES)
    assert found.lost_tokens - found.recoverable_tokens < 40
    assert found.cause is not None
    assert found.cause.kind == "clock"


def test_new_text_is_not_recoverable() -> None:
    """An append-only conversation and another question lose nothing that could have been shared."""
    first = chat(RULES, "one")
    assert compare(first, chat(RULES, "one", "two", RULES[:500][::-1]), BYTES).recoverable_tokens == 0
    assert compare(first, chat(RULES, "other"), BYTES).recoverable_tokens == 0


@pytest.mark.parametrize("members", [{"model": "n"}, {"cache_salt": "s"}, {"reasoning_effort": "low"}])
def test_a_parameter_loses_everything(members: dict[str, Any]) -> None:
    """It parts the prompts before the first token; all of the text comes again."""
    found = compare(chat(RULES, "one"), chat(RULES, "one", **members), BYTES)
    assert (found.divergence, found.shared_tokens) == (None, 0)
    assert found.recoverable_tokens == found.lost_tokens == found.tokens


def test_token_ids_are_counted_not_estimated() -> None:
    """Their number is known."""
    found = compare({"input_ids": [1, 22, 333, 4444]}, {"input_ids": [1, 22, 334, 4444, 5]}, BYTES)
    assert found.tokens == 5
    assert found.shared_tokens in (2, 3)  # the third begins alike
    assert found.counting == "token ids, as given"


@given(BODIES, BODIES)
def test_counts_add_up(a: dict[str, Any], b: dict[str, Any]) -> None:
    """Shared and lost are all there is; recoverable is a part of what is lost; identical prompts lose nothing."""
    found = compare(a, b, RatioCounter(3.0))
    assert found.shared_tokens + found.lost_tokens == found.tokens
    assert 0 <= found.recoverable_tokens <= found.lost_tokens
    assert found.view_bytes == (len(view_bytes(a)), len(view_bytes(b)))
    if found.cause is None:
        assert found.divergence is None
        assert found.lost_tokens == 0


def test_as_json() -> None:
    """The fields of the divergence first, then cause, values and tokens; the same keys when nothing differs."""
    given_case = case(1)
    a, b = given_case["input"]["A"], given_case["input"]["B"]
    found = json.loads(json.dumps(compare(a, b, RatioCounter()).as_json()))
    assert {key: found[key] for key in given_case["expected"]["divergence"]} == given_case["expected"]["divergence"]
    assert (found["cause"], found["cause_path"]) == ("clock", "/messages/0/content")
    assert found["values"] == ["Tuesday, 3 March 2026, 09:14:07 AM CET", "Tuesday, 3 March 2026, 09:14:09 AM CET"]
    assert (found["tokens"], found["shared_tokens"], found["lost_tokens"]) == (54, 25, 29)
    assert found["token_counting"] == "4 bytes per token (assumed)"
    same = compare(a, a, RatioCounter()).as_json()
    assert same.keys() == found.keys()
    assert (same["path"], same["reason"], same["cause"], same["lost_tokens"]) == (None, "identical", None, 0)


def test_as_json_of_a_parameter() -> None:
    """The texts are identical, the prompts are not: the cause says where."""
    given_input = case(30)["input"]
    found = compare(given_input["auto"], given_input["none"], RatioCounter()).as_json()
    assert (found["path"], found["reason"]) == (None, "identical")
    assert (found["cause"], found["cause_path"]) == ("tool_choice", "/tool_choice")
