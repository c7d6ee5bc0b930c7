"""Who may see the page, and what it says when there is nothing to see."""

import pytest
from playwright.async_api import Browser

from tests.dashboard.browser import watched
from tests.dashboard.live import live
from tests.gateway.running import chat, running

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

TOKEN = "an operator's token"


async def test_the_token_is_asked_for_once(browser: Browser) -> None:
    """A wrong one is refused in words; the right one opens every view, lives in the tab, and is forgotten at sign
    out. It is in no address and in no cookie."""
    async with live(admin_token=TOKEN) as gateway, watched(browser, gateway.url) as dashboard:
        page = await dashboard.open()
        field = page.get_by_label("Admin token")
        await field.fill("a guess")
        await page.keyboard.press("Enter")
        await page.get_by_role("alert").wait_for()
        assert "refused" in await page.get_by_role("alert").inner_text()
        await field.fill(TOKEN)
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="No traffic yet").wait_for()
        await page.wait_for_selector('#live[data-state="live"]')
        await dashboard.go("#/workers", "Workers")
        await page.reload()
        await page.locator("article").first.wait_for()
        assert "token" not in page.url
        assert await page.context.cookies() == []
        await page.get_by_role("button", name="Sign out").click()
        await field.wait_for()
        assert all("403" in complaint for complaint in dashboard.complaints)
        dashboard.complaints.clear()


async def test_an_idle_gateway_says_what_to_do(browser: Browser) -> None:
    """No traffic: how to send some; the first request replaces the lesson by itself. No engines: how to add one."""
    async with live() as gateway, watched(browser, gateway.url) as dashboard:
        page = await dashboard.open()
        await page.get_by_role("heading", name="No traffic yet").wait_for()
        assert f"{gateway.url}/v1/chat/completions" in await page.locator("pre").inner_text()
        await gateway.ask("/v1/chat/completions", chat(model="demo-8b", max_tokens=1))
        await page.get_by_role("heading", name="Hit rate", exact=True).wait_for(timeout=15_000)
    async with running() as gateway, watched(browser, gateway.url) as dashboard:
        page = await dashboard.open("#/workers")
        await page.get_by_role("heading", name="No engines yet").wait_for()


async def test_a_lost_connection_is_said_and_mended(browser: Browser) -> None:
    """When nothing comes any more the page says so and since when, keeps its numbers, and goes on by itself."""
    async with live() as gateway, watched(browser, gateway.url) as dashboard:
        await gateway.ask("/v1/chat/completions", chat(model="demo-8b", max_tokens=1))
        page = await dashboard.open()
        await page.wait_for_selector('#live[data-state="live"]')
        await page.wait_for_function("document.querySelector('#about').textContent !== ''")
        await page.context.set_offline(True)
        await page.evaluate("document.querySelector('#live').click()")
        await page.evaluate("document.querySelector('#live').click()")
        await page.wait_for_selector('#live[data-state="lost"]')
        assert "Connection lost" in await page.locator("#lost").inner_text()
        await page.context.set_offline(False)
        await page.wait_for_selector('#live[data-state="live"]')
        assert await page.locator("#lost").is_hidden()
        assert all("ERR_INTERNET_DISCONNECTED" in complaint for complaint in dashboard.complaints)
        dashboard.complaints.clear()


async def test_a_request_that_is_forgotten(browser: Browser) -> None:
    """An id that nobody knows is said, not thrown."""
    async with live() as gateway, watched(browser, gateway.url) as dashboard:
        page = await dashboard.open(f"#/requests/{'0' * 32}")
        assert "no recent request" in await page.locator("main").inner_text()
        assert all("404" in complaint for complaint in dashboard.complaints)
        dashboard.complaints.clear()
