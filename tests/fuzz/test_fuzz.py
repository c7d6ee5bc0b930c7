"""A minute of fuzzing in CI; `make fuzz` takes half an hour."""

import secrets

import pytest

from tests.fuzz.run import fuzz


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_minute_without_a_finding() -> None:
    """Every target is tried, and none of its properties is broken."""
    tried = fuzz(60.0, first_seed=secrets.randbits(32), progress=print)
    assert set(tried) == {"stream_tap", "canonical_body", "hostile_bytes", "documented_request"}
