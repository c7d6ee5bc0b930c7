"""The operators' API as a whole: each path is in OpenAPI with a typed answer, and is for operators only."""

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
    "/api/latency": "LatencyRows",
    "/api/requests": "FinishedRequests",
    "/api/requests/{request_id}": "ExplainedRequest",
}


@pytest.mark.parametrize("path", ANSWERS)
async def test_it_is_for_operators_only(path: str) -> None:
    """A page from elsewhere gets nothing."""
    await refused(create_app(Config()), path.replace("{request_id}", "1"), {"host": "evil.example"})


async def test_it_is_documented() -> None:
    """Every path below /api has a typed answer; the fields of `/api/cache` are those of DESIGN 5."""
    document = msgspec.json.decode((await status(create_app(Config()), "/openapi.json", LOCAL))[1])
    named = {}
    for path, methods in document["paths"].items():
        if path.startswith("/api/"):
            answer = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            named[path] = answer["$ref"].removeprefix("#/components/schemas/")
            assert methods["get"]["description"]
    assert named == ANSWERS
    row = document["components"]["schemas"]["CacheRow"]["properties"]
    assert list(row) == [
        *("route", "customer", "prompt_version", "requests", "input_tokens", "cached_tokens", "hit_rate"),
        *("uncached_by_reason", "unknown_requests"),
    ]
