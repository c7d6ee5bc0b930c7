"""lint.report.cost: what mending is worth, in words; and the same figures as JSON."""

import json
from pathlib import Path

from click.testing import CliRunner

from lint.cli import lint
from lint.costing import Cost, Summary
from lint.report.cost import cost_text, summary_lines
from tests.lint.traffic.test_pricing import clocks


def run(tmp_path: Path, *options: str) -> str:
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(body) + "\n" for body in clocks()))
    result = CliRunner().invoke(lint, [str(file), "--isolated", *options])
    assert result.exit_code == 1, result.output
    return result.output


def test_in_full(tmp_path: Path) -> None:
    """A line for the finding, the closing figure, what was assumed; money and seconds only when asked for."""
    text = run(tmp_path)
    assert "cost: " in text
    assert "% if the cause is mended: " in text
    assert "1,000,000 tokens of KV cache" in text
    assert "no times in the log" in text
    assert "in money" not in text
    assert "GPU" not in text
    priced = run(tmp_path, "--price", "2.5/0.25", "--prefill-speed", "9000", "--kv-capacity", "5000")
    assert "in money" in priced
    assert "GPU seconds per 1,000 requests" in priced
    assert "5,000 tokens of KV cache" in priced
    assert "cost" not in run(tmp_path, "--no-cost")


def test_as_json(tmp_path: Path) -> None:
    """An object of the finding; None where nothing was replayed."""
    (found,) = json.loads(run(tmp_path, "--output-format", "json", "--price", "1"))
    assert found["cost"]["hit_rate_before"] < found["cost"]["hit_rate_after"] == found["cost"]["hit_rate_all"]
    assert found["cost"]["money"] > 0
    assert found["cost"]["gpu_seconds"] is None
    (unpriced,) = json.loads(run(tmp_path, "--output-format", "json", "--no-cost"))
    assert unpriced["cost"] is None


def test_what_was_not_replayed() -> None:
    """Has a reason and no number."""
    assert cost_text(Cost(per="day", reason="of this")) == "not replayed: of this"
    summary = Summary("log", (0, 1), 0.5, 0.5, 0.25, "day", 0, None, None, "this", ("a thing: of that",))
    assert list(summary_lines(summary)) == [
        "log: hit rate 50%.",
        "  Replayed: this.",
        "  The log itself reports 25% cached.",
        "  Not replayed: a thing: of that.",
    ]


def test_a_wrong_price(tmp_path: Path) -> None:
    """Is a usage error in words."""
    result = CliRunner().invoke(lint, [str(tmp_path), "--price", "cheap"])
    assert "price must be UNCACHED/CACHED" in str(result.exception)
