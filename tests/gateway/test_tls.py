"""gateway.tls: https to clients and to engines, and one line when it cannot be."""

import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from gateway.config import Config
from gateway.tls import check_tls, server_tls
from prefix.errors import ConfigError
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, chat, running
from tests.gateway.test_serve import serve

TLS = Path(__file__).parents[1] / "data" / "tls"
CERT, KEY = str(TLS / "cert.pem"), str(TLS / "key.pem")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"tls_cert": CERT}, "belong together"),
        ({"tls_key": KEY}, "belong together"),
        ({"tls_cert": CERT, "tls_key": "/no/such"}, "No such file"),
        ({"tls_cert": KEY, "tls_key": KEY}, "tls_cert"),
        ({"tls_cert": CERT, "tls_key": CERT}, "tls_key"),
        ({"engine_ca_file": "/no/such"}, "engine_ca_file /no/such: No such file"),
        ({"engine_ca_file": KEY}, "engine_ca_file"),
    ],
)
def test_what_cannot_be_used_is_said_at_start(settings: dict[str, Any], says: str) -> None:
    """One line with the setting and the reason."""
    with pytest.raises(ConfigError) as caught:
        check_tls(Config(**settings))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_it_nothing_is_set() -> None:
    """Plain HTTP by default."""
    assert server_tls(Config()) == {}


async def test_serving_https() -> None:
    """`--tls-cert` and `--tls-key`: clients that trust the certificate are served."""
    async with FakeEngine(whole(b"{}")) as engine:
        trusted = ssl.create_default_context(cafile=CERT)
        arguments = ("--engine", engine.url, "--tls-cert", CERT, "--tls-key", KEY)
        async with (
            serve(*arguments) as served,
            aiohttp.ClientSession(f"https://localhost:{served.port}") as http,
            http.get("/health", ssl=trusted) as response,
        ):
            assert await response.json() == {"status": "ok"}


async def test_https_engines_are_verified() -> None:
    """An engine whose certificate the CA file vouches for is used; without it, it is down and says why."""

    async def page(request: web.Request) -> web.Response:
        status, body = (await _pages())[request.path_qs]  # type: ignore[misc]
        return web.Response(status=status, body=body, content_type="application/json")

    async def _pages() -> dict[str, tuple[int, bytes] | None]:
        return FakeEngine(whole(b"{}")).pages | {CHAT: (200, b"{}")}

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERT, KEY)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    url = f"https://localhost:{runner.addresses[0][1]}"
    try:
        async with running(engines=(url,), engine_ca_file=CERT, wait=False) as gateway:
            await gateway.ready(1)
            assert (await gateway.ask(CHAT, chat()))[0] == 200
        async with running(engines=(url,), wait=False) as gateway:
            await gateway.app.health.first_look(timeout_s=5)
            (worker,) = gateway.workers
            assert not worker.ready
            assert "certificate verify failed" in (worker.last_error or "")
    finally:
        await runner.cleanup()
