"""What 100,000 made-up customers and prompt versions leave behind: series, memory, a scrape's time and size.

Run in the repository: `.venv/bin/python -m tests.bench.bench_flood [--requests 100000]`. A gateway of its own, in
front of a simulated engine, gets requests that differ in their headers only, so what grows is what labels cost. The
first 2,500 fill the labels in every combination.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator

import aiohttp

from tests.bench.bench_telemetry import cpu
from tests.soak.fleet import Soaked, soaked
from tests.telemetry.flood import names

CLIENTS = 16
BODY = b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":1}'
OPENMETRICS = "application/openmetrics-text;version=1.0.0"


async def send(http: aiohttp.ClientSession, numbers: Iterator[int]) -> None:
    """Requests, one after the other, until there are no numbers left."""
    for number in numbers:
        customer, version = names(number)
        headers = {"content-type": "application/json", "x-prefixgate-customer": customer}
        headers |= {"x-prefixgate-prompt-version": version, "x-prefixgate-route": f"route-{number}"}
        async with http.post("/v1/chat/completions", data=BODY, headers=headers) as response:
            assert response.status == 200, await response.text()
            await response.read()


async def report(http: aiohttp.ClientSession, gateway: Soaked, sent: int) -> None:
    """One line of figures."""
    for accept in ("text/plain", OPENMETRICS):
        started, busy = time.monotonic(), gateway.cpu_s()
        async with http.get("/metrics", headers={"accept": accept}) as response:
            page = await response.read()
        wall = time.monotonic() - started
        series = sum(not line.startswith(b"#") for line in page.splitlines())
        sys.stdout.write(
            f"{sent:>7,} requests: {gateway.resident_bytes() / 2**20:6.1f} MiB resident, {series:,} series, "
            f"{accept.partition(';')[0]} {len(page) / 1024:,.0f} KiB in {wall * 1e3:.0f} ms "
            f"({(gateway.cpu_s() - busy) * 1e3:.0f} of CPU)\n"
        )
    sys.stdout.flush()


async def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_flood", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    asked = parser.parse_args().requests
    sys.stdout.write(f"$ python -m tests.bench.bench_flood --requests {asked}   on {cpu()}\n")
    async with soaked(1) as gateway, aiohttp.ClientSession(gateway.url) as http:
        numbers, sent = iter(range(asked)), 0
        for share in (0.025, 0.1, 0.5, 1.0):
            until = round(asked * share)
            part = iter([next(numbers) for _ in range(until - sent)])
            await asyncio.gather(*(send(http, part) for _ in range(CLIENTS)))
            sent = until
            await report(http, gateway, sent)


if __name__ == "__main__":
    asyncio.run(main())
