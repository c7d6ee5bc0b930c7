"""Templates, of whatever language: pieces of static and changing text in order, judged by what stands behind each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lint.sources import names
from lint.sources.flow import CHARS_PER_TOKEN, PAGE_TOKENS, TEXT_TOKENS, Flow

_SURE: Final = frozenset("clock date random sampled shuffled".split())
"""Kinds that are another one in each request, also where what stands before them is the same."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a template. kind: "" for static text, "variable" for a hole, else a flow's. chars: of static text."""

    kind: str = ""
    label: str = ""
    row: int = 0
    column: int = 0
    chars: int = 0


def flows_of(pieces: Sequence[Piece], where: str = "prompt", behind: int = 0) -> tuple[Flow, ...]:
    """What changes ahead of static text, once per variable. behind: characters of static text after the pieces."""
    found: list[Flow] = []
    chars = behind
    kinds = [_kind(piece) for piece in pieces]
    if "user" not in kinds:
        kinds = ["variable" if names.is_vague(p.label) else kind for p, kind in zip(pieces, kinds, strict=True)]
    unknown = _first(kinds, "variable")
    varying = min(unknown, _first(kinds, "user", "docs"))
    for at in range(len(pieces) - 1, -1, -1):
        chars += pieces[at].chars
        loose = at > (varying if kinds[at] == "mapping" else unknown)
        flow = _judge(pieces[at], kinds[at], where, chars // CHARS_PER_TOKEN, loose) if kinds[at] else None
        if flow is not None:
            found.append(flow)
    first = {(flow.kind, flow.label): flow for flow in found}
    return tuple(sorted(first.values(), key=lambda flow: (flow.row, flow.column)))


def _kind(piece: Piece) -> str:
    """What a piece is, of a variable what its name says."""
    return piece.kind if piece.kind != "variable" else names.classify(piece.label) or "variable"


def _first(kinds: Sequence[str], *wanted: str) -> int:
    """The index of the first piece of these kinds."""
    return next((at for at, kind in enumerate(kinds) if kind in wanted), len(kinds))


def _judge(piece: Piece, kind: str, where: str, tokens: int, loose: bool) -> Flow | None:
    """loose: a variable stands before it that may well be another one in each request, and costs what it would."""
    needed = TEXT_TOKENS if kind in ("variable", "user", "docs") else PAGE_TOKENS
    if kind == "neutral" or (tokens < needed and kind not in (*names.COSTS_BY_ITSELF, "mapping")):
        return None
    loose = loose and kind not in _SURE
    return Flow(kind, piece.label, piece.row, piece.column, "", 0, where, tokens, more=False, loose=loose)
