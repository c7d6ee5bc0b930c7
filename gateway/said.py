"""What a whole answer says of itself, in each API's words: its id, its model, why it ended. For spans.

Apart from its usage (gateway.relay), which is read of every answer: this is read of sampled requests only, and what
does not parse says nothing.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from engine_adapter.sse import StreamResult
from telemetry.span_facts import NOTHING_SAID, Said


class _Choice(msgspec.Struct, frozen=True):
    finish_reason: str | None = None


class _Kind(msgspec.Struct, frozen=True):
    type: str | None = None


class _Meta(msgspec.Struct, frozen=True):
    id: str | None = None
    finish_reason: _Kind | None = None


class _Why(msgspec.Struct, frozen=True):
    reason: str | None = None


class _Answer(msgspec.Struct, frozen=True):
    """choices: chat and completions. stop_reason: messages. status, incomplete_details: responses. meta_info:
    /generate."""

    id: str | None = None
    model: str | None = None
    choices: list[_Choice] = []
    stop_reason: str | None = None
    status: str | None = None
    incomplete_details: _Why | None = None
    meta_info: _Meta = _Meta()


_decode = msgspec.json.Decoder(_Answer | list[_Answer]).decode


def said_in(body: bytes | None) -> Said:
    """Of a whole answer; None: too large to be kept."""
    try:
        found = _decode(body or b"")
    except (msgspec.DecodeError, RecursionError):
        return NOTHING_SAID
    answers = found if isinstance(found, list) else [found]
    first = answers[0] if answers else _Answer()
    return Said(first.id or first.meta_info.id, first.model, tuple(_reasons(answers)))


def said_by(result: StreamResult) -> Said:
    """Of a stream: only its first choice's end is read."""
    reason = result.finish_reason
    return Said(result.id, result.model, () if reason is None else (reason,))


def _reasons(answers: list[_Answer]) -> Iterable[str]:
    for answer in answers:
        incomplete, meta = answer.incomplete_details, answer.meta_info.finish_reason
        told: tuple[Any, ...] = (
            *(choice.finish_reason for choice in answer.choices),
            answer.stop_reason,
            (incomplete and incomplete.reason) or answer.status,
            meta and meta.type,
        )
        yield from (reason for reason in told if reason)
