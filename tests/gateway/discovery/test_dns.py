"""gateway.discovery.dns: one engine for each address of a name."""

import asyncio
import socket
from typing import Any

import pytest

from gateway.discovery.dns import DnsSource
from gateway.discovery.settings import dns_target
from prefix.errors import ConfigError
from tests.gateway.discovery.following import following
from tests.gateway.running import until


class Resolver:
    """Answers getaddrinfo of this loop with `addresses`; None: the name is not known."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.addresses: list[str] | None = []
        self.asked = 0
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", self._answer)

    async def _answer(self, host: str, port: int, **_: Any) -> list[Any]:
        self.asked += 1
        assert (host, port) == ("sglang.prod.svc", 30000)
        if self.addresses is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self.addresses]


async def test_addresses_come_and_go(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """In any order, twice, IPv6 too; a name that does not resolve changes nothing and is said once."""
    resolver = Resolver(monkeypatch)
    resolver.addresses = ["10.0.0.2", "10.0.0.1", "10.0.0.2"]
    async with following(DnsSource("dns://sglang.prod.svc:30000", 0.005)) as heard:
        await heard.says({"http://10.0.0.1:30000": True, "http://10.0.0.2:30000": True})
        resolver.addresses = ["10.0.0.1", "10.0.0.2"]
        asked = resolver.asked
        await until(lambda: resolver.asked > asked + 3)
        resolver.addresses = None
        asked = resolver.asked
        await until(lambda: resolver.asked > asked + 3)
        assert len(heard.told) == 1
        assert caplog.text.count("Name or service not known") == 1
        resolver.addresses = ["fd00::1"]
        await heard.says({"http://[fd00::1]:30000": True})


async def test_a_real_name() -> None:
    """The system's resolver is asked."""
    async with following(DnsSource("dns+https://localhost:1", 60)) as heard:
        assert "https://127.0.0.1:1" in await heard.next()


@pytest.mark.parametrize(
    "url", ["a:1", "dns://a", "dns://:1", "http://a:1", "dns://a:x", "dns://a:1/path", "dns://[::1"]
)
def test_what_is_no_target(url: str) -> None:
    """Said with how it must look."""
    with pytest.raises(ConfigError, match="dns://name:port"):
        dns_target(url)
