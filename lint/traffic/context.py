"""The constant text around a place that varies: what is the same before it, and what is the same again behind it.

It is how a template is known again: where a mend ends the text that it moves, and where source code made it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from prefix.divergence import value_at
from prefix.realign import Run, common_prefix, realign
from prefix.texts import VOLATILE
from prefix.volatile import find_volatile

_BEFORE: Final = 200
_BEHIND: Final = 80
_EDGE: Final = 24
_NEXT: Final = 8
_WIDEST: Final = 400
_CUTS: Final = 16


class Cut(NamedTuple):
    """Where a value stands: between these two texts, which are constant."""

    before: str
    behind: str

    def find(self, text: str, at: int) -> tuple[int, int] | None:
        """From where to where the value is, looked for from `at` on."""
        found = text.find(self.before, at) if self.before else 0
        start = found + len(self.before)
        end = text.find(self.behind, start, start + _WIDEST) if self.behind else len(text)
        return (start, end) if found >= 0 and start <= end else None


class Context(NamedTuple):
    """before, after: the text directly before and after a value. behind: the first line that comes again behind it.
    "" where there is none. cuts: where values of its kind stand that vary."""

    before: str = ""
    after: str = ""
    behind: str = ""
    cuts: tuple[Cut, ...] = ()


NO_CONTEXT: Final = Context()


def context(
    a: Mapping[str, Any], b: Mapping[str, Any], kind: str, pointer: str, offset: int, value: str | None
) -> Context:
    """What is constant around a value at `offset` of the text at a pointer into b, by comparison with a."""
    one, other = value_at(a, pointer), value_at(b, pointer)
    if not isinstance(one, str) or not isinstance(other, str):
        return NO_CONTEXT
    same = common_prefix(one, other)
    runs = realign(one, other, same)
    behind = _first_line(other, runs[0] if runs else _same_end(one, other, same))
    end = offset + len(value or "")
    after = other[end : end + _BEHIND]
    return Context(other[max(0, offset - _BEFORE) : offset], after, behind, tuple(_cuts(one, other, kind))[:_CUTS])


def _cuts(a: str, b: str, kind: str) -> Iterator[Cut]:
    """The values of a kind in b that are not in a."""
    kinds = [volatile for volatile, cause in VOLATILE.items() if cause == kind]
    for span in find_volatile(b, kinds) if kinds else ():
        if b[span.start : span.end] not in a:
            yield Cut(b[max(0, span.start - _EDGE) : span.start], b[span.end : span.end + _NEXT])


def _same_end(a: str, b: str, start: int) -> Run:
    end = common_prefix(a[start:][::-1], b[start:][::-1])
    return Run(len(a) - end, len(b) - end, end)


def _first_line(text: str, run: Run) -> str:
    """From the first whole line of a run on, or all of it when it is less than two."""
    end = run.b + run.length
    line = text.find("\n", run.b, end) + 1
    start = line if run.b < line < end else run.b
    return text[start : min(end, start + _BEHIND)]
