"""Edits of a text: applied from the end, chosen so that no two touch the same place."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from lint.rule import Edit, Fix


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with edits that do not overlap."""
    out: list[str] = []
    end = 0
    for edit in sorted(edits, key=_place):
        out += [text[end : edit.start], edit.content]
        end = edit.end
    return "".join([*out, text[end:]])


def compatible(fixes: Iterable[Fix]) -> list[Fix]:
    """The fixes that can be applied together: of two that overlap the one that begins first."""
    chosen: list[Fix] = []
    taken: list[tuple[int, int]] = []
    for fix in sorted(fixes, key=lambda fix: min(map(_place, fix.edits))):
        if not any(_overlaps(_place(edit), taken) for edit in fix.edits):
            chosen.append(fix)
            for edit in fix.edits:
                insort(taken, _place(edit))
    return chosen


def moved(start: int, end: int, to: int, content: str) -> tuple[Edit, Edit]:
    """What takes a stretch out and writes it, as this content, at another place."""
    return Edit(start, end, ""), Edit(to, to, content)


def permuted(text: str, slots: Sequence[tuple[int, int]], contents: Sequence[str]) -> tuple[Edit, ...]:
    """New contents for these slots, those that stay as they are left out."""
    return tuple(
        Edit(start, end, content)
        for (start, end), content in zip(slots, contents, strict=True)
        if text[start:end] != content
    )


def _place(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _overlaps(edit: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    """Whether an edit touches one of those taken, which are in order and touch none of each other."""
    at = bisect_left(taken, edit)
    return any(_touch(edit, other) for other in taken[max(0, at - 1) : at + 1])


def _touch(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Two stretches touch where they overlap; an insertion also at the ends of another edit."""
    if a[0] == a[1] or b[0] == b[1]:
        return a[0] <= b[1] and b[0] <= a[1]
    return a[0] < b[1] and b[0] < a[1]
