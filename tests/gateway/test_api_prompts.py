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


async def test_one_version_says_why_its_prompts_miss() -> None:
    """The clock, where it stands, what it costs a day, an example; values redacted; the tokens add up."""
    async with one_engine() as gateway:
        for second in range(3):
            system = f"You help. It is 2026-11-30T09:15:2{second}Z. {RULES}"
            last = await sent(gateway, asks(system), x_prefixgate_prompt_version="clock/v2")
        found = await got(gateway, "/api/prompts/default/clock/v2")
        (row,) = (await got(gateway, "/api/prompts"))["rows"]
        missing = (await got(gateway, "/api/prompts/default/v9", 404))["error"]
    (cause,) = found["causes"]
    assert cause["cause"] == last["divergent"]["cause"]
    assert (cause["kind"], cause["pointer"], cause["requests"]) == ("clock", "/messages/0/content", 2)
    assert cause["offset"] <= cause["offset_end"]
    assert cause["tokens"] == found["recoverable_tokens"] == row["recoverable_tokens"] > 0
    assert cause["tokens_per_day"] > cause["tokens"]
    assert cause["request_id"] == last["request_id"]
    assert all(value.endswith(" characters") for value in cause["values"])
    assert cause["advice"]
    assert found["comparison"] is found["predecessor"] is found["regression"] is None
    assert found.items() >= {name: row[name] for name in ("requests", "hit_rate", "ttft_s", "declared")}.items()
    assert missing["code"] == "prompt_not_found"


async def test_a_new_version_is_compared_with_the_one_before() -> None:
    """What they share of their openings; after a few requests there is not enough data, and that is said."""
    async with one_engine() as gateway:
        await sent(gateway, asks(RULES), x_prefixgate_prompt_version="v1")
        await sent(gateway, asks(RULES + "Be brief."), x_prefixgate_prompt_version="v2")
        found = await got(gateway, "/api/prompts/default/v2")
        rows = (await got(gateway, "/api/prompts"))["rows"]
    comparison = found["comparison"]
    assert comparison["predecessor"] == found["predecessor"] == rows[1]["predecessor"] == "v1"
    assert comparison["shared_prefix_share"] > 0.9
    assert comparison["shared_prefix_tokens"] > 100
    assert (comparison["hit_rate"], comparison["ttft_s"], comparison["verdict"]) == (None, None, "not enough data")
    assert comparison["requests"] == {"before": 1, "after": 1}
    assert rows[1]["regression"] == {"verdict": "not enough data", "hit_rate_change": None, "p_value": None}
