"""lint.traffic.pricing, .replay and .facts: what causes are worth, replayed, and what is said when they cannot be."""

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lint.costing import Costing, parse_price
from lint.examples import HANDBOOK, QUESTIONS, chat
from lint.linter import lint_paths
from lint.registry import rules
from lint.settings import Settings
from lint.sources.traffic import price, read
from lint.traffic.engine import Traffic
from prefix.divergence import view_bytes
from prefix.errors import ConfigError

COUNT = 40
PLAIN = Costing()
LONG = HANDBOOK * 3
OTHER = "".join(f"Clause {at}: the tenant of flat {at * 3} waters the plants on the stairs.\n" for at in range(24))


def clocks(count: int = COUNT, **beside: Any) -> list[dict[str, Any]]:
    return [
        {**chat(f"Now: 2026-03-01T10:{at // 60:02}:{at % 60:02}Z\n{LONG}", QUESTIONS[at % 4]), **beside}
        for at in range(count)
    ]


def traffic(bodies: Sequence[dict[str, Any]], costing: Costing = PLAIN, file: io.BytesIO | None = None) -> Traffic:
    raw = b"".join(json.dumps(body).encode() + b"\n" for body in bodies)
    file = file or io.BytesIO(raw)
    file.write(raw)
    file.seek(0)
    document = next(read("log.jsonl", file))
    priced = price(document, file, costing)
    assert isinstance(priced, Traffic)
    return priced


def test_before_and_after() -> None:
    """Of 40 prompts only the first is computed once the clock is moved, and of the others the last few tokens."""
    result = traffic(clocks(), Costing(price=(2.0, 0.5), prefill_speed=1000))
    (loss,) = result.losses
    cost, summary = loss.cost, result.summary
    assert cost is not None
    assert summary is not None
    assert cost.hit_rate_before is not None
    assert cost.hit_rate_before < 0.1
    assert cost.hit_rate_after is not None
    assert 0.93 < cost.hit_rate_after < (COUNT - 1) / COUNT
    assert cost.hit_rate_after == cost.hit_rate_all == pytest.approx(summary.hit_rate_after, abs=1e-4)
    assert cost.tokens is not None
    assert cost.tokens == pytest.approx((cost.tokens_per_request or 0) * 1000)
    assert (cost.per, cost.reason) == ("1,000 requests", None)
    assert cost.money == pytest.approx(cost.tokens * 1.5 / 1e6, rel=1e-3)
    assert cost.gpu_seconds == pytest.approx(cost.tokens / 1000, rel=1e-3)
    assert (summary.causes, summary.unmended, summary.reported_hit_rate) == ((1, 1), (), None)


def test_a_day_at_the_rate_of_the_log() -> None:
    """40 requests in 39 minutes, of which the tokens and the cached ones are reported."""
    bodies = [
        {**body, "timestamp": 1_772_000_000 + 60 * at, "usage": usage(len(view_bytes(body)) // 5)}
        for at, body in enumerate(clocks())
    ]
    result = traffic(bodies)
    plain = traffic(clocks())
    (loss,) = result.losses
    assert loss.cost is not None
    assert plain.losses[0].cost is not None
    assert loss.cost.per == "day"
    per_request = loss.cost.tokens_per_request or 0
    assert loss.cost.tokens == pytest.approx(per_request * COUNT * 24 * 60 / 39, rel=0.01)
    assert per_request == pytest.approx((plain.losses[0].cost.tokens_per_request or 0) * 4 / 5, rel=0.1)
    assert result.summary is not None
    assert result.summary.reported_hit_rate == pytest.approx(0.25, abs=0.01)
    assert "5.0" in result.summary.assumed
    assert "0.65 hours" in result.summary.assumed


def usage(tokens: int) -> dict[str, Any]:
    return {"prompt_tokens": tokens, "prompt_tokens_details": {"cached_tokens": tokens // 4}}


def test_a_cache_that_is_too_small() -> None:
    """Mending is worth little where the prefix is evicted before it is asked for again."""
    others = [chat(f"{at} " + "".join(f"{at * k} " for k in range(400))) for at in range(COUNT)]
    bodies = [body for pair in zip(clocks(), others, strict=True) for body in pair]
    large, small = (traffic(bodies, Costing(kv_capacity=capacity)) for capacity in (1_000_000, 900))
    assert large.summary is not None
    assert small.summary is not None
    assert large.summary.hit_rate_after > small.summary.hit_rate_after + 0.2


def test_workers_have_caches_of_their_own() -> None:
    """A log that names workers is replayed on them."""
    bodies = [{"request": body, "worker": f"w{at % 5}"} for at, body in enumerate(clocks())]
    one, five = traffic(clocks()).summary, traffic(bodies).summary
    assert one is not None
    assert five is not None
    assert "5 workers" in five.assumed
    assert five.hit_rate_after < one.hit_rate_after


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl.gz", "json"])
def test_every_kind_of_file_is_read_twice(tmp_path: Path, suffix: str) -> None:
    """The figures do not depend on how the log is packed."""
    plain = traffic(clocks()).summary
    assert plain is not None
    file = tmp_path / f"log.{suffix}"
    text = io.StringIO()
    if suffix.startswith("csv"):
        table = csv.DictWriter(text, ["request_body"])
        table.writeheader()
        table.writerows({"request_body": json.dumps(body)} for body in clocks())
    elif suffix == "json":
        json.dump(clocks(), text)
    else:
        text.write("".join(json.dumps(body) + "\n" for body in clocks()))
    raw = text.getvalue().encode()
    file.write_bytes(gzip.compress(raw) if suffix.endswith("gz") else raw)
    (summary,) = lint_paths([str(file)], rules().values()).summaries
    assert summary._replace(filename="") == plain._replace(filename="")


class Stream(io.BytesIO):
    """Can be read once."""

    def seekable(self) -> bool:
        return False


def test_a_stream_says_so() -> None:
    """No figure without a second reading."""
    (loss,) = traffic(clocks(), file=Stream()).losses
    assert loss.cost is not None
    assert loss.cost.tokens is None
    assert "stream" in (loss.cost.reason or "")


def test_what_has_no_mend_says_why() -> None:
    """And does not count as mended."""
    turns = [f"Turn {at}: {HANDBOOK}" for at in range(12)]
    result = traffic([chat(HANDBOOK, *turns[at : at + 5]) for at in range(0, 8, 2)])
    assert [loss.kind for loss in result.losses] == ["window_slid"]
    assert result.summary is not None
    assert result.summary.causes == (0, 1)
    assert result.summary.hit_rate_before == result.summary.hit_rate_after
    assert result.losses[0].cost is not None
    assert "cut off" in (result.losses[0].cost.reason or "")


def test_no_loss_no_replay() -> None:
    """A clean log is read once; so is one for which no figures were asked."""
    assert traffic([chat(LONG, question) for question in QUESTIONS]).summary is None
    assert traffic(clocks(), Costing(replay=False)).losses[0].cost is None


def test_two_causes(tmp_path: Path) -> None:
    """Each alone and both together; the finding of each has its own figures."""
    tools = [{"type": "function", "function": {"name": n, "description": OTHER[:600] + n}} for n in "abcd"]
    shuffled = [{**chat(OTHER, QUESTIONS[at % 4]), "tools": tools[at % 4 :] + tools[: at % 4]} for at in range(COUNT)]
    file = tmp_path / "log.jsonl"
    file.write_text(
        "".join(json.dumps(body) + "\n" for pair in zip(clocks(), shuffled, strict=True) for body in pair)
    )
    report = lint_paths([str(file)], rules().values(), Settings())
    clock, order = sorted(report.findings, key=lambda finding: finding.code)
    assert (clock.code, order.code) == ("PC101", "PC401")
    assert clock.cost is not None
    assert order.cost is not None
    assert clock.cost.hit_rate_before == order.cost.hit_rate_before
    before, after = clock.cost.hit_rate_before or 0, clock.cost.hit_rate_all or 0
    assert before < (clock.cost.hit_rate_after or 0) < after
    assert (clock.cost.hit_rate_after or 0) + (order.cost.hit_rate_after or 0) - before == pytest.approx(
        after, abs=0.01
    )
    (summary,) = report.summaries
    assert summary.causes == (2, 2)


@pytest.mark.parametrize(("text", "price"), [("2.5/0.25", (2.5, 0.25)), ("3", (3.0, 0.0))])
def test_prices(text: str, price: tuple[float, float]) -> None:
    """Per million uncached and cached tokens."""
    assert parse_price(text) == price


@pytest.mark.parametrize("text", ["", "a", "1/2/3", "-1", "nan", "1/"])
def test_what_is_no_price(text: str) -> None:
    """Says what one looks like."""
    with pytest.raises(ConfigError, match="price is"):
        parse_price(text)
