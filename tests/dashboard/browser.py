"""Chromium with fresh user data, and pages that remember what went wrong in them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Page, Request, async_playwright

CHROMIUM: Final = "/usr/bin/chromium"
_QUIET: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)
WIDE: Final = {"width": 1200, "height": 900}


@dataclass
class Watched:
    """A page on a gateway. complaints: errors of its console and scripts, and requests to anywhere else."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        self.page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        where = urlsplit(request.url)
        if where.scheme not in ("blob", "data") and f"{where.scheme}://{where.netloc}" != self.url:
            self.complaints.append(f"asked elsewhere: {request.url}")

    async def open(self, address: str = "#/") -> Page:
        """The view at this address, drawn."""
        await self.page.goto(f"{self.url}/dashboard{address}")
        await self.page.wait_for_selector("main h1")
        return self.page

    async def go(self, address: str, title: str) -> Page:
        """Another view of the page that is open, drawn."""
        await self.page.evaluate("to => { location.hash = to }", address)
        await self.page.wait_for_function("title => document.querySelector('h1')?.textContent === title", arg=title)
        return self.page


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser. Fails, and says what to do, where there is none: a page that nobody looked at is not tested."""
    if not Path(CHROMIUM).exists():
        raise AssertionError(f"{CHROMIUM} is not there: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(_QUIET))
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def watched(browser: Browser, url: str, **context: Any) -> AsyncIterator[Watched]:
    """A page in a context of its own (no storage shared); fails at its end when something went wrong in it."""
    about = await browser.new_context(**{"viewport": WIDE, **context})
    try:
        page = Watched(await about.new_page(), url)
        yield page
        assert page.complaints == []
    finally:
        await about.close()
