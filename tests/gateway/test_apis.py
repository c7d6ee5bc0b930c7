"""gateway.apis through the gateway: every API in its own words, each request where it belongs."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest import mock

import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.apis import APIS, COUNT_TOKENS, EMBEDDINGS, MESSAGES, RESPONSES, Apis, is_plain, response_id
from gateway.config import CustomerConfig
from gateway.identity import new_key
from tests.gateway.fake_engine import EVENTS_HEAD, FakeEngine, chunk, raw, stream, whole
from tests.gateway.running import CHAT, SOON_S, Running, chat, running
from tests.gateway.test_relay import broken

SYSTEM = "Answer in one word. " * 200
OPTIONS = EngineOptions(model="m", speed=200.0, response_store=True, embedding=True)


def message(text: str, **more: Any) -> dict[str, Any]:
    """A body for /v1/messages."""
    return {
        "model": "m",
        "max_tokens": 6,
        "system": SYSTEM,
        "messages": [{"role": "user", "content": text}],
    } | more


def response(text: str, **more: Any) -> dict[str, Any]:
    """A body for /v1/responses."""
    return {"model": "m", "max_output_tokens": 8, "instructions": SYSTEM, "input": text} | more


BODIES = {MESSAGES: message, RESPONSES: response}


@asynccontextmanager
async def fleet(count: int = 2, **settings: Any) -> AsyncIterator[tuple[Running, list[SimulatedEngine]]]:
    """A gateway in front of so many simulated engines."""
    engines = [SimulatedEngine(OPTIONS) for _ in range(count)]
    for engine in engines:
        await engine.start()
    try:
        async with running(*engines, **settings) as gateway:
            yield gateway, engines
    finally:
        for engine in engines:
            await engine.stop()


def at(gateway: Running, engines: list[SimulatedEngine]) -> list[int]:
    """How many generation requests each engine got."""
    return [len(engine.received) for engine in engines]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("path", BODIES)
async def test_prompts_of_every_api_find_their_cache(path: str, streams: bool) -> None:
    """Placed by affinity: later requests with the same system text go to one engine, and it reports cached tokens."""
    async with fleet(3) as (gateway, engines):
        for number in range(4):
            status, _ = await gateway.ask(path, BODIES[path](f"question {number}", stream=streams))
            assert status == 200
            record = await gateway.last_record()
            assert (record.path, record.outcome, record.stream) == (path, "ok", streams)
            assert record.output_tokens == 6
            assert (record.input_tokens or 0) > 600
            assert (record.cached_tokens or 0) > 500 or number == 0
            assert record.ttft_s is not None or not streams
        assert sorted(at(gateway, engines)) == [0, 0, 4]


async def test_chat_and_the_other_apis_share_what_is_cached() -> None:
    """An engine renders them alike, so the gateway keys them alike."""
    async with fleet(3) as (gateway, engines):
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "q"}]
        await gateway.ask(CHAT, {"model": "m", "max_tokens": 4, "messages": messages})
        for path, body in BODIES.items():
            await gateway.ask(path, body("another"))
            record = await gateway.last_record()
            assert (record.expected_cached_tokens or 0) > 500
            assert (record.cached_tokens or 0) > 500
        assert sorted(at(gateway, engines)) == [0, 0, 3]


async def test_embeddings_and_counting_go_by_load_and_leave_no_trace_in_the_index() -> None:
    """Nothing of them stays in a KV cache, so nothing is believed to."""
    async with fleet(2) as (gateway, _):
        status, body = await gateway.ask(EMBEDDINGS, {"model": "m", "input": ["a", "b" * 5000]})
        assert (status, len(json.loads(body)["data"])) == (200, 2)
        record = await gateway.last_record()
        assert (record.path, record.prompt_version, record.cached_tokens) == (EMBEDDINGS, None, None)
        status, body = await gateway.ask(COUNT_TOKENS, message("q"))
        assert (status, json.loads(body)["input_tokens"] > 600) == (200, True)
        group = next(iter(gateway.app.models))
        assert sum(group.router.holdings().values()) == 0


# ---------------------------------------------------------------------- responses and their workers


async def created(gateway: Running, **more: Any) -> str:
    """A new response's id."""
    status, body = await gateway.ask(RESPONSES, response("q", **more))
    assert status == 200
    if not more.get("stream"):
        return str(json.loads(body)["id"])
    return str(json.loads(body.split(b"data: ", 2)[1].split(b"\n")[0])["response"]["id"])


@pytest.mark.parametrize("streams", [False, True])
async def test_a_conversation_stays_with_the_worker_that_keeps_it(streams: bool) -> None:
    """previous_response_id, GET and cancel reach the one engine that knows the id, whatever the load."""
    async with fleet(3, policy="round-robin") as (gateway, engines):
        name = await created(gateway, stream=streams)
        counts = at(gateway, engines)
        for _ in range(4):
            following = response("and?", previous_response_id=name, stream=streams)
            assert (await gateway.ask(RESPONSES, following))[0] == 200
            async with gateway.http.get(f"{RESPONSES}/{name}") as answer:
                assert (answer.status, (await answer.json())["id"]) == (200, name)
                record = await gateway.last_record()
                assert answer.headers["x-prefixgate-worker"] == record.worker
                assert (record.input_tokens, record.output_tokens) == (None, None)  # they were counted once
            async with gateway.http.head(f"{RESPONSES}/{name}") as answer:
                assert (answer.status, await answer.read()) == (200, b"")
            async with gateway.http.post(f"{RESPONSES}/{name}/cancel") as answer:
                assert answer.status == 200
        assert [b - a for a, b in zip(counts, at(gateway, engines), strict=True) if b != a] == [4]
        async with gateway.http.delete(f"{RESPONSES}/{name}") as answer:
            assert answer.status in (404, 405)  # the engine's own: SGLang 0.5.23 has no DELETE


async def test_an_id_nobody_knows_is_the_engines_to_refuse() -> None:
    """In open mode: after a restart of the gateway an engine may know what the gateway does not."""
    async with fleet(1) as (gateway, _):
        status, body = await gateway.ask(RESPONSES, response("q", previous_response_id="resp_0"))
        assert (status, json.loads(body)["error"]["message"]) == (404, "Response with id 'resp_0' not found.")
        async with gateway.http.get(f"{RESPONSES}/resp_0") as answer:
            assert answer.status == 404


@pytest.mark.parametrize("silent", [False, True])
async def test_another_gateway_finds_the_worker_of_an_id(silent: bool) -> None:
    """After a restart, or on a replica: the engines are asked once, and one that does not answer is passed over."""
    async with fleet(3) as (first, engines):
        name = await created(first, stream=True)
        keeper = (await first.last_record()).worker
        mute = FakeEngine(whole(b"{}"), model="m")
        mute.pages[f"{RESPONSES}/{name}"] = None
        others = [mute] if silent else []
        for other in others:
            await other.start()
        with mock.patch("gateway.candidates.LOOK_S", 0.5 if silent else SOON_S):
            async with running(*engines, *others, policy="round-robin") as second:
                for _ in range(4):
                    assert (await second.ask(RESPONSES, response("and?", previous_response_id=name)))[0] == 200
                    assert (await second.last_record()).worker == keeper
                async with second.http.get(f"{RESPONSES}/resp_nobody") as answer:
                    assert answer.status == 404 or silent
        for other in others:
            await other.stop()


async def test_a_stored_response_needs_no_model() -> None:
    """Of engines with different models the one that keeps the response answers."""
    ours = SimulatedEngine(EngineOptions(model="ours", response_store=True))
    async with FakeEngine(whole(b"{}"), model="other") as other, ours, running(other, ours) as gateway:
        name = json.loads((await gateway.ask(RESPONSES, response("q", model="ours")))[1])["id"]
        async with gateway.http.get(f"{RESPONSES}/{name}") as answer:
            assert (answer.status, (await answer.json())["id"]) == (200, name)
        record = await gateway.last_record()
        assert (record.model, record.worker) == ("ours", ours.url.removeprefix("http://"))
        assert other.received == []


async def test_a_worker_that_left_took_its_responses_along() -> None:
    """404, not another engine's confusion."""
    async with fleet(2) as (gateway, _):
        name = await created(gateway)
        worker = (await gateway.last_record()).worker
        async with gateway.http.delete(f"/workers/{worker}") as answer:
            assert answer.status in (200, 202, 204)
        status, body = await gateway.ask(RESPONSES, response("q", previous_response_id=name))
        assert (status, json.loads(body)["error"]["code"]) == (404, "response_not_found")


async def test_a_worker_that_is_drained_or_down_still_has_its_responses() -> None:
    """Drained, it goes on with them, since nobody else can; down, the client is told to try again."""
    async with fleet(2) as (gateway, engines):
        name = await created(gateway)
        keeper = (await gateway.last_record()).worker
        async with gateway.http.post(f"/workers/{keeper}/drain", json={}) as answer:
            assert answer.status < 300
        following = response("q", previous_response_id=name)
        assert (await gateway.ask(RESPONSES, following))[0] == 200
        assert (await gateway.last_record()).worker == keeper
        assert (await gateway.ask(RESPONSES, response("new")))[0] == 200
        assert (await gateway.last_record()).worker != keeper
        (engine,) = [engine for engine in engines if engine.url.endswith(str(keeper))]
        await engine.stop()
        async with gateway.post(RESPONSES, following) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (503, "no_engine")
            assert "retry-after" in answer.headers
        await engine.start()


async def test_responses_belong_to_their_customer() -> None:
    """Another customer's id and an unknown one are answered alike; the engine is not asked."""
    keys = {name: new_key() for name in ("ann", "bob")}
    customers = {name: CustomerConfig((hashed,)) for name, (_, hashed) in keys.items()}
    ann, bob = (f"Bearer {keys[name][0]}" for name in ("ann", "bob"))
    async with fleet(2, customers=customers) as (gateway, engines):
        status, body = await gateway.ask(RESPONSES, response("secret"), authorization=ann)
        name = json.loads(body)["id"]
        before = at(gateway, engines)
        for wanted in (name, "resp_unknown"):
            for named in (
                {"previous_response_id": wanted},
                {"conversation": wanted},
                {"conversation": {"id": wanted}},
            ):
                status, body = await gateway.ask(RESPONSES, response("q", **named), authorization=bob)
                assert (status, json.loads(body)["error"]["code"]) == (404, "response_not_found")
            for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
                url = f"{RESPONSES}/{wanted}{path}"
                async with gateway.http.request(method, url, headers={"authorization": bob}) as answer:
                    assert (answer.status, (await answer.json())["error"]["code"]) == (404, "response_not_found")
        assert at(gateway, engines) == before
        following = response("q", previous_response_id=name)
        assert (await gateway.ask(RESPONSES, following, authorization=ann))[0] == 200


# ---------------------------------------------------------------------- Anthropic's dialect


@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        (b"{", 400, "invalid_request_error"),
        (message("q", model="other"), 404, "not_found_error"),
        (message("q", model=7), 400, "invalid_request_error"),
        (message("x" * 9000), 413, "request_too_large"),
    ],
)
async def test_errors_of_our_own_have_the_shape_of_the_api(body: Any, status: int, named: str) -> None:
    """On Anthropic's paths Anthropic's, with the stable code."""
    async with FakeEngine(whole(b"{}")) as engine, running(engine, max_body_bytes=8192) as gateway:
        for path in (MESSAGES, COUNT_TOKENS):
            async with gateway.post(path, body) as answer:
                said = await answer.json()
                assert answer.status == status
                assert (said["type"], said["error"]["type"]) == ("error", named)
                assert said["error"]["message"]
                assert "code" in said["error"]
        status, told = await gateway.ask(f"{MESSAGES}/batches", b"{}")
        assert (status, json.loads(told)["error"]["type"]) == (404, "not_found_error")
        async with gateway.http.get(MESSAGES) as answer:
            assert (answer.status, (await answer.json())["type"]) == (405, "error")
            assert answer.headers["allow"] == "POST, OPTIONS"


async def test_without_an_engine_anthropic_clients_are_told_to_retry() -> None:
    """503 overloaded_error with Retry-After."""
    async with running() as gateway, gateway.post(MESSAGES, message("q")) as answer:
        assert (answer.status, (await answer.json())["error"]["type"]) == (503, "overloaded_error")
        assert answer.headers["retry-after"]


BROKEN = {
    MESSAGES: (b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":9}}}\n\n'),
    RESPONSES: (b'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1"}}\n\n'),
}


@pytest.mark.parametrize("path", BROKEN)
async def test_a_broken_stream_ends_with_an_error_of_its_dialect(path: str) -> None:
    """`event: error`, in the shape by which the API's own SDK raises; never a clean end (case 49)."""
    begun = raw(EVENTS_HEAD, chunk(BROKEN[path]), then="close")
    async with FakeEngine(begun, stream(BROKEN[path])) as engine, running(engine) as gateway:
        for _ in range(2):
            rest = await broken(gateway, BODIES[path]("q", stream=True), path)
            *_, event, _ = rest.split("\n\n")
            name, _, data = event.partition("\ndata: ")
            error = json.loads(data)
            assert name.rpartition("\n")[2] == "event: error"
            assert error["type"] == "error"
            assert "before its end" in error["error"]["message"]
            record = await gateway.last_record()
            assert (record.outcome, record.error_type) == ("truncated", "stream_broken")


async def test_keys_may_come_as_anthropic_clients_send_them() -> None:
    """x-api-key is a key like Authorization: passed on in open mode, with customers ours and never passed on."""
    key, hashed = new_key()
    async with FakeEngine(whole(b'{"usage":{"input_tokens":1}}')) as engine:
        async with running(engine) as gateway:
            headers = {"x_api_key": "secret", "anthropic_version": "2023-06-01", "anthropic_beta": "b"}
            assert (await gateway.ask(MESSAGES, message("q"), **headers))[0] == 200
            sent = dict(engine.received[-1].headers)
            assert sent["x-api-key"] == "secret"
            assert sent["anthropic-version"] == "2023-06-01"
            assert sent["anthropic-beta"] == "b"
        async with running(engine, customers={"ann": CustomerConfig((hashed,))}) as gateway:
            assert (await gateway.ask(MESSAGES, message("q"), x_api_key=key))[0] == 200
            assert "x-api-key" not in dict(engine.received[-1].headers)
            assert (await gateway.last_record()).customer == "ann"
            status, body = await gateway.ask(MESSAGES, message("q"), x_api_key="wrong")
            assert (status, json.loads(body)["error"]["type"]) == (401, "authentication_error")
            async with gateway.http.get("/v1/models", headers={"x-api-key": key}) as answer:
                assert answer.status == 200


async def test_an_engine_without_the_path_says_so_and_is_asked_no_more() -> None:
    """Its 404 passes; from then on another engine that has the path gets these requests, and only these."""
    lacking, speaking = FakeEngine(whole(b'{"detail":"Not Found"}', 404)), FakeEngine(whole(b'{"usage":null}'))
    async with lacking, speaking, running(lacking, speaking, policy="round-robin") as gateway:
        statuses = [(await gateway.ask(MESSAGES, message(str(n))))[0] for n in range(6)]
        assert statuses.count(404) == 1
        assert statuses[2:] == [200] * 4
        asked = len(lacking.received)
        lacking.answers = [whole(b"{}")]
        for number in range(4):
            assert (await gateway.ask(CHAT, chat(str(number))))[0] == 200
        assert len(lacking.received) > asked


# ---------------------------------------------------------------------- the table


def test_paths_find_their_row() -> None:
    """The table, stored responses, nothing else."""
    apis = Apis()
    assert all(apis.find(path) is api for path, api in APIS.items())
    for path, methods in (("", ("GET", "DELETE")), ("/cancel", ("POST",)), ("/input_items", ("GET",))):
        found = apis.find(f"{RESPONSES}/resp_1{path}")
        assert found is not None
        assert found.methods == methods
    for path in ("/v1/responses/", "/v1/responses/a/b", "/v1/responses/a/cancel/", "/v1/responses/..", "/v1/rerank"):
        assert apis.find(path) is None
    assert response_id(f"{RESPONSES}/resp_1/cancel") == ("resp_1",)
    assert response_id(RESPONSES) == ()


@pytest.mark.parametrize(
    "path", ["", "x", "/a//b", "/a/../b", "/a/./b", "/a/", "/a b", "/a%2fb", "/a\r\nb", "/a\\b", "/ä"]
)
def test_paths_that_could_mean_something_else_are_not_plain(path: str) -> None:
    """Dots, empty segments, escapes and control characters never reach an engine through a pattern."""
    assert not is_plain(path)
