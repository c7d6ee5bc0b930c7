"""gateway.api_requests: operators see the last requests and why one missed, and no text of any prompt."""

import msgspec

from gateway.config import RouteConfig
from tests.gateway.operators import RULES, asks, got, one_engine, sent


async def test_a_clock_is_found_and_its_values_are_not_shown() -> None:
    """The tokens behind a clock are `divergent`, with cause and place as the dashboard says them."""
    async with one_engine() as gateway:
        first = await sent(gateway, asks(f"You help. It is 2026-11-30T09:14:07Z. {RULES}"))
        second = await sent(gateway, asks(f"You help. It is 2026-11-30T09:15:29Z. {RULES}"))
    assert set(first["uncached_by_reason"]) == {"page", "new"}
    assert first["divergent"] is None
    why = second["divergent"]
    assert why["cause"] == f"clock in /messages/0/content at {why['offset']}"
    assert (why["kind"], why["pointer"]) == ("clock", "/messages/0/content")
    assert 16 <= why["offset"] <= 32
    assert why["recoverable_tokens"] > 0.9 * second["input_tokens"]
    assert second["uncached_by_reason"]["divergent"] > 0.9 * second["input_tokens"]
    assert all(value.endswith(" characters") for value in why["values"])
    assert "2026" not in msgspec.json.encode(second).decode()
    assert why["advice"]


async def test_two_routes_may_name_their_versions_alike() -> None:
    """What came on another route under the same declared version is not what a prompt was made like."""
    routes = {"support": RouteConfig(), "search": RouteConfig()}
    async with one_engine(routes=routes) as gateway:
        for second in range(6):
            clock = f"You help. It is 2026-11-30T09:14:{second:02}Z. {RULES}"
            why = await sent(gateway, asks(clock), x_prefixgate_route="support", x_prefixgate_prompt_version="v2")
            other = asks(f"Search number {second}. " + "Quote the passage that answers. " * 60)
            await sent(gateway, other, x_prefixgate_route="search", x_prefixgate_prompt_version="v2")
    assert why["divergent"]["kind"] == "clock"
    assert why["uncached_by_reason"]["divergent"] > 0.9 * why["input_tokens"]


async def test_a_request_nobody_remembers_is_a_404() -> None:
    """Also one with an odd id; the id is what the response's header said."""
    async with one_engine() as gateway:
        error = (await got(gateway, "/api/requests/" + "0" * 32, 404))["error"]
    assert error["code"] == "request_not_found"


async def test_the_last_requests_are_listed_newest_first() -> None:
    """At most as many as asked for, and only those of the route, version, worker and reason that are asked for."""
    async with one_engine() as gateway:
        for version, system in (("a", RULES), ("b", RULES), ("b", "Other. " + RULES)):
            await sent(gateway, asks(system), x_prefixgate_prompt_version=version)
        everything = (await got(gateway, "/api/requests"))["rows"]
        newest = (await got(gateway, "/api/requests?limit=1"))["rows"]
        some = (await got(gateway, "/api/requests?prompt_version=b"))["rows"]
        repeats = (await got(gateway, "/api/requests?reason=new&prompt_version=b&customer=anonymous"))["rows"]
        nowhere = (await got(gateway, "/api/requests?worker=w9"))["rows"]
        errors = [await got(gateway, f"/api/requests?{query}", 400) for query in ("limit=0", "reason=bad_luck")]
    assert [row["request_id"] for row in everything] == [record.request_id for record in reversed(gateway.records)]
    assert newest == everything[:1]
    assert some == everything[:2]
    assert [row["prompt_version"] for row in repeats] == ["b"]
    assert nowhere == []
    assert [error["error"]["param"] for error in errors] == ["limit", "reason"]
