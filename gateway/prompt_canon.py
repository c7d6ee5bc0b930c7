"""The canonical form of one request body, with all that `prefixgate canon` says of it."""

from dataclasses import dataclass
from typing import Any, Final

from engine_adapter.kinds import KINDS
from prefix.body import parse_body
from prefix.canonical import LEVELS, canonicalize
from prefix.errors import ConfigError
from prefix.members import member_edits
from prefix.scan import splice
from prefix.split import Extent, Split, split
from prefix.tokens import BYTES_PER_TOKEN, RatioCounter
from prefix.tools import Change

_PATHS: Final = {
    "system": "/v1/messages",
    "messages": "/v1/chat/completions",
    "input": "/v1/responses",
    "prompt": "/v1/completions",
}
"""Where a body is sent, by the first of these members it has; what has none is SGLang's own."""


@dataclass(frozen=True, slots=True)
class CanonicalPrompt:
    """body: what is sent. changes: what was rewritten, and for an engine what was added. split: of the body."""

    body: bytes
    changes: tuple[Change, ...]
    split: Split

    def as_json(self) -> dict[str, Any]:
        """For machines. The body is a string, so that it stays byte for byte what it is."""
        prefix, suffix = self.split.stable_prefix, self.split.suffix
        return {
            "body": self.body.decode(),
            "changed": bool(self.changes),
            "changes": [change._asdict() for change in self.changes],
            "stable_prefix": {**_size(prefix), "ends_at": prefix.ends_at},
            "suffix": _size(suffix),
            "prompt_version": self.split.prompt_version,
            "token_counting": RatioCounter().name,
        }


def canonical_prompt(raw: bytes, level: str, engine: str | None) -> CanonicalPrompt:
    """The canonical form of a body. engine: of which kind, to add what the gateway adds for it.

    Raises BodyError for what no engine can accept, ConfigError for an unknown level or engine.
    """
    chosen = next((known for known in LEVELS if known == level), None)
    if chosen is None:
        raise ConfigError(f"unknown level {level!r}: use one of {', '.join(LEVELS)}")
    made = canonicalize(raw, level=chosen)
    parts = split(made.body)
    if engine is None:
        return CanonicalPrompt(made.body, made.changes, parts)
    body, added = _with_additions(made.body, engine)
    return CanonicalPrompt(body, made.changes + added, parts)


def tokens(extent: Extent) -> int:
    """About how many tokens an extent has."""
    return max(1, round(extent.bytes / BYTES_PER_TOKEN)) if extent.bytes else 0


def _size(extent: Extent) -> dict[str, int]:
    return {"bytes": extent.bytes, "tokens": tokens(extent)}


def _with_additions(raw: bytes, kind: str) -> tuple[bytes, tuple[Change, ...]]:
    engine = KINDS.get(kind)
    if engine is None:
        raise ConfigError(f"unknown engine {kind!r}: use one of {', '.join(KINDS)}")
    body = parse_body(raw)
    path = next((path for member, path in _PATHS.items() if member in body), "/generate")
    stream, options = body.slice("stream"), body.slice("stream_options")
    members = engine.additions(path, stream=stream, stream_options=options).members
    return splice(raw, member_edits(body, members)), tuple(Change(f"/{name}", "engine") for name in members)
