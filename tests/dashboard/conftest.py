"""One gateway with traffic and one browser for all tests of the page."""

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser

from tests.dashboard.browser import Watched, chromium, watched
from tests.dashboard.live import live
from tests.gateway.running import Running


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium."""
    async with chromium() as each:
        yield each


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def gateway() -> AsyncIterator[Running]:
    """A gateway that has served the demo's traffic."""
    async with live(count=160, seconds=3.0, speed=10.0) as each:
        yield each


@pytest_asyncio.fixture(loop_scope="session")
async def dashboard(browser: Browser, gateway: Running) -> AsyncIterator[Watched]:
    """A fresh page on that gateway."""
    async with watched(browser, gateway.url) as each:
        yield each
