"""gateway.prompt_canon: the canonical form of one body, and what an engine gets on top of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.prompt_canon import canonical_prompt
from gateway.prompt_canon import tokens as token_count
from prefix.canonical import canonicalize
from prefix.errors import BodyError, ConfigError
from prefix.split import Extent, Segment, split
from prefix.tools import Change
from tests.prefix.strategies import dump, tools


@given(tools(), st.sampled_from(["off", "safe", "normalize", "hoist"]))
def test_it_is_what_the_core_makes(made: list[dict[str, Any]], level: Any) -> None:
    """Body and changes of canonicalize, and the split of that body."""
    raw = dump({"model": "m", "tools": made, "messages": [{"role": "user", "content": "Hi"}]})
    found, expected = canonical_prompt(raw, level, None), canonicalize(raw, level=level)
    assert (found.body, found.changes, found.split) == (expected.body, expected.changes, split(expected.body))
    assert json.loads(json.dumps(found.as_json()))["body"].encode() == found.body


def test_additions_follow_the_rewrites() -> None:
    """In the body, and in the list of changes; the split is of what the client sent."""
    tools = [{"type": "function", "function": {"name": name}} for name in "ba"]
    raw = dump({"tools": tools, "messages": [], "stream": True, "stream_options": {"include_usage": False}})
    found = canonical_prompt(raw, "safe", "sglang")
    assert found.changes == (Change("/tools", "tool_order"), Change("/stream_options", "engine"))
    assert json.loads(found.body)["stream_options"] == {"include_usage": True}
    assert found.split == canonical_prompt(raw, "safe", None).split


@pytest.mark.parametrize("level", ["off", "safe"])
@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"messages":' + b"[" * 200 + b"]" * 200 + b"}", b'"\xff"'])
def test_bad_bodies_are_refused_at_every_level(raw: bytes, level: str) -> None:
    """`off` rewrites nothing, and still says what no engine takes."""
    with pytest.raises(BodyError):
        canonical_prompt(raw, level, None)


@pytest.mark.parametrize(("level", "engine"), [("x", None), ("safe", "x"), ("", None), ("safe", "")])
def test_unknown_names(level: str, engine: str | None) -> None:
    """Named, with what there is."""
    with pytest.raises(ConfigError, match=r"unknown (level|engine) '.*': use one of"):
        canonical_prompt(b"{}", level, engine)


def test_token_counts_are_integers_whatever_the_length() -> None:
    """A prefix of one byte is one token, an empty one none; JSON shows numbers, never booleans."""
    counts = [token_count(Extent((Segment("/messages/0", size),) if size else (), "")) for size in (0, 1, 400)]
    assert counts == [0, 1, 100]
    assert all(type(count) is int for count in counts)
