"""Every view is usable by everybody: axe-core's rules, light and dark, and a screen of 400 px."""

from typing import Any, Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page

from tests.dashboard.browser import watched
from tests.gateway.running import Running

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

VIEWS = {
    "#/": "Overview",
    "#/prompts": "Prompts",
    "#/prompts?by=customer": "Prompts",
    "#/prompts/support/support-v2": "support-v2",
    "#/latency": "Latency by prompt length",
    "#/workers": "Workers",
    "#/tree?route=support": "Prefix tree",
    "#/requests": "Requests",
}
_GRAVE = ("serious", "critical")


async def _violations(page: Page) -> list[str]:
    found: list[dict[str, Any]] = (await Axe().run(page)).response["violations"]
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found
        if each["impact"] in _GRAVE
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_grave_violation(browser: Browser, gateway: Running, scheme: Literal["light", "dark"]) -> None:
    """None that axe calls serious or critical, in any view, with its details open."""
    async with gateway.http.get("/api/requests?reason=divergent") as response:
        request = (await response.json())["rows"][0]["request_id"]
    views = {**VIEWS, f"#/requests/{request}": "Why this request missed"}
    async with watched(browser, gateway.url, color_scheme=scheme, bypass_csp=True) as dashboard:
        page = await dashboard.open()
        found = {}
        for address, title in views.items():
            await dashboard.go(address, title)
            await page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            found[address] = await _violations(page)
    assert not [f"{address} {each}" for address, all_ in found.items() for each in all_]


async def test_a_narrow_screen(browser: Browser, gateway: Running) -> None:
    """At 400 px no view is wider than the screen."""
    async with watched(browser, gateway.url, viewport={"width": 400, "height": 800}) as dashboard:
        page = await dashboard.open()
        for address, title in VIEWS.items():
            await dashboard.go(address, title)
            assert await page.evaluate("document.documentElement.scrollWidth") == 400, address


async def test_the_theme_is_chosen_and_kept(browser: Browser, gateway: Running) -> None:
    """The button goes round: as the system has it, light, dark; a reload keeps the choice."""
    async with watched(browser, gateway.url, color_scheme="light") as dashboard:
        page = await dashboard.open()
        grounds = []
        for _ in range(3):
            grounds.append(await page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
            await page.get_by_role("button", name="Theme").click()
        assert grounds[0] == grounds[1] == "rgb(245, 246, 249)"
        assert grounds[2] == "rgb(15, 18, 24)"
        await page.get_by_role("button", name="Theme: auto").click()
        await page.reload()
        await page.get_by_role("button", name="Theme: light").wait_for()
