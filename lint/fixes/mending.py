"""A fix is offered only after it was tried: the edited text is read again, and what it mends must be gone.

So it does not matter that a candidate is a guess about the data flow: what the linter would still find, or find anew,
is not offered. Several are tried at once, and halves of them only where that fails, so that a file of many findings
is read twice, not once for each. The same trial stands behind `--fix`, which uses all rules (lint.fixes.fixer).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

from lint.fixes.edits import apply, compatible
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

    def around(self, flows: Sequence[Any]) -> Mendable:
        """A document in which edits for these flows can be tried as in this one, perhaps with less of the rest."""


J = TypeVar("J", bound=Judged)


def fixes_of(document: Mendable, flows: Sequence[J], candidates: Callable[[J], Iterable[Fix]]) -> dict[J, Fix]:
    """What mends each of these flows of a document, of those that have such a fix. candidates: the best first."""
    offered = {flow: fix for flow in flows if (fix := next(iter(candidates(flow)), None))}
    return _halved(document.around(tuple(offered)), tuple(offered), offered, candidates) if offered else {}


def _halved(
    document: Mendable, flows: Sequence[J], offered: dict[J, Fix], candidates: Callable[[J], Iterable[Fix]]
) -> dict[J, Fix]:
    if len(flows) < 2:
        tried = {flow: first_that_mends(document, flow, candidates(flow)) for flow in flows}
        return {flow: fix for flow, fix in tried.items() if fix}
    if _all_mend(document, flows, [offered[flow] for flow in flows]):
        return {flow: offered[flow] for flow in flows}
    parts = flows[: len(flows) // 2], flows[len(flows) // 2 :]
    return {flow: fix for part in parts for flow, fix in _halved(document, part, offered, candidates).items()}


def _all_mend(document: Mendable, flows: Sequence[Judged], fixes: Sequence[Fix]) -> bool:
    """Whether all fixes together leave each of the flows harmless, and make no other harm."""
    if len(compatible(fixes)) < len(fixes):
        return False
    edited = document.reread(apply(document.text, (edit for fix in fixes for edit in fix.edits)))
    if edited is None:
        return False
    before, after = _harm(document.flows), _harm(edited)
    mended = Counter((flow.kind, flow.label) for flow in flows)
    return not after - before and all(before[key] - after[key] >= count for key, count in mended.items())


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
