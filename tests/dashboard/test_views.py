"""What the page shows is what the API says: numbers, order, filters, drill-down, one request, what comes live."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from tests.dashboard.browser import Watched
from tests.dashboard.live import settled
from tests.gateway.running import Running, chat

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

REASONS = ("divergent", "evicted", "routed_away", "isolated", "stale", "new", "page")
AVOIDABLE = frozenset(REASONS[:5])

VERDICTS = {
    "worse": "is worse than",
    "better": "is better than",
    "same": "does as well as",
    "not enough data": "Too few requests yet",
}


async def api(gateway: Running, path: str) -> Any:
    """What the API answers."""
    async with gateway.http.get(path) as response:
        assert response.status == 200, path
        return await response.json()


def compact(value: float) -> str:
    """12345 as the page writes it: 12.3k."""
    for scale, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale * 0.9995:
            return _significant(value / scale) + letter
    return str(value) if isinstance(value, int) else _significant(value)


def _significant(value: float) -> str:
    digits = 0 if value >= 99.95 or not value else 1 if value >= 9.995 else 2
    text = f"{value:.{digits}f}"
    return text.split(".")[0] if set(text.partition(".")[2]) <= {"0"} else text


def percent(share: float | None, digits: int = 1) -> str:
    """A rate as the page writes it."""
    return "–" if share is None else f"{share * 100:.{digits}f} %"


async def column(page: Page, title: str) -> list[str]:
    """The texts of one column of the table, from top to bottom."""
    heads = [text.strip(" ▲▼") for text in await page.locator(".rows thead th").all_inner_texts()]
    number = heads.index(title) + 1
    return await page.locator(f".rows tbody tr > :nth-child({number})").all_inner_texts()


async def test_the_overview_counts_as_the_api_does(dashboard: Watched, gateway: Running) -> None:
    """Hit rate, cached tokens and each reason's tokens are the sums of /api/cache."""
    await settled(gateway)
    page = await dashboard.open()
    [row] = (await api(gateway, "/api/cache?by="))["rows"]
    figures = await page.locator(".figure .value").all_inner_texts()
    avoidable = sum(count for reason, count in row["uncached_by_reason"].items() if reason in AVOIDABLE)
    assert figures[:3] == [percent(row["hit_rate"]), compact(row["cached_tokens"]), compact(avoidable)]
    assert figures[4] == compact(row["requests"])
    tokens = await page.locator(".reasons .tokens").all_inner_texts()
    assert tokens[:7] == [compact(row["uncached_by_reason"].get(reason, 0)) for reason in REASONS]
    assert {"evicted", "isolated", "new", "page"} <= {key for key, n in row["uncached_by_reason"].items() if n}


@pytest.mark.parametrize(("by", "title"), [("route", "Route"), ("customer", "Customer")])
async def test_groups_are_rows_of_the_api(dashboard: Watched, gateway: Running, by: str, title: str) -> None:
    """Every group is there with its own hit rate and requests."""
    await settled(gateway)
    page = await dashboard.open(f"#/prompts?by={by}")
    rows = {row[by]: row for row in (await api(gateway, f"/api/cache?by={by}"))["rows"]}
    names = await column(page, title)
    assert sorted(names) == sorted(rows)
    assert await column(page, "Hit rate") == [percent(rows[name]["hit_rate"]) for name in names]
    assert await column(page, "Requests") == [compact(rows[name]["requests"]) for name in names]
    await page.wait_for_function("document.querySelectorAll('.rows svg.spark').length > 0")


async def test_versions_sort_and_filter(dashboard: Watched, gateway: Running) -> None:
    """A click on a head sorts by it, another turns it round; words narrow the rows; the address keeps both."""
    await settled(gateway)
    page = await dashboard.open("#/prompts")
    rows = (await api(gateway, "/api/prompts"))["rows"]
    rates = sorted(row["hit_rate"] for row in rows)
    for wanted in (rates, rates[::-1]):
        await page.get_by_role("button", name="Hit rate").click()
        assert await column(page, "Hit rate") == [percent(rate) for rate in wanted]
    assert await page.get_by_role("columnheader", name="Hit rate").get_attribute("aria-sort") == "descending"
    await page.get_by_role("searchbox").fill("no version is called this")
    assert await page.get_by_text("Nothing matches.").is_visible()
    await page.get_by_role("searchbox").fill("SUPPORT v2")
    assert await column(page, "Prompt version") == ["support-v2"]
    assert "filter=SUPPORT+v2" in page.url
    assert "sort=hit.desc" in page.url
    await page.reload()
    await page.wait_for_selector(".rows tbody tr")
    assert await column(page, "Prompt version") == ["support-v2"]


async def test_drill_down_to_one_request(dashboard: Watched, gateway: Running) -> None:
    """From a route to its versions, to the worst cause of one, to a request that shows it, in sentences."""
    page = await dashboard.open("#/prompts?by=route")
    await page.get_by_role("link", name="support", exact=True).click()
    await page.get_by_role("link", name="support-v2").click()
    await page.get_by_role("heading", name="support-v2").wait_for()
    cause = page.locator(".causes > li").first
    assert "clock in /messages/0/content" in await cause.locator("h3").inner_text()
    shown = await api(gateway, "/api/prompts/support/support-v2")
    worst = shown["causes"][0]
    assert f"{compact(worst['tokens'])} tokens" in await cause.inner_text()
    assert await cause.locator(".values code").all_inner_texts() == worst["values"]
    await cause.get_by_role("link").click()
    await page.get_by_role("heading", name="Why this request missed").wait_for()
    one = await api(gateway, f"/api/requests/{page.url.rpartition('/')[2]}")
    story = await page.locator(".story").inner_text()
    assert f"Of {one['input_tokens']:,} prompt tokens, {one['cached_tokens']:,}" in story
    for count in one["uncached_by_reason"].values():
        assert f"{count:,} token" in story
    assert one["divergent"]["advice"] in await page.locator("main").inner_text()


async def test_a_version_is_compared_with_the_one_before(dashboard: Watched, gateway: Running) -> None:
    """The verdict in words, what the two share, and both hit rates where there are enough requests to compare."""
    await settled(gateway)
    compared = (await api(gateway, "/api/prompts/support/support-v2"))["comparison"]
    assert compared["predecessor"] == "support-v1"
    page = await dashboard.open("#/prompts/support/support-v2")
    words = await page.locator("section", has_text="Against the version before").inner_text()
    assert VERDICTS[compared["verdict"]] in words
    shared = compared["shared_prefix_tokens"]
    assert (f"share their first {compact(shared)} tokens" if shared else "share nothing") in words
    for side in ("before", "after"):
        assert percent(compared["hit_rate"] and compared["hit_rate"][side]) in words
        assert f"{compared['requests'][side]:,}" in words


async def test_workers_say_what_was_expected(dashboard: Watched, gateway: Running) -> None:
    """One card a worker, with what was expected and what came."""
    await settled(gateway)
    page = await dashboard.open("#/workers")
    for worker in (await api(gateway, "/workers"))["workers"]:
        card = await page.locator("article", has_text=worker["id"]).first.inner_text()
        assert f"{compact(worker['expected_cached_tokens'])} tokens" in card
        assert f"{compact(worker['cached_tokens'])} tokens" in card


async def test_latency_is_that_of_the_api(dashboard: Watched, gateway: Running) -> None:
    """The lengths that prompts had, with their counts."""
    await settled(gateway)
    page = await dashboard.open("#/latency")
    rows = [row for row in (await api(gateway, "/api/latency"))["rows"] if row["requests"]]
    shown = await page.locator(".latency").first.locator("tbody tr").all_inner_texts()
    counts = [int(text.split("\t")[1].replace(",", "")) for text in shown]
    assert [count for count in counts if count] == [row["requests"] for row in rows]


async def test_the_tree_is_walked_with_arrows(dashboard: Watched, gateway: Running) -> None:
    """Every shared beginning is a box; arrows go down and up, and what has the focus is described."""
    await settled(gateway)
    page = await dashboard.open("#/tree?route=support")
    nodes = (await api(gateway, "/api/tree?route=support"))["nodes"]
    boxes = page.get_by_role("treeitem")
    assert await boxes.count() == sum(node["requests"] > 1 for node in nodes) > 1
    await page.locator('[role="treeitem"][tabindex="0"]').focus()
    first = await page.evaluate("document.activeElement.dataset.id")
    await page.keyboard.press("ArrowDown")
    focused = await page.evaluate("({...document.activeElement.dataset})")
    assert focused["parent"] == first
    [node] = [each for each in nodes if str(each["id"]) == focused["id"]]
    assert f"{compact(node['requests'])} (" in await page.locator(".about").inner_text()
    await page.keyboard.press("ArrowUp")
    assert await page.evaluate("document.activeElement.dataset.id") == first


async def test_new_numbers_come_without_moving_the_focus(dashboard: Watched, gateway: Running) -> None:
    """A request that ends shows up by itself; what has the focus keeps it, and rows do not jump."""
    page = await dashboard.open("#/")
    total = page.locator(".figure .value").nth(4)
    before = await total.inner_text()
    await page.get_by_role("button", name="30 min").focus()
    await gateway.ask("/v1/chat/completions", chat("Something new", model="demo-8b", max_tokens=1))
    await page.wait_for_function(
        "before => document.querySelectorAll('.figure .value')[4].textContent !== before", arg=before, timeout=15_000
    )
    assert await page.evaluate("document.activeElement.textContent") == "30 min"
    await dashboard.go("#/requests", "Requests")
    first = (await column(page, "Time"))[0]
    await gateway.ask("/v1/chat/completions", chat("Newer still", model="demo-8b", max_tokens=1))
    more = page.get_by_role("button", name="newer request")
    await more.wait_for(timeout=15_000)
    assert (await column(page, "Time"))[0] == first
    rows = (await api(gateway, "/api/requests?limit=1"))["rows"]
    await more.click()
    assert await page.locator(".rows tbody a").first.get_attribute("href") == f"#/requests/{rows[0]['request_id']}"


async def test_requests_filter_by_reason(dashboard: Watched, gateway: Running) -> None:
    """Only requests with tokens of that reason are left, and the address says so."""
    page = await dashboard.open("#/requests")
    await page.get_by_label("Reason").focus()
    await page.get_by_label("Reason").select_option("isolated")
    await page.wait_for_function("location.hash.includes('reason=isolated')")
    await page.wait_for_function("document.querySelectorAll('.rows tbody tr').length > 0")
    rows = (await api(gateway, "/api/requests?limit=200&reason=isolated"))["rows"]
    assert rows
    await page.wait_for_function(
        "n => document.querySelectorAll('.rows tbody tr').length === n", arg=min(50, len(rows))
    )
    links = await page.locator(".rows tbody a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert await page.evaluate("document.activeElement.id") == "choose-Reason"
    newest = sorted(rows, key=lambda row: row["started"], reverse=True)[:50]
    assert links == [f"#/requests/{row['request_id']}" for row in newest]


@pytest.mark.parametrize("form", ["csv", "json"])
async def test_export(dashboard: Watched, gateway: Running, tmp_path: Path, form: str) -> None:
    """What is saved is what the API says."""
    await settled(gateway)
    page = await dashboard.open("#/prompts?by=customer")
    async with page.expect_download() as coming:
        await page.get_by_role("button", name=f"Save by-customer as {form.upper()}").click()
    saved = await coming.value
    assert saved.suggested_filename == f"by-customer.{form}"
    path = tmp_path / "saved"
    await saved.save_as(path)
    text = path.read_text()
    rows = json.loads(text)["rows"] if form == "json" else list(csv.DictReader(io.StringIO(text)))
    wanted = (await api(gateway, "/api/cache?by=customer"))["rows"]
    assert [(row["customer"], int(row["cached_tokens"])) for row in rows] == [
        (row["customer"], row["cached_tokens"]) for row in wanted
    ]


async def test_the_keyboard_reaches_everything(dashboard: Watched) -> None:
    """Tab: skip link, then the views. Arrows walk a table's rows, Enter opens one, and its heading gets the focus."""
    page = await dashboard.open("#/prompts")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.textContent") == "Skip to content"
    await page.keyboard.press("Enter")
    assert await page.evaluate("document.activeElement.id") == "main"
    await page.locator(".rows tbody a").first.focus()
    second = await page.locator(".rows tbody a").nth(1).inner_text()
    await page.keyboard.press("ArrowDown")
    assert await page.evaluate("document.activeElement.textContent") == second
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", level=1, name=second).wait_for()
    assert await page.evaluate("document.activeElement.tagName") == "H1"


async def test_charts_are_read_with_arrows(dashboard: Watched) -> None:
    """The crosshair follows the keys, and says what it stands on; the same numbers are there as a table."""
    page = await dashboard.open("#/")
    chart = page.get_by_role("group", name="Hit rate over time")
    await chart.focus()
    await page.keyboard.press("End")
    assert "hit rate" in await chart.locator(".readout").inner_text()
    await page.get_by_text("Show as a table").first.click()
    heads = await page.locator(".as-table[open] th[scope=col]").all_inner_texts()
    assert heads[:3] == ["Time", "Hit rate", "Expected"]
    assert await page.locator(".as-table[open] tbody tr").count() > 0
