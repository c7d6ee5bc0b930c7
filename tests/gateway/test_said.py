"""What whole answers say of themselves, in each API's words."""

import json
from typing import Any

import pytest

from gateway.said import said_in
from telemetry.span_facts import NOTHING_SAID, Said

OPENAI = {"id": "c1", "model": "m", "choices": [{"finish_reason": "stop", "message": {"content": "x"}}]}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (OPENAI, Said("c1", "m", ("stop",))),
        (
            {**OPENAI, "choices": [{"finish_reason": "stop"}, {"finish_reason": "length"}]},
            ("c1", "m", ("stop", "length")),
        ),
        ({"id": "r1", "model": "m", "status": "completed", "incomplete_details": None}, ("r1", "m", ("completed",))),
        (
            {"id": "r1", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            ("r1", None, ("max_output_tokens",)),
        ),
        ({"id": "msg1", "model": "m", "stop_reason": "end_turn", "content": []}, ("msg1", "m", ("end_turn",))),
        ({"text": "x", "meta_info": {"id": "g1", "finish_reason": {"type": "stop"}}}, ("g1", None, ("stop",))),
        (
            [{"meta_info": {"id": n, "finish_reason": {"type": why}}} for n, why in (("a", "stop"), ("b", "length"))],
            ("a", None, ("stop", "length")),
        ),
        ({"object": "list", "data": [{"embedding": [0.1]}], "model": "e"}, (None, "e", ())),
        ({}, NOTHING_SAID),
        ([], NOTHING_SAID),
        ({"id": 7}, NOTHING_SAID),
        ({"choices": "none"}, NOTHING_SAID),
    ],
)
def test_said(answer: Any, said: Said) -> None:
    """Id, model and reasons, as far as they are told."""
    assert said_in(json.dumps(answer).encode()) == said


@pytest.mark.parametrize("body", [None, b"", b"half {", b"[" * 5000])
def test_nothing(body: bytes | None) -> None:
    """An answer that cannot be read says nothing."""
    assert said_in(body) == NOTHING_SAID
