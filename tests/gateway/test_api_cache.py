"""gateway.api_cache: operators see where tokens go."""

import csv

from tests.gateway.operators import RULES, asks, got, one_engine, sent
from tests.gateway.running import Running, sums


async def test_the_reasons_of_every_request_add_up() -> None:
    """Exactly to its uncached tokens: in the record, in `/api/cache`, in the metric; an exact repeat is `page`."""
    async with one_engine(page=64) as gateway:
        for body in (asks(RULES), asks(RULES, "What?"), asks(RULES), asks("Else. " + RULES), asks("Hi")):
            await sent(gateway, body, x_prefixgate_prompt_version="v7")
        repeat = gateway.records[2]
        assert repeat.uncached_by_reason == {"page": (repeat.input_tokens or 0) - (repeat.cached_tokens or 0)}
        for record in gateway.records:
            uncached = (record.input_tokens or 0) - (record.cached_tokens or 0)
            assert sum((record.uncached_by_reason or {}).values()) == uncached
        (row,) = (await got(gateway, "/api/cache"))["rows"]
        metrics = await gateway.metrics()
    assert (row["route"], row["customer"], row["prompt_version"], row["requests"]) == (
        "default",
        "anonymous",
        "v7",
        5,
    )
    assert row["hit_rate"] == row["cached_tokens"] / row["input_tokens"]
    assert sum(row["uncached_by_reason"].values()) == row["input_tokens"] - row["cached_tokens"]
    counted = {
        reason: sums(metrics, "prefixgate_uncached_tokens_total", reason=reason)
        for reason in row["uncached_by_reason"]
    }
    assert counted == row["uncached_by_reason"]


async def test_cache_rows_group_as_asked() -> None:
    """`by` names the dimensions, the others are null; nothing known has no hit rate; another dimension is a 400."""
    async with one_engine() as gateway:
        assert await got(gateway, "/api/cache?by=route") == {"rows": []}
        for version in ("a", "b", "b"):
            await sent(gateway, asks(RULES), x_prefixgate_prompt_version=version)
        by_version = (await got(gateway, "/api/cache?by=prompt_version"))["rows"]
        (total,) = (await got(gateway, "/api/cache?by="))["rows"]
        error = (await got(gateway, "/api/cache?by=worker", 400))["error"]
    assert [(row["prompt_version"], row["requests"], row["route"]) for row in by_version] == [
        ("a", 1, None),
        ("b", 2, None),
    ]
    assert total["input_tokens"] == sum(row["input_tokens"] for row in by_version)
    assert (error["code"], error["param"]) == ("invalid_query", "by")


async def test_a_table_can_be_had_as_csv() -> None:
    """The same rows, one column a field and one a reason, as a file; without requests only the head."""
    async with one_engine() as gateway:
        empty = await csv_rows(gateway, "/api/cache?format=csv")
        await sent(gateway, asks(RULES))
        (row,) = (await got(gateway, "/api/cache"))["rows"]
        head, cells = await csv_rows(gateway, "/api/cache?format=csv")
        error = (await got(gateway, "/api/cache?format=xml", 400))["error"]
    assert empty == [list(row)]
    table = dict(zip(head, cells, strict=True))
    assert int(table["input_tokens"]) == row["input_tokens"]
    assert {reason: int(table[f"uncached_{reason}"]) for reason in row["uncached_by_reason"]} == row[
        "uncached_by_reason"
    ]
    assert (error["code"], error["param"]) == ("invalid_query", "format")


async def csv_rows(gateway: Running, path: str) -> list[list[str]]:
    """The rows of a CSV file, its head first."""
    async with gateway.http.get(path) as response:
        assert response.status == 200
        assert response.content_type == "text/csv"
        assert response.headers["content-disposition"] == 'attachment; filename="prefixgate-cache.csv"'
        return list(csv.reader((await response.text()).splitlines()))
