"""gateway.model_routes: simple requests go to a smaller model where the route says so; counted and visible."""

from typing import Any

import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.config import Config, CustomerConfig, RouteConfig, check
from gateway.identity import new_key
from gateway.model_routes import Asked, ModelRule, asked, choose, turn
from prefix.body import parse_body
from prefix.errors import ConfigError
from tests.gateway.running import CHAT, Running, running

SIMPLE = Asked("big", "c", 100, 50, tools=False, schema=False, headers={"x-tier": "eco"})
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}


def rule(**conditions: Any) -> ModelRule:
    """A rule for the small model."""
    return ModelRule(use="small", **conditions)


@pytest.mark.parametrize(
    ("conditions", "matches"),
    [
        ({}, True),
        ({"of": ("big",)}, True),
        ({"of": ("other",)}, False),
        ({"max_prompt_tokens": 100}, True),
        ({"max_prompt_tokens": 99}, False),
        ({"max_output_tokens": 50}, True),
        ({"max_output_tokens": 49}, False),
        ({"tools": False, "schema": False}, True),
        ({"tools": True}, False),
        ({"schema": True}, False),
        ({"customers": ("c", "d")}, True),
        ({"customers": ("d",)}, False),
        ({"headers": {"x-tier": "eco"}}, True),
        ({"headers": {"x-tier": "pro"}}, False),
        ({"headers": {"x-tier": "eco", "x-else": ""}}, False),
        ({"tools": False, "max_prompt_tokens": 99}, False),
    ],
)
def test_a_rule_matches_when_all_of_it_does(conditions: dict[str, Any], matches: bool) -> None:
    """What is not said is no condition."""
    assert (choose([rule(**conditions)], SIMPLE) is not None) is matches


def test_the_first_rule_that_matches_counts_and_only_once() -> None:
    """Also where it leaves the request with the model it asked for; an unstated limit is none."""
    rules = [ModelRule(use="big", tools=True), rule(max_prompt_tokens=1000)]
    assert choose(rules, SIMPLE) is rules[1]
    assert choose(rules, SIMPLE._replace(tools=True)) is None
    assert choose([rule(max_output_tokens=50)], SIMPLE._replace(max_output_tokens=None)) is None


@pytest.mark.parametrize(
    ("members", "tools", "schema"),
    [
        ({}, False, False),
        ({"tools": []}, False, False),
        ({"tools": TOOLS}, True, False),
        ({"functions": [{"name": "f"}]}, True, False),
        ({"response_format": {"type": "text"}}, False, False),
        ({"response_format": {"type": "json_object"}}, False, True),
        ({"response_format": SCHEMA}, False, True),
        ({"guided_json": {"type": "object"}}, False, True),
        ({"text": {"format": {"type": "text"}}}, False, False),
        ({"text": {"format": {"type": "json_schema"}}}, False, True),
        ({"response_format": "?", "tools": None, "text": 5}, False, True),
    ],
)
def test_what_is_simple_is_read_off_the_body(members: dict[str, Any], tools: bool, schema: bool) -> None:
    """Chat, completions and Responses spell it differently."""
    body = parse_body(
        msgspec.json.encode({"model": "big", "messages": [{"role": "user", "content": "x" * 374}], **members})
    )
    request = asked(body, "c", lambda _: 4.0, 5, [(b"x-tier", b"eco")])
    assert request is not None
    assert (request.tools, request.schema, request.headers, request.max_output_tokens) == (
        tools,
        schema,
        {"x-tier": "eco"},
        5,
    )
    assert 100 <= request.prompt_tokens <= 130


@pytest.mark.parametrize("members", [{"model": 5}, {"previous_response_id": "r"}, {"conversation": {"id": "c"}}])
def test_what_cannot_have_another_model_is_left(members: dict[str, Any]) -> None:
    """No model named, or a turn of what an engine keeps."""
    body = parse_body(msgspec.json.encode({"model": "big", "input": "x", **members}))
    assert asked(body, "c", lambda _: 4.0, None, ()) is None
    assert turn(body, "chat", [rule()], None, lambda _: True).body is body


def test_only_the_model_is_spliced() -> None:
    """Every other byte is the client's; without an engine for it nothing changes, and that is told."""
    body = parse_body(b'{ "x":1.50, "model" : "b\\u0069g","messages":[ ] }')
    request = SIMPLE
    done = turn(body, "chat", [rule()], request, lambda _: True)
    assert done.body.raw == b'{ "x":1.50, "model" : "small","messages":[ ] }'
    assert (done.route, done.asked, done.missed) == ("chat>small", "big", None)
    left = turn(body, "chat", [rule()], request, lambda _: False)
    assert (left.body, left.route, left.asked, left.missed) == (body, "chat", None, "small")


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ([ModelRule(use="")], "model rule 1: use: name the model"),
        ([rule(of=("small",))], "it does nothing"),
        ([rule(customers=("x",))], "'x' is not configured, so it can never match"),
        ([rule(headers={"X-Tier": "eco"})], "write header names in lower case"),
        ([rule(headers={"authorization": "Bearer x"})], "authorization is a secret"),
        ([rule(), rule(tools=False)], "model rule 2 can never match: rule 1 takes all"),
        ([rule(of=("a", "b"), tools=True), rule(of=("a",), tools=True)], "model rule 2 can never match"),
        ([ModelRule(use="a", of=("b",)), ModelRule(use="b", of=("a",))], "'a' and 'b' are sent to each other"),
    ],
)
def test_rules_that_make_no_sense_are_refused(rules: list[ModelRule], says: str) -> None:
    """With the route and the rule's number."""
    config = Config(routes={"chat": RouteConfig(models=tuple(rules))})
    with pytest.raises(ConfigError, match="route 'chat': ") as caught:
        check(config, "c.yaml")
    assert says in str(caught.value)


def test_rules_that_look_alike_and_differ_are_fine() -> None:
    """Other models, or other conditions."""
    rules = (rule(of=("a",), tools=True), rule(of=("b",), tools=True), rule(of=("a",), tools=False), rule(tools=True))
    check(Config(routes={"chat": RouteConfig(models=rules)}), "c.yaml")
    with pytest.raises(ConfigError, match="has no '>'"):
        check(Config(routes={"a>b": RouteConfig()}), "c.yaml")


def engine(model: str) -> SimulatedEngine:
    """A fast engine for one model that remembers what it got."""
    return SimulatedEngine(EngineOptions(model=model, speed=100.0, remember=20))


def chat(content: str = "hi", **more: Any) -> dict[str, Any]:
    """A chat of route `chat` for the big model."""
    return {"model": "big", "max_tokens": 2, "messages": [{"role": "user", "content": content}], **more}


async def answer(gateway: Running, body: Any, **headers: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, our headers and the answer."""
    async with gateway.post(CHAT, body, x_prefixgate_route="chat", **headers) as response:
        ours = {name: value for name, value in response.headers.items() if name.startswith("x-prefixgate-")}
        return response.status, ours, msgspec.json.decode(await response.read())


async def test_simple_requests_go_to_the_small_model_and_everybody_can_see_it() -> None:
    """Headers, access log's record, counter, and hit rates under a route of their own; the rest is untouched."""
    routes = {"chat": RouteConfig(models=(rule(max_prompt_tokens=200, tools=False),))}
    async with engine("big") as big, engine("small") as small, running(big, small, routes=routes) as gateway:
        status, ours, said = await answer(gateway, chat())
        assert (status, said["model"]) == (200, "small")
        assert ours["x-prefixgate-model-route"] == "big>small"
        assert ours["x-prefixgate-changes"] == "model_route"
        record = await gateway.last_record()
        assert (record.route, record.model, record.asked_model) == ("chat>small", "small", "big")
        for body in (chat(tools=TOOLS), chat("long " * 400)):
            status, ours, said = await answer(gateway, body)
            assert (status, said["model"]) == (200, "big")
            assert "x-prefixgate-model-route" not in ours
        async with gateway.post(CHAT, chat()) as response:  # another route
            assert msgspec.json.decode(await response.read())["model"] == "big"
        await gateway.last_record()
        async with gateway.http.get("/api/cache?by=route") as response:
            rows = {row["route"]: row["requests"] for row in (await response.json())["rows"]}
        assert rows == {"chat": 2, "chat>small": 1, "default": 1}
        metrics = await gateway.metrics()
        counted = {name: value for name, value in metrics.items() if name.startswith("prefixgate_model_routes_total")}
        assert list(counted.values()) == [1]
        assert 'route="chat>small"' in next(iter(counted))
        assert len(small.received) == 1


async def test_without_the_small_model_nothing_is_lost() -> None:
    """The request goes where it was meant to, and that a rule had no engine is counted."""
    routes = {"chat": RouteConfig(models=(rule(),))}
    async with engine("big") as big, running(big, routes=routes) as gateway:
        status, ours, said = await answer(gateway, chat())
        assert (status, said["model"]) == (200, "big")
        assert "x-prefixgate-changes" not in ours
        await gateway.last_record()
        metrics = await gateway.metrics()
        assert [
            name
            for name in metrics
            if name.startswith("prefixgate_model_routes_total") and 'outcome="unserved"' in name
        ]


async def test_a_customer_does_not_see_which_rule_it_was() -> None:
    """The change is told to everybody, the models only to keys that are trusted."""
    key, hashed = new_key()
    settings: dict[str, Any] = {
        "routes": {"chat": RouteConfig(models=(rule(customers=("c",)),))},
        "customers": {"c": CustomerConfig(keys=(hashed,), route="chat")},
    }
    async with engine("big") as big, engine("small") as small, running(big, small, **settings) as gateway:
        status, ours, said = await answer(gateway, chat(), authorization=f"Bearer {key}")
        assert (status, said["model"], ours["x-prefixgate-changes"]) == (200, "small", "model_route")
        assert "x-prefixgate-model-route" not in ours
