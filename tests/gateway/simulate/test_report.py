"""gateway.simulate.report: the table and the JSON say the same."""

import json
from io import StringIO

import msgspec
from rich.console import Console

from gateway.simulate.report import print_study, study_json
from gateway.simulate.study import Study
from tests.gateway.simulate.studies import row, study


def shown(one: Study) -> str:
    """The table as plain text."""
    out = StringIO()
    print_study(Console(file=out, width=100), one)
    return out.getvalue()


def test_table() -> None:
    """Policy, load, hit rate and its shares of the bounds, times, balance, what was given up, speed."""
    text = shown(study())
    assert "trace <b>.jsonl: 100 requests; 4 engines of 10,000 tokens, profile 8b, blocks of 16" in text
    assert "infinite shared cache 80.0%, of one pooled LRU 50.0%" in text
    line = next(line for line in text.splitlines() if line.strip().startswith("expected-ttft"))
    assert line.split() == "expected-ttft 0.7x 40.0% 0.50 0.80 3.500 2.800 7.000 14.0 1.25 3.0% 12,346".split()


def test_unknown_is_not_zero() -> None:
    """Where nothing can be hit, a share of it is unknown; lines left out are told."""
    one = study(row("random", 1.0, 0.0, 1.0), infinite=0.0, pooled=0.0, bad_lines=3)
    text = shown(one)
    assert "100 requests, 3 bad lines left out" in text
    assert next(line for line in text.splitlines() if "random" in line).split()[3:5] == ["-", "-"]
    (only,) = json.loads(study_json(one))["rows"]
    assert (only["of_infinite"], only["of_pooled"]) == (None, None)


def test_json() -> None:
    """All numbers by name; a row has its measured values beside its shares."""
    read = json.loads(study_json(study()))
    assert (read["trace"], read["requests"], read["bad_lines"]) == ("trace <b>.jsonl", 100, 0)
    assert read["setting"] == {
        "engines": 4,
        "kv_capacity_tokens": 10_000,
        "block_tokens": 16,
        "profile": "8b",
        "seed": 0,
    }
    assert (read["infinite_hit_rate"], read["pooled_hit_rate"]) == (0.8, 0.5)
    first = read["rows"][0]
    assert (first["policy"], first["rate"], first["of_infinite"], first["of_pooled"]) == (
        "round-robin",
        0.7,
        0.5,
        0.8,
    )
    assert first.items() >= msgspec.to_builtins(study().rows[0].measured).items()
