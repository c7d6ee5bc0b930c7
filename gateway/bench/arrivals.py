"""When requests arrive, in seconds after the start: nobody waits for an answer.

Gaps of a gamma distribution with mean 1 / rate: shape 1 is a Poisson process, below 1 the requests come in bursts
(variance of a gap: mean^2 / shape), above 1 they come more evenly. A trace's own times, divided by a factor, are the
third way; when it has been played to its end it starts again, one mean gap later.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol


class Draws(Protocol):
    """A source of randomness; random.Random is one."""

    def gammavariate(self, alpha: float, beta: float) -> float:
        """Of mean alpha x beta and variance alpha x beta^2."""


def gamma_arrivals(rate: float, shape: float, draws: Draws) -> Iterator[float]:
    """Without end. rate: requests a second."""
    at = 0.0
    while True:
        yield at
        at += draws.gammavariate(shape, 1 / (rate * shape))


def stamped_arrivals(stamps_s: Sequence[float], factor: float) -> Iterator[float]:
    """Without end: the stamps (ascending, of one or more requests), `factor` times as fast, again and again."""
    first, span = stamps_s[0], stamps_s[-1] - stamps_s[0]
    period = span + (span / (len(stamps_s) - 1) if len(stamps_s) > 1 else 1.0)
    begin = 0.0
    while True:
        for stamp in stamps_s:
            yield (begin + stamp - first) / factor
        begin += period
