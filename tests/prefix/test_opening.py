"""prefix.opening: a known opening changes what a conversation costs, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.blocks import HeadHashes, block_hashes
from prefix.body import Body, BodyCache, parse_body
from prefix.errors import BodyError
from prefix.opening import LONG, opening_span, read_opening
from prefix.prompt_version import PromptVersions
from prefix.scan import Span
from prefix.tool_view import ToolViews
from prefix.view import prompt_view

PADDING = "rules " * (LONG // 6)
TEXT = st.text('ab}{],:"\\é\n ', max_size=30)
SYSTEM = st.one_of(TEXT.map(PADDING.__add__), TEXT, st.sampled_from([PADDING + '"}, {"', PADDING + "}, {", PADDING]))
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "developer", "user"]), "content": SYSTEM}),
    min_size=1,
    max_size=4,
)


def chat(messages: list[Any], **fields: Any) -> bytes:
    """A chat body."""
    return json.dumps({"model": "m", "messages": messages, **fields}, ensure_ascii=False).encode()


def placed(body: Body, versions: PromptVersions, heads: HeadHashes) -> tuple[Any, ...]:
    """Everything a conversation is known by."""
    view = prompt_view(body, body.slice("tools"), ToolViews())
    hashes = heads.hashes(view.text, view.seed, view.stable)
    return body.value("messages"), versions.version(body, body.slice("tools")), view, hashes


@settings(max_examples=60)
@given(st.lists(MESSAGES, min_size=1, max_size=3))
def test_a_conversation_is_the_same_with_its_opening_known(conversations: list[list[Any]]) -> None:
    """Messages, version, view and block hashes, the second time as the first."""
    cache, versions, heads = BodyCache(), PromptVersions(), HeadHashes()
    for messages in conversations * 3:
        raw = chat(messages, tools=[{"name": "t"}])
        plain = placed(parse_body(raw), PromptVersions(), HeadHashes())
        assert placed(parse_body(raw, cache), versions, heads) == plain
        assert plain[0] == messages
        assert plain[3] == block_hashes(plain[2].text, plain[2].seed)


def test_conversations_share_their_opening() -> None:
    """Two questions behind one system text: it is parsed once."""
    cache = BodyCache()
    system = {"role": "system", "content": PADDING}
    _, first, second = (
        parse_body(chat([system, {"role": "user", "content": question}]), cache) for question in ("a", "b", "c")
    )
    assert first.opening is not None
    assert first.opening is second.opening
    assert first.value("messages")[0] is second.value("messages")[0]


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": PADDING}],
        [{"role": "system", "content": "short"}, {"role": "user", "content": PADDING}],
        [{"role": "user", "content": PADDING}, {"role": "user", "content": "q"}],
        [{"role": "system", "content": [{"type": "text", "text": PADDING}]}, {"role": "user", "content": "q"}],
    ],
)
def test_other_conversations_have_none(messages: list[Any]) -> None:
    """A message alone, a short one, a user's, one of parts."""
    body = parse_body(chat(messages), BodyCache())
    assert body.opening is None
    assert body.value("messages") == messages


def test_a_wrong_guess_is_noticed() -> None:
    """Text that looks like the end of the message."""
    raw = chat([{"role": "system", "content": PADDING + "}, {"}, {"role": "user", "content": "q"}])
    span = Span(raw.index(b"["), raw.rindex(b"]") + 1)
    found = opening_span(raw, span)
    assert found is not None
    assert raw[found[0].end :].startswith(b', {"}, {"role"')
    assert parse_body(raw, BodyCache()).value("messages") == json.loads(raw)["messages"]


def test_an_opening_is_one_message_of_bounded_depth() -> None:
    """Anything else is none, or refused."""
    assert read_opening(b'{"content":"x') is None
    assert read_opening(b"[1]") is None
    with pytest.raises(BodyError, match="deeper than"):
        read_opening(b'{"content":' + b"[" * 126 + b"]" * 126 + b"}")
