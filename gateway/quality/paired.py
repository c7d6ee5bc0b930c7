"""Did B lose what A had? The exact paired test behind the verdict.

Each task was answered `samples` times by both targets; its difference is B's right answers less A's. If the targets
are alike, each difference is as likely with one sign as with the other, so the sum of all of them is distributed as
that of |differences| with random signs (Fisher's sign-flip test; with one sample a task it is McNemar's exact test).
Tasks are the unit, since the samples of one are alike. The kinds of a suite are several tests, so their p-values are
corrected by Holm's method: however many kinds there are, two equal targets are told apart wrongly in at most `alpha`
of all runs.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class Score:
    """Of one task: right answers of A and of B, out of `samples`."""

    task: str
    before: int
    after: int
    samples: int


@dataclass(frozen=True, slots=True)
class Compared:
    """Of one kind. before, after: shares of right answers. lost, won: tasks that B did worse, better.

    p_value: how likely so much or more is lost by chance, after Holm's correction.
    """

    kind: str
    tasks: int
    answers: int
    before: float
    after: float
    lost: int
    won: int
    p_value: float
    regressed: bool


def compare(scores: Mapping[str, Sequence[Score]], *, margin: float, alpha: float = ALPHA) -> list[Compared]:
    """One row per kind, in the order given. A kind has regressed when its loss is no chance and above `margin`."""
    raw = {kind: worse_by_chance([each.after - each.before for each in rows]) for kind, rows in scores.items()}
    corrected = holm(raw)
    return [_compared(kind, rows, corrected[kind], margin, alpha) for kind, rows in scores.items()]


def worse_by_chance(differences: Sequence[int]) -> float:
    """The probability that random signs give a sum as small as that of these differences, or smaller."""
    sizes = [abs(each) for each in differences if each]
    ways: dict[int, float] = {0: 1.0}
    for size in sizes:
        grown: defaultdict[int, float] = defaultdict(float)
        for total, share in ways.items():
            grown[total - size] += share / 2
            grown[total + size] += share / 2
        ways = grown
    seen = sum(differences)
    return min(1.0, sum(share for total, share in ways.items() if total <= seen))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """The p-values, corrected for there being several of them (Holm 1979)."""
    corrected, least = {}, 0.0
    for rank, kind in enumerate(sorted(p_values, key=p_values.__getitem__)):
        least = max(least, min(1.0, p_values[kind] * (len(p_values) - rank)))
        corrected[kind] = least
    return corrected


def _compared(kind: str, rows: Sequence[Score], p_value: float, margin: float, alpha: float) -> Compared:
    answers = sum(each.samples for each in rows)
    before, after = (
        sum(column) / answers for column in zip(*((each.before, each.after) for each in rows), strict=True)
    )
    lost = sum(each.after < each.before for each in rows)
    won = sum(each.after > each.before for each in rows)
    regressed = p_value < alpha and before - after > margin
    return Compared(kind, len(rows), answers, before, after, lost, won, p_value, regressed)
