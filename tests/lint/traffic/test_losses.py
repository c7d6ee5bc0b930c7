"""lint.traffic.losses and lint.traffic.checks: counting, folding, and what the cost makes of a severity."""

import pytest

from lint.rule import Severity
from lint.traffic.checks import losses, lowered
from lint.traffic.engine import Traffic
from lint.traffic.losses import Loss, Losses


def loss(kind: str, pointer: str = "/messages/0/content", offset: int | None = 10, template: int = 0) -> Loss:
    return Loss(kind, template, pointer, offset, ("a", "b"), 1, 2)


def counted(*found: Loss) -> tuple[Loss, ...]:
    counts = Losses()
    for _ in range(10):
        counts.sent(0, 100)
        counts.sent(1, 100)
    for one in found:
        counts.add(one, 50)
    return counts.result()


def test_words_at_the_place_of_a_named_cause_are_its_doing() -> None:
    """Near it, in the same template and text."""
    (one,) = counted(loss("clock"), loss("system_text", offset=30))
    assert (one.kind, one.occurrences, one.recoverable_bytes, one.share) == ("clock", 2, 100, 0.1)
    assert len(counted(loss("clock"), loss("system_text", offset=300))) == 2
    assert len(counted(loss("clock"), loss("system_text", template=1))) == 2
    assert len(counted(loss("clock"), loss("whitespace"))) == 2


def test_indices_do_not_tell_causes_apart() -> None:
    """Nor do the places in tools at which their form differs."""
    assert len(counted(loss("clock", "/messages/3/content"), loss("clock", "/messages/5/content"))) == 1
    forms = loss("key_order", "/tools/0", None), loss("json_format", "/tools/1/function/parameters", None)
    assert len(counted(*forms)) == 1


@pytest.mark.parametrize(
    ("severity", "share", "expected"),
    [
        ("error", 0.5, "error"),
        ("error", 0.05, "warning"),
        ("error", 0.001, "info"),
        ("warning", 0.05, "info"),
        ("info", 0.5, "info"),
    ],
)
def test_severity_follows_the_cost(severity: Severity, share: float, expected: Severity) -> None:
    """Share of the template's input that would have been cached."""
    assert lowered(severity, share) == expected


def test_a_cause_that_strikes_often() -> None:
    """Is more severe where the rule says so."""
    found = counted(*[loss("date")] * 6)
    document = Traffic("log", 20, 2000, found)
    (usual,) = losses("date", severity="info").find(document)
    (often,) = losses("date", severity="info", often="warning").find(document)
    assert (usual.severity, often.severity) == ("info", "warning")
    assert list(losses("clock", severity="info").find(document)) == []
