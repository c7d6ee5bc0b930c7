"""gateway.bench.slo: times as people write them."""

import pytest

from gateway.bench.slo import Slo, parse_slos, seconds_of
from prefix.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("2s", 2.0),
        ("1.5", 1.5),
        ("80us", 8e-5),
        ("0s", None),
        ("-1s", None),
        ("nans", None),
        ("s", None),
    ],
)
def test_times(text: str, seconds: float | None) -> None:
    """A number with a unit or none, above zero."""
    assert seconds_of(text) == (seconds if seconds is None else pytest.approx(seconds))


def test_a_list() -> None:
    """Parted by commas, blanks allowed."""
    assert parse_slos("ttft=500ms, itl=50ms") == [Slo("ttft", 0.5), Slo("itl", 0.05)]
    assert parse_slos("") == []


@pytest.mark.parametrize("text", ["ttft", "ttft=", "ttft=fast", "speed=1s", "ttft=0ms"])
def test_what_is_wrong_is_named(text: str) -> None:
    """With an example and the known names."""
    with pytest.raises(ConfigError, match=r"ttft=500ms; known: ttft, itl, tpot, e2e"):
        parse_slos(text)
