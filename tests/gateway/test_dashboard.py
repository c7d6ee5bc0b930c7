"""gateway.dashboard: the page's files, to whom they are served, and with which headers."""

import re

from gateway.dashboard import INDEX, PAGE, load_assets
from tests.gateway.running import error_of, running

TOKEN = "secret"
HTML = {"accept": "text/html,*/*"}


async def test_the_page_and_its_files() -> None:
    """The page, and every file that it names, with types that browsers accept as scripts and styles."""
    async with running() as gateway:
        async with gateway.http.get("/dashboard") as response:
            page = await response.text()
            assert response.status == 200
            assert response.content_type == "text/html"
        named = re.findall(r'(?:href|src)="(dashboard/assets/[^"]+)"', page)
        assert len(named) >= 5
        for path in named:
            async with gateway.http.get(f"/{path}") as response:
                assert response.status == 200
                assert response.content_type in ("text/css", "text/javascript", "image/svg+xml")
                assert response.headers["x-content-type-options"] == "nosniff"


async def test_nothing_inline_and_nobody_else() -> None:
    """The policy lets this origin's own files run and no other; the page has nothing that it would stop."""
    async with running() as gateway, gateway.http.get("/dashboard") as response:
        policy = response.headers["content-security-policy"]
        page = await response.text()
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=|https?://", page)


async def test_unchanged_files_are_not_sent_again() -> None:
    """304 to who has the file; other bytes would have another tag."""
    async with running() as gateway:
        async with gateway.http.get("/dashboard/assets/app.js") as response:
            tag = response.headers["etag"]
            assert response.headers["cache-control"] == "no-cache"
        async with gateway.http.get("/dashboard/assets/app.js", headers={"if-none-match": tag}) as response:
            assert response.status == 304
            assert await response.read() == b""
    assert len({asset.etag for asset in load_assets().values()}) == len(load_assets())


async def test_other_names_are_not_files() -> None:
    """Only the page's own files: nothing above its folder, no Python."""
    async with running() as gateway:
        for name in ("nothing.js", "%2e%2e/catalog.py", "..%2f..%2fpyproject.toml", "views"):
            async with gateway.http.get(f"/dashboard/assets/{name}") as response:
                assert response.status == 404, name


async def test_without_a_token_for_this_machine_only() -> None:
    """A request through a proxy gets neither the page nor its files."""
    async with running() as gateway:
        for path in ("/dashboard", "/dashboard/assets/app.js"):
            async with gateway.http.get(path, headers={**HTML, "via": "1.1 proxy"}) as response:
                assert response.status == 403
                assert error_of(await response.read())["code"] == "admin_refused"


async def test_with_a_token_a_browser_gets_the_page_that_asks_for_it() -> None:
    """As 403, as it has not been given yet; who is no browser gets the error, who sends the token 200."""
    index = (PAGE / INDEX).read_bytes()
    async with running(admin_token=TOKEN) as gateway:
        async with gateway.http.get("/dashboard", headers=HTML) as response:
            assert (response.status, await response.read()) == (403, index)
        async with gateway.http.get("/dashboard") as response:
            assert response.status == 403
            assert error_of(await response.read())["code"] == "admin_refused"
        async with gateway.http.get("/dashboard", headers={"authorization": f"Bearer {TOKEN}"}) as response:
            assert (response.status, await response.read()) == (200, index)
        async with gateway.http.get("/dashboard/assets/app.js") as response:
            assert response.status == 200
        async with gateway.http.get("/api/cache", headers=HTML) as response:
            assert response.status == 403
