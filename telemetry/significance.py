"""Is one ratio of sums larger than another, or is that chance?

A hit rate is a ratio of token sums, so its variance is that of a ratio estimator over batches (the delta method;
Cochran, Sampling Techniques, 6.3): with e = y - R x per batch, m/(m-1) x sum(e^2) / (sum x)^2. Batches may still be
shorter than what ties requests together, and then neighbours go up and down together. That is looked for, and the
variance multiplied by (1 + r) / (1 - r), r the correlation of neighbours corrected for its bias in short series
(Kendall 1954); and all of it again for pairs and fours of neighbours. The largest variance counts: an error on the
side of "that may be chance". Two ratios are compared by Welch's test. A mean (of the logarithms of TTFTs) is a ratio
as well: sum / count.

The dashboard looks at a comparison again and again, and whoever looks often enough finds something in noise; ties
that last longer than what was watched cannot be seen. Hence ALPHA is 1 %, not 5 %. How often it errs on traffic made
of conversations and moods of the fleet is measured in tests/telemetry/test_significance.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from math import erfc, log1p, sqrt
from typing import Final

ALPHA: Final = 0.01
LEAST_BATCHES: Final = 16
"""With fewer batches a variance is no more than a guess."""

_LEAST_MERGED: Final = 8
_MOST_TIED: Final = 0.9
_LEAST_FREEDOM: Final = 2.0

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Ratio:
    """sum(y) / sum(x), its variance, and the degrees of freedom behind that."""

    value: float
    variance: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two ratios: after less before, its standard error, and how likely at least so much is by chance alone."""

    change: float
    error: float
    p_value: float

    @property
    def significant(self) -> bool:
        """Hardly chance."""
        return self.p_value < ALPHA


def ratio(batches: Sequence[Pair]) -> Ratio | None:
    """The ratio over batches of (y, x), oldest first; None with too few of them."""
    batches = [(y, x) for y, x in batches if x > 0]
    if len(batches) < LEAST_BATCHES:
        return None
    total_y, total_x = (sum(column) for column in zip(*batches, strict=True))
    value = total_y / total_x
    errors = [y - value * x for y, x in batches]
    best = _tied(value, errors, total_x)
    while len(errors) >= 2 * _LEAST_MERGED:
        errors = [first + second for first, second in zip_longest(errors[::2], errors[1::2], fillvalue=0.0)]
        best = max(best, _tied(value, errors, total_x), key=lambda each: each.variance)
    return best


def difference(before: Ratio, after: Ratio) -> Difference:
    """Welch's test."""
    change, variance = after.value - before.value, before.variance + after.variance
    if variance <= 0.0:
        return Difference(change, 0.0, 0.0 if change else 1.0)
    parts = before.variance**2 / before.freedom + after.variance**2 / after.freedom
    error = sqrt(variance)
    return Difference(change, error, two_sided(change / error, variance**2 / parts))


def two_sided(t: float, freedom: float) -> float:
    """How often |t| is exceeded under Student's distribution, by Wallace's transformation to a normal one (1959)."""
    z = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom))
    return erfc(z / sqrt(2))


def _tied(value: float, errors: Sequence[float], total: float) -> Ratio:
    """The ratio with the variance that these errors show, neighbours taken for tied as far as they look it."""
    count, squares = len(errors), sum(error * error for error in errors)
    if not squares:
        return Ratio(value, 0.0, count - 1)
    seen = sum(first * second for first, second in pairwise(errors)) / squares
    tie = min(_MOST_TIED, max(0.0, seen + (1 + 4 * seen) / count))
    fewer = (1 + tie) / (1 - tie)
    variance = count / (count - 1) * squares / total**2 * fewer
    return Ratio(value, variance, max(_LEAST_FREEDOM, (count - 1) / fewer))
