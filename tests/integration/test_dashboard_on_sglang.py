"""The dashboard's engine panels read metrics that a real SGLang engine has."""

import re
from typing import Final
from urllib.request import Request, urlopen

import pytest

from telemetry.panels import panels
from tests.integration.engines import Engines

pytestmark = pytest.mark.engines

ONLY_LATER: Final = frozenset(("evicted_tokens_total",))
"""Counters that a young engine does not show yet."""


def names_read() -> set[str]:
    """SGLang's metrics that the dashboard reads, without the prefix."""
    queries = " ".join(target.query for panel in panels() for target in panel.targets)
    return set(re.findall(r'__name__=~"sglang\[:_\](\w+)"', queries))


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text;version=1.0.0"])
def test_a_real_engine_has_what_the_dashboard_reads(engines: Engines, accept: str) -> None:
    """Each name is on the page of an engine that has answered, in the text format and in OpenMetrics."""
    (engine,) = engines.take(1)
    for _ in range(2):
        engine.get_json("/generate", {"text": "Hello there, " * 50, "sampling_params": {"max_new_tokens": 4}})
    with urlopen(Request(f"{engine.url}/metrics", headers={"accept": accept}), timeout=60) as answer:
        page, kind = answer.read().decode(), answer.headers["content-type"]
    found = set(re.findall(r"^sglang[:_](\w+)\{", page, re.MULTILINE))
    print(f"{accept}: {kind}, {len(found)} names, spelled {re.findall('sglang.token_usage', page)[-1]}")
    assert len(names_read()) >= 5
    assert names_read() - found <= ONLY_LATER
