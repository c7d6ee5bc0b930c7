"""prefix.envelope: the request body in what is around it (more shapes: tests/lint/traffic/test_reading.py)."""

import json
from typing import Any

from prefix.envelope import has_prompt, unwrap

BODY = {"messages": []}


def parse(raw: bytes) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(raw)
    return loaded


def test_a_prompt_is_none() -> None:
    """A body with a prompt is itself, whatever else is in it; `input` of the Responses API is a prompt."""
    for body in ({**BODY, "body": BODY}, {"input": "Hi"}, {"input": [BODY], "request": BODY}):
        assert has_prompt(body)
        assert unwrap(body, parse) is body


def test_envelopes_in_envelopes() -> None:
    """One in another, as object or as text; what holds no prompt is given back as far as it could be opened."""
    assert unwrap({"request": {"body": json.dumps(BODY)}}, parse) == BODY
    assert unwrap({"input": BODY}, parse) == BODY
    assert unwrap({"event": 1}, parse) == {"event": 1}
    assert not has_prompt({"input": BODY})
