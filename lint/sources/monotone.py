"""Is each rendered prompt the beginning of the next one? And where it is not: how much is lost, and why.

Two requests of an append-only conversation are compared as an engine sees them, with the generation prompt at their
end. The property and the numbers are of characters; a lost character takes everything behind it along.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from lint.sources.conversations import CLOCK, LATER, NEXT_DAY, REASONING, Conversation, Form
from prefix.realign import common_prefix

if TYPE_CHECKING:
    from lint.sources.rendering import Rendered

Cause = Literal["history", "generation", "reasoning"]
Key = tuple[int, bool, str]
"""A render: how many messages, with a generation prompt, clock."""
_OPEN, _CLOSED = "<think>", "</think>"
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Loss:
    """A prompt that is not the beginning of the next. cause: `history` (text of earlier turns is written otherwise),
    `generation` (only the generation prompt is missing in the history), `reasoning` (old reasoning is left out).
    kept, total: characters of the prompt; request: its number, from 1; role: of the message where it parts, "" behind
    all; before, after: what stands there in the prompt and in the next."""

    cause: Cause
    conversation: str
    request: int
    kept: int
    total: int
    role: str
    before: str
    after: str


def first_render(conversation: Conversation) -> Key:
    """The render of the last request, which shows whether a template can read the conversation at all."""
    return conversation.requests()[-1], True, CLOCK


def renders(conversation: Conversation) -> list[Key]:
    """All renders that judging a conversation needs."""
    last = conversation.requests()[-1]
    keys = [(length, prompt, CLOCK) for length in conversation.requests() for prompt in (True, False)]
    keys += [(length, False, CLOCK) for length in conversation.answers()]
    return [*keys, (last, True, LATER), (last, True, NEXT_DAY)]


def case(conversation: Conversation, key: Key, form: Form) -> dict[str, Any]:
    """The variables of one render."""
    length, prompt, clock = key
    return conversation.case(length, form, prompt=prompt, clock=clock)


def can_read(conversation: Conversation, texts: Mapping[Key, Rendered]) -> bool:
    """Whether the template wrote the last request with what its user said."""
    asked = [message["content"] for message in conversation.messages if message["role"] == "user"]
    return asked[-1] in texts[first_render(conversation)].text


def readable(conversation: Conversation, texts: Mapping[Key, Rendered]) -> bool:
    """Whether it wrote all that is needed."""
    return can_read(conversation, texts) and not any(one.error for one in texts.values())


def losses(
    conversation: Conversation, texts: Mapping[Key, Rendered], unreasoned: Mapping[Key, Rendered]
) -> Iterator[Loss]:
    """Where its prompts are lost. unreasoned: the renders of the same conversation without reasoning."""
    requests = conversation.requests()
    for number, (length, longer) in enumerate(itertools.pairwise(requests), 1):
        here, there = texts[(length, True, CLOCK)].text, texts[(longer, True, CLOCK)].text
        if there.startswith(here):
            continue
        kept = common_prefix(here, there)
        head = texts[(length, False, CLOCK)].text
        cause = _cause(here, head, kept)
        if conversation.reasons and unreasoned and _prefixed(unreasoned, length, longer):
            cause = "reasoning"
        role = "" if cause == "generation" else _role(conversation, here, kept)
        yield Loss(
            cause,
            conversation.name,
            number,
            kept,
            len(here),
            role,
            here[kept : kept + _SHOWN],
            there[kept : kept + _SHOWN],
        )


def forgotten(conversation: Conversation, texts: Mapping[Key, Rendered]) -> Loss | None:
    """Reasoning that is written when it is the newest and left out of a later prompt that holds no such loss."""
    for length in conversation.answers():
        thought = next((v for v in conversation.messages[length - 1].values() if str(v).startswith(REASONING)), None)
        for number, later in enumerate(conversation.requests(), 1):
            here, there = texts[(length, False, CLOCK)].text, texts[(later, True, CLOCK)].text
            if thought and later > length and thought in here and thought not in there:
                kept = common_prefix(here, there)
                before, after = here[kept : kept + _SHOWN], there[kept : kept + _SHOWN]
                return Loss("reasoning", conversation.name, number - 1, kept, len(here), "assistant", before, after)
    return None


def clock_of(conversation: Conversation, texts: Mapping[Key, Rendered]) -> Literal["", "date", "clock"]:
    """What the template prints of the engine's clock."""
    length = conversation.requests()[-1]
    now, later, tomorrow = (texts[(length, True, clock)].text for clock in (CLOCK, LATER, NEXT_DAY))
    return "clock" if now != later else "date" if now != tomorrow else ""


def _cause(here: str, head: str, kept: int) -> Cause:
    """`reasoning` too when the generation prompt opens a thought: the history has none, for it was left out."""
    if kept < len(head) or not here.startswith(head):
        return "history"
    prompt = here[len(head) :]
    return "reasoning" if _OPEN in prompt and _CLOSED not in prompt else "generation"


def _prefixed(texts: Mapping[Key, Rendered], length: int, longer: int) -> bool:
    return texts[(longer, True, CLOCK)].text.startswith(texts[(length, True, CLOCK)].text)


def _role(conversation: Conversation, text: str, kept: int) -> str:
    """Whose message the first is that begins behind the place."""
    starts = [(text.find(m["content"]), m["role"]) for m in conversation.messages if m["content"]]
    return min(((at, role) for at, role in starts if at >= kept), default=(0, ""))[1]
