"""Percentiles by nearest rank: always a value that was measured, never one in between."""

from collections.abc import Sequence
from math import ceil


def nearest_rank(ascending: Sequence[float], share: float) -> float:
    """The smallest of one or more ascending values that `share` (0 to 1) of all do not exceed."""
    return ascending[max(0, ceil(share * len(ascending)) - 1)]
