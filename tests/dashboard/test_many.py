"""A thousand prompt versions: few rows in the document, and sorting and filtering at once."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from tests.dashboard.browser import watched
from tests.dashboard.live import live, settled
from tests.gateway.running import Running, chat

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

ROUTES, VERSIONS = 20, 50
PAGE_ROWS = 50
GENEROUS_MS = 1000
"""The promise is 100 ms, printed below; a machine that does ten other things does not keep it."""
_SORTED = """() => new Promise(done => {
    const start = performance.now();
    [...document.querySelectorAll('.rows thead button')].find(b => b.textContent === 'Requests').click();
    document.body.offsetHeight;
    done(performance.now() - start);
})"""
_FILTERED = """() => new Promise(done => {
    const field = document.querySelector('input[type=search]');
    const start = performance.now();
    field.value = 'r7 v3';
    field.dispatchEvent(new Event('input'));
    document.body.offsetHeight;
    done(performance.now() - start);
})"""


async def _fill(gateway: Running) -> None:
    async def ask(route: int) -> None:
        for version in range(VERSIONS):
            body = chat(f"Route {route}, version {version}", model="demo-8b", max_tokens=1)
            named: dict[str, Any] = {"x_prefixgate_route": f"r{route}", "x_prefixgate_prompt_version": f"v{version}"}
            status, _ = await gateway.ask("/v1/chat/completions", body, **named)
            assert status == 200

    await asyncio.gather(*map(ask, range(ROUTES)))
    await settled(gateway)


async def _rows(page: Page) -> int:
    return await page.locator(".rows tbody tr").count()


async def test_a_thousand_versions(browser: Browser) -> None:
    """All are counted, one page of them is drawn; sort and filter take less than a tenth of a second (printed)."""
    routes = [f"r{number}" for number in range(ROUTES)]
    async with live(speed=100.0, routes=routes) as gateway, watched(browser, gateway.url) as dashboard:
        await _fill(gateway)
        page = await dashboard.open("#/prompts")
        assert f"{ROUTES * VERSIONS:,} prompt versions" in await page.locator(".pager").inner_text()
        assert await _rows(page) == PAGE_ROWS
        sort_ms = sorted([await page.evaluate(_SORTED) for _ in range(5)])
        filter_ms = await page.evaluate(_FILTERED)
        assert await _rows(page) == 11  # v3, v30 to v39
        measured = f"sort {sort_ms[2]:.0f} ms (median of 5), filter {filter_ms:.0f} ms"
        print(f"\n1,000 prompt versions: {measured}")  # noqa: T201 - a measurement is for whoever runs it
        assert max(*sort_ms, filter_ms) < GENEROUS_MS
        await page.get_by_role("searchbox").fill("")
        await page.get_by_role("button", name="Next").click()
        assert "page 2 of 20" in await page.locator(".pager").inner_text()
        assert await _rows(page) == PAGE_ROWS
