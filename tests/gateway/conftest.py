"""Fixtures of the gateway's tests."""

import pytest


@pytest.fixture(autouse=True)
def _fast_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock that ends what waits too long ticks faster than in earnest."""
    monkeypatch.setattr("gateway.upstream._TICK_S", 0.02)
