"""A fix is offered only after it was tried: the edited text is read again, and what it mends must be gone.

So it does not matter that a candidate is a guess about the data flow: what the linter would still find, or find anew,
is not offered. The same trial stands behind `--fix`, which judges with all rules (lint.fixes.fixer).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol

from lint.fixes.edits import apply
from lint.rule import Fix

MOST_TRIED: Final = 20
"""Of a file's flows, the first so many have fixes; `--fix` comes to the others in later passes."""


class Judged(Protocol):
    """A flow, as far as a trial asks."""

    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def harms(self) -> bool: ...


class Mendable(Protocol):
    """A document that can be edited. text: what edits apply to."""

    @property
    def text(self) -> str: ...
    @property
    def flows(self) -> Iterable[Judged]: ...

    def reread(self, text: str) -> Iterable[Judged] | None:
        """The flows of another text in its place; None when that cannot be read."""


def first_that_mends(document: Mendable, flow: Judged, candidates: Iterable[Fix]) -> Fix | None:
    """The first candidate after which one flow of this kind and label less does harm, and no other one more."""
    before = _harm(document.flows)
    for fix in candidates:
        edited = document.reread(apply(document.text, fix.edits))
        if edited is None:
            continue
        after = _harm(edited)
        if not after - before and after[flow.kind, flow.label] < before[flow.kind, flow.label]:
            return fix
    return None


def _harm(flows: Iterable[Judged]) -> Counter[tuple[str, str]]:
    return Counter((flow.kind, flow.label) for flow in flows if flow.harms)
