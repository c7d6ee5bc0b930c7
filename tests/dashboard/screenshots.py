"""Pictures of every view for the docs: `python -m tests.dashboard.screenshots`, from a live gateway.

The traffic is the demo's with faults planted (tests.dashboard.live), served by simulated engines; the page's clock
runs thirty times as fast, so that two minutes fill the hour that its charts show.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from playwright.async_api import Browser

from gateway.demo.load import replay
from tests.dashboard.browser import chromium, watched
from tests.dashboard.live import live, traffic
from tests.dashboard.pictures import smaller
from tests.gateway.running import Running

FOLDER = Path(__file__).parents[2] / "docs" / "images"
VIEWS = {
    "overview": "#/",
    "prompts": "#/prompts",
    "prompt": "#/prompts/support/support-v2",
    "latency": "#/latency",
    "workers": "#/workers",
    "tree": "#/tree?route=code",
    "requests": "#/requests",
}
REQUESTS, SECONDS, LAPSE = 700, 110.0, 30.0
MOST_BYTES = 150_000
_TALLEST = 1500
_SETTLED_MS = 1500


async def main() -> None:
    """Serve the traffic, then take every view in both schemes."""
    since_s = SECONDS * (LAPSE - 1)
    async with (
        live(count=REQUESTS, seconds=SECONDS, lapse=LAPSE, since_s=since_s) as gateway,
        chromium() as browser,
        more(gateway),
    ):
        async with gateway.http.get("/api/requests?reason=divergent&limit=1") as response:
            [row] = (await response.json())["rows"]
        views = {**VIEWS, "request": f"#/requests/{row['request_id']}"}
        for scheme in ("light", "dark"):
            await _take(browser, gateway.url, scheme, views)


@asynccontextmanager
async def more(gateway: Running) -> AsyncIterator[None]:
    """Further traffic meanwhile, so that something moves; what it is does not matter."""
    going = asyncio.ensure_future(replay(traffic(REQUESTS, SECONDS), gateway.url, lambda _: None))
    try:
        yield
    finally:
        going.cancel()
        with suppress(asyncio.CancelledError):
            await going


async def _take(browser: Browser, url: str, scheme: str, views: dict[str, str]) -> None:
    async with watched(browser, url, color_scheme=scheme) as dashboard:
        for name, address in views.items():
            page = await dashboard.open(address)
            await page.reload()
            await page.wait_for_timeout(_SETTLED_MS)
            height = await page.evaluate("document.documentElement.scrollHeight")
            path = FOLDER / f"{name}-{scheme}.png"
            clip = {"x": 0, "y": 0, "width": 1200, "height": min(height, _TALLEST)}
            picture = await smaller(browser, await page.screenshot(full_page=True, clip=clip))
            assert len(picture) <= MOST_BYTES, f"{path} is too large for the docs: {len(picture):,} bytes"
            path.write_bytes(picture)
            sys.stdout.write(f"{path.name}: {len(picture):,} bytes\n")


if __name__ == "__main__":
    asyncio.run(main())
