"""prefix.redaction: a body stays a request and parts from others where it did; what it said is gone."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from prefix.causes import Cause, find_cause
from prefix.divergence import first_divergence
from prefix.masked import Masked
from prefix.obscure import Hashed
from prefix.realign import common_prefix
from prefix.redaction import Form, redacted
from tests.cases import case
from tests.prefix.test_divergence import BODIES

HASHED, MASKED = Hashed(b"key"), Masked(b"key")
BODY: dict[str, Any] = {
    "model": "meta-llama/Llama-3.3-70B",
    "temperature": 0.7,
    "max_tokens": 512,
    "stream": True,
    "user": "alice@example.com",
    "cache_salt": "secret-salt",
    "metadata": {"customer": "acme", "ticket": "4711 escalated"},
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "find_order",
                "description": "Finds an order of a client.",
                "parameters": {
                    "type": "object",
                    "properties": {"client_code": {"type": "string", "enum": ["alpha", "beta"]}},
                    "required": ["client_code"],
                },
            },
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        }
    ],
    "tool_choice": "auto",
    "messages": [
        {"role": "system", "content": "You serve Acme."},
        {"role": "user", "content": [{"type": "text", "text": "Where is order 4711?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_9x8a7b6c", "type": "function", "function": {"name": "find_order", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_9x8a7b6c", "content": '{"place": "Oslo", "days": 3}'},
    ],
}


def cause(a: Any, b: Any) -> Cause | None:
    """Why two bodies part."""
    return find_cause(a, b, first_divergence(a, b))


def strings(value: Any) -> Iterator[str]:
    """Every text and key of a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)


@pytest.mark.parametrize(
    ("number", "a", "b"),
    [
        *((1, "A", "B"), (4, "A", "B"), (7, "A", "B"), (9, "A", "B"), (10, "A", "B"), (12, "A", "B"), (14, "A", "B")),
        (19, "generated_then_replayed_verbatim", "replayed_sorted"),
        (19, "generated_then_replayed_verbatim", "replayed_compact"),
        *((24, "turn2", "turn3"), (24, "turn2", "turn3_kept"), (25, "turn_t", "turn_t_plus_1"), (27, "A", "B")),
        *((27, "A_moved", "B_moved"), (30, "auto", "named"), (32, "A", "B")),
    ],
)
def test_public_cases_keep_their_cause(number: int, a: str, b: str) -> None:
    """Kind, pointer and offset, and as many bytes shared but for the word in which they part."""
    given_input = case(number)["input"]
    one, other = given_input[a], given_input[b]
    made, remade = redacted(one, HASHED), redacted(other, HASHED)
    before, after = cause(one, other), cause(made, remade)
    assert before is not None
    assert after is not None
    assert (after.kind, after.path, after.offset) == (before.kind, before.path, before.offset)
    first, now = first_divergence(one, other), first_divergence(made, remade)
    if first is not None:
        assert now is not None
        assert abs(now.view_byte_offset - first.view_byte_offset) <= 64


@pytest.mark.parametrize("form", [HASHED, MASKED])
def test_the_shape_of_a_request(form: Form) -> None:
    """Roles, types, marks and settings stay; texts, names, ids, keys of the client's own and salts go."""
    made = redacted(BODY, form)
    for kept in ("model", "temperature", "max_tokens", "stream", "tool_choice"):
        assert made[kept] == BODY[kept]
    assert [turn["role"] for turn in made["messages"]] == ["system", "user", "assistant", "tool"]
    assert made["tools"][0]["cache_control"] == BODY["tools"][0]["cache_control"]
    assert made["tools"][0]["function"]["parameters"]["type"] == "object"
    assert len(json.dumps(made)) == len(json.dumps(BODY))
    call, result = made["messages"][2]["tool_calls"][0]["id"], made["messages"][3]["tool_call_id"]
    assert call == result != "call_9x8a7b6c"
    said = json.dumps(made).lower()
    for word in ("acme", "alice", "secret", "order", "client", "alpha", "4711", "oslo", "place", "escalated"):
        assert word not in said


@given(BODIES)
def test_nothing_of_a_text_is_left(body: dict[str, Any]) -> None:
    """Of any text, anywhere: but the model and the words of the APIs."""
    made = redacted(body, HASHED)
    assert list(map(len, strings(made)))[:1] == list(map(len, strings(body)))[:1]
    for one, other in zip(strings(body), strings(made), strict=True):
        words = set("".join(letter if letter.isascii() and letter.isalpha() else " " for letter in one).split())
        if one != other:
            assert not {word for word in words if set(word.lower()) & set("abcdef")} & set(other.split())


def test_token_ids_are_text() -> None:
    """A prompt of token ids says as much as a text."""
    body = {"input_ids": [151644, 8948, 198, 2610, 525], "sampling_params": {"max_new_tokens": 8}}
    made = redacted(body, HASHED)
    assert made["sampling_params"] == body["sampling_params"]
    assert not set(made["input_ids"]) & {151644, 8948, 2610}
    longer = redacted({"input_ids": [151644, 8948, 198, 2610, 7]}, HASHED)
    assert common_prefix(made["input_ids"], longer["input_ids"]) == 4
    assert redacted({"prompt": [[1, 2], "a"]}, MASKED) == {"prompt": [[0, 0], "x"]}


def test_keys_that_become_one_stay_two() -> None:
    """No member is lost."""
    made = redacted({"metadata": {"aa": 1, "bb": 2, "cc": "z"}}, MASKED)
    assert made == {"metadata": {"xx": 1, "xx_": 2, "xx__": "x"}}


def test_a_word_of_the_apis_elsewhere_is_text() -> None:
    """`user` is a role, and may be what somebody said."""
    assert redacted({"messages": [{"role": "eve", "content": "user"}]}, MASKED) == {
        "messages": [{"role": "xxx", "content": "xxxx"}]
    }
