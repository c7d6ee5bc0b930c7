"""The built-in page, `/dashboard`: static files of `telemetry/page`, no CDN, no build step, works offline.

One idea: the files hold no data. They are the same bytes in every installation, and what they show they ask of the
guarded API. So with an admin token configured the assets are open, as a browser cannot send a token before there is
a page that asks for it, and `/dashboard` answers a browser without token with 403 and that page. Without a token both
are for this machine only, like the rest of the admin surface.

The policy allows this page's own scripts and styles and requests to this very origin, nothing inline, no frame around
it. Files are revalidated by ETag each time: a new version of the gateway shows its own page at once.
"""

import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import APIRouter, Request, Response

import telemetry
from gateway.admin import AdminGuard
from gateway.errors import Refusal

PAGE: Final = Path(telemetry.__file__).parent / "page"
INDEX: Final = "index.html"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Asset(NamedTuple):
    """One file of the page. etag: of its bytes."""

    body: bytes
    content_type: str
    etag: str

    def response(self, request: Request, status: int = 200) -> Response:
        """The file, or 304 to who has it already."""
        headers = {**_HEADERS, "etag": self.etag}
        if status == 200 and self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self.body, status, headers, self.content_type)


def load_assets(folder: Path = PAGE) -> dict[str, Asset]:
    """Every file of the page by its path in the folder, `/` between the parts."""
    files = (path for path in folder.rglob("*") if path.suffix in _TYPES)
    return {path.relative_to(folder).as_posix(): _asset(path) for path in files}


def dashboard_routes(guard: AdminGuard) -> APIRouter:
    """`/dashboard` and `/dashboard/assets/…`."""
    routes = APIRouter(include_in_schema=False)
    assets = load_assets()

    @routes.get("/dashboard")
    async def page(request: Request) -> Response:
        """The page; with status 403 to a browser that has yet to be asked for the token."""
        try:
            guard(request)
        except Refusal as refusal:
            if not guard.wants_token or "text/html" not in request.headers.get("accept", ""):
                raise
            return assets[INDEX].response(request, refusal.kind.status)
        return assets[INDEX].response(request)

    @routes.get("/dashboard/assets/{name:path}")
    async def asset(request: Request, name: str) -> Response:
        """A script, a style sheet or the icon."""
        if not guard.wants_token:
            guard(request)
        if name not in assets:
            raise Refusal("not_found", f"the page has no file {name[:64]!r}")
        return assets[name].response(request)

    return routes


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(body, _TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
