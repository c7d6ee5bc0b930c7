"""Fixtures of the integration tests: real engines, shared for the session or a test's own."""

from collections.abc import Callable, Iterator

import pytest

from examples.real_sglang_cpu.engine_process import EngineProcess, Options
from tests.integration.engines import TINY, Engines, missing, stop

TEST_S = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starting an engine counts into a test's time, so tests with engines get more of it."""
    for item in items:
        if item.get_closest_marker("engines") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_S))


@pytest.fixture(scope="session")
def engines() -> Iterator[Engines]:
    """The session's engines: `engines.take(2, replace(TINY, page_size=1))` hands out two, cold and shared."""
    reason = missing()
    if reason:
        pytest.fail(reason, pytrace=False)
    session = Engines()
    yield session
    stop(session.running)


@pytest.fixture
def own_engine(engines: Engines) -> Iterator[Callable[[Options], EngineProcess]]:
    """`own_engine(TINY)` starts an engine that this test may terminate, kill and restart; it ends with the test."""
    own: list[EngineProcess] = []

    def start(options: Options = TINY) -> EngineProcess:
        own.extend(engines.launch(1, options))
        return own[-1]

    yield start
    stop(own)
