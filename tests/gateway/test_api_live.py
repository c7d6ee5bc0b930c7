"""gateway.api_live: the gateway now, its last hour and its latencies, equal to what the other tables say."""

from tests.gateway.operators import RULES, asks, got, one_engine, sent


async def test_overview_and_history_equal_the_cache_table() -> None:
    """Requests, tokens and reasons are the same everywhere; the newest step is last."""
    async with one_engine() as gateway:
        before = await got(gateway, "/api/overview")
        for question in ("Which?", "What?", "Which?"):
            await sent(gateway, asks(RULES, question), x_prefixgate_prompt_version="v7")
        (row,) = (await got(gateway, "/api/cache?by="))["rows"]
        overview = await got(gateway, "/api/overview")
        fleet = await got(gateway, "/api/history")
        part = await got(gateway, "/api/history?prompt_version=v7&window_s=600")
        nobody = await got(gateway, "/api/history?customer=nobody&window_s=120")
        error = (await got(gateway, "/api/history?window_s=0", 400))["error"]
    assert before["totals"]["hit_rate"] is None
    assert overview["totals"].items() >= {name: row[name] for name in row if name in overview["totals"]}.items()
    assert overview["started"] <= overview["now"]
    assert overview["requests_per_s"] > 0
    assert (fleet["step_s"], len(fleet["points"])) == (10, 360)
    assert (part["step_s"], len(part["points"])) == (60, 10)
    for points in (fleet["points"], part["points"]):
        assert [point["at"] for point in points] == sorted(point["at"] for point in points)
        assert sum(point["input_tokens"] for point in points) == row["input_tokens"]
        assert sum(sum(point["uncached_by_reason"].values()) for point in points) == sum(
            row["uncached_by_reason"].values()
        )
    assert [point["requests"] for point in nobody["points"]] == [0, 0]
    assert error["param"] == "window_s"


async def test_latency_is_by_prompt_length() -> None:
    """A streamed answer has a TTFT in the row of its prompt's length; one that came whole has none."""
    async with one_engine() as gateway:
        await sent(gateway, asks(RULES, max_tokens=8, stream=True))
        await sent(gateway, asks("Hi"))
        rows = (await got(gateway, "/api/latency"))["rows"]
        other = (await got(gateway, "/api/latency?route=elsewhere"))["rows"]
        tokens = gateway.records[0].input_tokens or 0
    (streamed,) = (row for row in rows if row["prompt_tokens_from"] <= tokens < row["prompt_tokens_to"])
    assert streamed["requests"] == 1
    assert 0 < streamed["ttft_s"]["p50"] <= streamed["ttft_s"]["p99"]
    assert streamed["itl_s"]["p50"] > 0
    assert (rows[0]["requests"], rows[0]["ttft_s"], rows[-1]["prompt_tokens_to"]) == (1, None, None)
    assert sum(row["requests"] for row in other) == 0
