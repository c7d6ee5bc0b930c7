"""Templates, of whatever language: pieces of static and changing text in order, judged by what stands behind each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lint.sources import names
from lint.sources.flow import CHARS_PER_TOKEN, PAGE_TOKENS, TEXT_TOKENS, Flow


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
    unknown = _first_unknown(pieces)
    for at in range(len(pieces) - 1, -1, -1):
        piece = pieces[at]
        chars += piece.chars
        flow = _judge(piece, where, chars // CHARS_PER_TOKEN, at > unknown) if piece.kind else None
        if flow is not None:
            found.append(flow)
    first = {(flow.kind, flow.label): flow for flow in found}
    return tuple(sorted(first.values(), key=lambda flow: (flow.row, flow.column)))


def _first_unknown(pieces: Sequence[Piece]) -> int:
    """The index of the first variable whose name does not say whether it is another one in each request."""
    at = (at for at, piece in enumerate(pieces) if piece.kind == "variable" and names.classify(piece.label) is None)
    return next(at, len(pieces))


def _judge(piece: Piece, where: str, tokens: int, behind_unknown: bool) -> Flow | None:
    """behind_unknown: a variable stands before it that may be what costs all this, and has to be moved first."""
    kind = piece.kind if piece.kind != "variable" else names.classify(piece.label) or "variable"
    if behind_unknown and kind in ("user", "docs"):
        kind = "variable"
    needed = TEXT_TOKENS if kind in ("variable", "user", "docs") else PAGE_TOKENS
    if kind == "neutral" or (tokens < needed and kind not in names.COSTS_BY_ITSELF):
        return None
    return Flow(kind, piece.label, piece.row, piece.column, "", 0, where, tokens, more=False)
