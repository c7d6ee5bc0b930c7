"""gateway.bench.arrivals: gaps have the mean and the burstiness that were asked for."""

from itertools import islice, pairwise
from random import Random
from statistics import fmean, pvariance

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.bench.arrivals import gamma_arrivals, stamped_arrivals

COUNT = 20_000


@pytest.mark.parametrize("shape", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.5, 40.0])
def test_gaps_have_mean_and_variance(rate: float, shape: float) -> None:
    """Mean 1 / rate, variance mean^2 / shape: shape 1 is a Poisson process."""
    times = list(islice(gamma_arrivals(rate, shape, Random(7)), COUNT))
    gaps = [after - before for before, after in pairwise(times)]
    assert fmean(gaps) == pytest.approx(1 / rate, rel=0.05)
    assert pvariance(gaps) == pytest.approx(1 / (rate * rate * shape), rel=0.15)


def test_a_poisson_process_counts_as_one() -> None:
    """Arrivals in windows of one second have the variance of their mean (a Poisson process does)."""
    counts = [0] * 2_000
    for at in gamma_arrivals(10.0, 1.0, Random(3)):
        if at >= len(counts):
            break
        counts[int(at)] += 1
    assert pvariance(counts) / fmean(counts) == pytest.approx(1.0, abs=0.1)


def test_a_seed_repeats_them() -> None:
    """The same seed gives the same times."""
    first, second = (list(islice(gamma_arrivals(3.0, 0.5, Random(11)), 50)) for _ in range(2))
    assert first == second


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=20), st.floats(0.1, 100), st.integers(1, 3))
def test_a_trace_keeps_its_gaps_and_begins_again(stamps: list[float], factor: float, rounds: int) -> None:
    """Every gap within a round is the trace's by the factor; time never goes back between rounds."""
    stamps.sort()
    times = list(islice(stamped_arrivals(stamps, factor), len(stamps) * rounds))
    assert times[0] == 0.0
    assert all(after >= before for before, after in pairwise(times))
    for nth, stamp in enumerate(stamps):
        assert times[nth] == pytest.approx((stamp - stamps[0]) / factor)
