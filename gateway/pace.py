"""How fast each worker prefills, by the others: mixed hardware, and engines that something slows down. Pure.

One idea: like is compared with like. How long a prompt takes depends on how much of it has to be computed more than
on who computes it, and workers with many hits get smaller pieces; so the seconds until a first token are kept as a
mean of the fleet for each class of size (powers of two), and a worker's `slowness` is what its first tokens took by
what the same sizes take on average. It covers everything that delays a first token there: a slower GPU, decode steps
in between, a longer way.

It says 1 until there is evidence: `PRIOR` first tokens at the mean speed are believed beforehand, and what differs by
less than `UNTOLD` is taken for noise (prompts of one size differ in attention, batches in luck), so that in a fleet
of equals nothing is decided by it.
"""

from typing import Final

FEW: Final = 100
WEIGHT: Final = 1 / FEW
KEEP: Final = 1 - WEIGHT
"""Weight of one first token among a worker's, and among those of a class of sizes unless there are few yet."""

PRIOR: Final = 10.0
UNTOLD: Final = 1.3
MOST: Final = 16.0
"""First tokens at the mean speed that count beforehand; slowness that is noise; the limit."""

SIZES: Final = 32


class Pace:
    """One worker's. slowness: seconds that its prefill takes by those of the fleet; 1 when nobody knows."""

    __slots__ = ("_count", "_expected_s", "_observed_s", "slowness")

    def __init__(self) -> None:
        self.slowness = 1.0
        self._count = 0.0
        self._observed_s = 0.0
        self._expected_s = 0.0

    def learn(self, observed_s: float, expected_s: float) -> None:
        """A first token took this long, and takes that long on average."""
        count = self._count = KEEP * self._count + 1
        observed_s = self._observed_s = KEEP * self._observed_s + observed_s
        expected_s = self._expected_s = KEEP * self._expected_s + expected_s
        prior_s = PRIOR * expected_s / count
        expected_s += prior_s
        slowness = (observed_s + prior_s) / expected_s if expected_s else 1.0
        self.slowness = 1.0 if 1 / UNTOLD < slowness < UNTOLD else min(MOST, max(1 / MOST, slowness))


class Paces:
    """The fleet's: seconds to a first token for each class of sizes."""

    __slots__ = ("_counts", "_means_s")

    def __init__(self) -> None:
        self._means_s = [0.0] * SIZES
        self._counts = [0] * SIZES

    def learn(self, pace: Pace, uncached: int, busy_s: float) -> None:
        """A worker computed so many tokens, and had a queue for so long since its last first token."""
        size = uncached.bit_length()
        if size >= SIZES:
            size = SIZES - 1
        count = self._counts[size] = self._counts[size] + 1
        mean_s = self._means_s[size]
        mean_s += (busy_s - mean_s) * (WEIGHT if count > FEW else 1 / count)
        self._means_s[size] = mean_s
        pace.learn(busy_s, mean_s)
