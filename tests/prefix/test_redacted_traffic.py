"""prefix.redaction over a whole log: the linter finds in it what it finds in the plain one."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lint.linter import lint_paths
from lint.registry import rules
from lint.rule import Finding
from prefix.masked import Masked
from prefix.obscure import Hashed
from prefix.redaction import redacted
from tests.bench.lint_log import requests

BODIES = requests(600)
BY_WORDS = {"PC104": "PC201"}
"""A user is known by the words around a name; without them it is text that differs."""


def found_in(file: Path, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> list[Finding]:
    """What the linter finds in the log when its bodies are changed so."""
    file.write_text("".join(json.dumps(change(body)) + "\n" for body in BODIES), encoding="utf-8")
    return lint_paths([str(file)], rules().values()).findings


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """The findings in the log as it is."""
    return found_in(tmp_path_factory.mktemp("plain") / "log.jsonl", lambda body: body)


def test_hashed(tmp_path: Path, plain: list[Finding]) -> None:
    """Six faults of six routes and nothing else: code, pointer, offset, count, and the tokens within 1 %."""
    form = Hashed(b"key")
    made = found_in(tmp_path / "log.jsonl", lambda body: redacted(body, form))
    assert len(plain) == len(made) == 6
    for before, after in zip(plain, made, strict=True):
        assert after.code == BY_WORDS.get(before.code, before.code)
        assert (after.request, after.pointer, after.start) == (before.request, before.pointer, before.start)
        assert after.occurrences == before.occurrences
        assert after.recoverable_tokens == pytest.approx(before.recoverable_tokens, rel=0.01)
        assert (before.cost is None) == (after.cost is None)


def test_masked(tmp_path: Path) -> None:
    """As docs/captures.md says: what text tells is gone, and what moves text about is still seen, by another name."""
    form = Masked(b"key")
    made = {finding.code for finding in found_in(tmp_path / "log.jsonl", lambda body: redacted(body, form))}
    assert not made & {"PC101", "PC103", "PC104"}
    assert {"PC301", "PC401"} <= made
