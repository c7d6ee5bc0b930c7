"""Edits of a text: applied from the end, chosen so that no two touch the same place."""

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
    taken: list[Edit] = []
    for fix in sorted(fixes, key=lambda fix: min(map(_place, fix.edits))):
        if not any(_overlap(edit, other) for edit in fix.edits for other in taken):
            chosen.append(fix)
            taken += fix.edits
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


def _overlap(a: Edit, b: Edit) -> bool:
    if a.start == a.end or b.start == b.end:
        return a.start <= b.end and b.start <= a.end
    return a.start < b.end and b.start < a.end
