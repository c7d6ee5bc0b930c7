"""gateway.bench.options: what cannot be run is said before anything is read or sent."""

from pathlib import Path
from typing import Any

import pytest

from gateway.bench.loops import Warmup
from gateway.bench.options import Options
from prefix.errors import ConfigError

GIVEN: dict[str, Any] = {
    "url": "http://t",
    "trace": Path("t"),
    "prompts": None,
    "api": None,
    "model": None,
    "arrival": None,
    "rate": None,
    "shape": 0.5,
    "concurrency": None,
    "requests": None,
    "duration": None,
    "warmup": "10%",
    "slo": "",
    "compare": None,
    "interleave": "windows",
    "window": None,
    "isolation": None,
    "seed": None,
    "block_tokens": None,
    "shrink": 1,
    "ignore_eos": True,
    "key_env": None,
    "admin_key_env": None,
    "header": (),
    "engine": (),
    "timeout": "600s",
    "json": None,
    "html": None,
}
BODIES = {"trace": None, "prompts": Path("b")}


def options(**changes: Any) -> Options:
    """The defaults, with this given."""
    return Options(**(GIVEN | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trace": None}, "give either --trace"),
        ({"prompts": Path("b")}, "give either --trace"),
        ({"rate": 0.0}, "--rate must be a positive number, not 0"),
        ({"rate": float("nan")}, "--rate must be a positive number"),
        ({"shape": -1.0}, "--shape must be a positive number"),
        ({"requests": 0}, "--requests must be 1 or more"),
        ({"block_tokens": 0}, "--block-tokens must be 1 or more"),
        ({"arrival": "poisson"}, "--arrival poisson needs --rate"),
        ({"arrival": "closed"}, "needs --concurrency"),
        ({"concurrency": 2, "rate": 1.0}, "exclude each other"),
        ({"concurrency": 2, "arrival": "gamma", "rate": 1.0}, "--concurrency is for --arrival closed"),
        (BODIES, "bodies have no times"),
        ({"html": Path("/no/where/x.html")}, "no such folder"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], message: str) -> None:
    """With the option."""
    with pytest.raises(ConfigError, match=message):
        options(**changes).check()


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        ({}, "trace"),
        ({"rate": 2.0}, "trace"),
        ({"concurrency": 4}, "closed"),
        (BODIES | {"rate": 2.0}, "poisson"),
        ({"arrival": "gamma", "rate": 2.0}, "gamma"),
    ],
)
def test_how_requests_arrive(changes: dict[str, Any], how: str) -> None:
    """Told by the options that only one way has, and in words for reports."""
    given = options(**changes)
    given.check()
    assert given.how == how
    assert given.in_words.startswith("closed loop" if how == "closed" else "open loop")


@pytest.mark.parametrize(
    ("changes", "warmup"),
    [
        ({}, Warmup(requests=20)),
        ({"requests": 50}, Warmup(requests=5)),
        ({"duration": "60s"}, Warmup(seconds=6.0)),
        ({"warmup": "7"}, Warmup(requests=7)),
        ({"warmup": "0"}, Warmup()),
        ({"warmup": "0%"}, Warmup()),
        ({"warmup": "1.5s"}, Warmup(seconds=1.5)),
    ],
)
def test_the_warm_up(changes: dict[str, Any], warmup: Warmup) -> None:
    """A number, a time, or a share of whichever limit there is."""
    assert options(**changes).warm_up(200) == warmup


def test_times_that_are_none() -> None:
    """Are named."""
    for bad in ({"warmup": "soon"}, {"duration": "long"}):
        with pytest.raises(ConfigError, match="must look like"):
            options(**bad).warm_up(1)


@pytest.mark.parametrize(
    ("changes", "kind", "isolation"),
    [
        ({}, "trace", "prompts"),
        ({}, "capture", "none"),
        ({"compare": "http://b"}, "capture", "salt"),
        ({"compare": "http://b"}, "trace", "prompts"),
        ({"isolation": "none"}, "trace", "none"),
    ],
)
def test_what_keeps_caches_apart(changes: dict[str, Any], kind: str, isolation: str) -> None:
    """Prompts of its own where they are made up; recorded ones need a salt, and only to be compared."""
    assert options(**changes).isolated(kind) == isolation


def test_recorded_prompts_stay_as_they_are() -> None:
    """They cannot be other ones."""
    with pytest.raises(ConfigError, match="is for traces"):
        options(isolation="prompts").isolated("capture")
