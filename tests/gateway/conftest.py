"""Fixtures of the gateway's tests."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop


@pytest.fixture(autouse=True)
def _fast_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock that ends what waits too long ticks faster than in earnest."""
    monkeypatch.setattr("gateway.upstream._TICK_S", 0.02)


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Faults are tested on the event loop that serves in earnest."""
    if any(name in item.nodeid for name in ("test_fault_matrix", "test_named_rates", "test_chaos")):
        return {"uvloop": uvloop.new_event_loop}
    return {"asyncio": asyncio.new_event_loop}
