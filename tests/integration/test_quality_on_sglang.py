"""`prefixgate eval` between a real SGLang and the gateway in front of it."""

import asyncio
import json

import pytest
from click.testing import CliRunner

from gateway.quality.command import evaluate
from tests.gateway.running import running
from tests.integration.engines import Engines

pytestmark = pytest.mark.engines

FLAGS = ("--at-once", "1", "--max-tokens", "12", "--json")


async def test_the_gateway_changes_no_answer(engines: Engines) -> None:
    """Greedy texts are the very same where `safe` changes nothing, and for every order of a request's tools."""
    (engine,) = engines.take(1)
    async with running(engine) as gateway:
        words = ["--before", engine.url, "--after", gateway.url, *FLAGS]
        kinds = ["--kind", "tool_call", "--kind", "exact"]
        same = await asyncio.to_thread(CliRunner().invoke, evaluate, [*words, *kinds, "--equal"])
        judged = await asyncio.to_thread(CliRunner().invoke, evaluate, [*words, "--kind", "exact", "--samples", "1"])
    found = json.loads(same.stdout)
    print({name: found[name] for name in ("compared", "equal", "rewritten", "permuted", "alike", "unstable")})
    assert same.exit_code == 0, same.output
    assert found["compared"] == found["equal"] >= 12
    assert found["permuted"] == found["alike"] == 20
    assert judged.exit_code == 0, judged.output
