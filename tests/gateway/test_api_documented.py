"""The operators' API as a whole: each path is in OpenAPI with a typed answer, and is for operators only."""

import re

import msgspec
import pytest

from gateway.app import create_app
from gateway.config import Config
from tests.gateway.test_admin import LOCAL, refused, status

ANSWERS = {
    "/api/overview": "Overview",
    "/api/cache": "CacheRows",
    "/api/history": "History",
    "/api/prompts": "PromptRows",
    "/api/prompts/{route}/{prompt_version}": "PromptDetail",
    "/api/tree": "Tree",
    "/api/latency": "LatencyRows",
    "/api/requests": "FinishedRequests",
    "/api/requests/{request_id}": "ExplainedRequest",
}


@pytest.mark.parametrize("path", [*ANSWERS, "/api/events"])
async def test_it_is_for_operators_only(path: str) -> None:
    """A page from elsewhere gets nothing."""
    await refused(create_app(Config()), re.sub("{.*?}", "1", path), {"host": "evil.example"})


async def test_it_is_documented() -> None:
    """Every path below /api has a typed answer; the fields of `/api/cache` are those of DESIGN 5."""
    document = msgspec.json.decode((await status(create_app(Config()), "/openapi.json", LOCAL))[1])
    named = {}
    for path, methods in document["paths"].items():
        if path.startswith("/api/"):
            assert methods["get"]["description"]
            content = methods["get"]["responses"]["200"]["content"]
            if "text/event-stream" not in content:
                named[path] = content["application/json"]["schema"]["$ref"].removeprefix("#/components/schemas/")
    assert named == ANSWERS
    row = document["components"]["schemas"]["CacheRow"]["properties"]
    assert list(row) == [
        *("route", "customer", "prompt_version", "requests", "input_tokens", "cached_tokens", "hit_rate"),
        *("uncached_by_reason", "unknown_requests"),
    ]
