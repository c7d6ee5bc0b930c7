"""gateway.api_prompts: each prompt version of each route, adding up to all requests."""

from tests.gateway.operators import RULES, asks, got, one_engine, sent


async def test_versions_add_up_to_the_cache_table() -> None:
    """One row a version, the automatic one that is no label yet under `other`; with times, sparkline and losses."""
    async with one_engine() as gateway:
        await sent(gateway, asks("It is 2026-11-30T09:14:07Z. " + RULES), x_prefixgate_prompt_version="clock")
        await sent(gateway, asks("It is 2026-11-30T09:15:29Z. " + RULES), x_prefixgate_prompt_version="clock")
        await sent(gateway, asks(RULES))
        (total,) = (await got(gateway, "/api/cache?by="))["rows"]
        clock, other = (await got(gateway, "/api/prompts"))["rows"]
        nothing = (await got(gateway, "/api/prompts?route=elsewhere"))["rows"]
    assert (clock["prompt_version"], clock["declared"], clock["requests"]) == ("clock", True, 2)
    assert (other["prompt_version"], other["declared"], other["requests"]) == ("other", False, 1)
    assert clock["input_tokens"] + other["input_tokens"] == total["input_tokens"]
    assert clock["recoverable_tokens"] == clock["uncached_by_reason"]["divergent"] > 0
    assert clock["recoverable_tokens_per_day"] > clock["recoverable_tokens"]
    assert clock["first_seen"] < clock["last_seen"]
    assert len(clock["sparkline"]) == 30
    assert {rate for rate in clock["sparkline"] if rate is not None} <= {0.0, clock["hit_rate"]}
    assert nothing == []
