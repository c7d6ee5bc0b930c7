"""gateway.admission: limits as a client sees them, and that nothing of them is lost whatever happens."""

import asyncio
from typing import Any

import aiohttp
import openai
import pytest

from gateway.admission import duration
from gateway.app import Gateway
from gateway.config import CustomerConfig
from gateway.identity import new_key
from gateway.limits import Limits
from tests.gateway.fake_engine import EVENTS_HEAD, FakeEngine, chunk, raw, whole, whole_bytes
from tests.gateway.running import CHAT, Running, chat, error_of, exchange, request_bytes, running, sums, until

USED = whole(b'{"usage": {"prompt_tokens": 30, "completion_tokens": 20, "total_tokens": 50}}')


def customers(**limits: Limits) -> tuple[dict[str, dict[str, str]], dict[str, CustomerConfig]]:
    """Headers with the key of each customer, and their configuration."""
    pairs = {name: new_key() for name in limits}
    configs = {name: CustomerConfig(keys=(pairs[name][1],), limits=limit) for name, limit in limits.items()}
    return {name: {"authorization": f"Bearer {key}"} for name, (key, _) in pairs.items()}, configs


def places_taken(app: Gateway) -> int:
    """Requests that count as open at the limits."""
    return sum(account.open for account in app.proxy.admission.limiter._accounts.values())


async def test_who_may_not_go_on_is_told_before_the_body() -> None:
    """A wrong key, or a limit that is reached: answered at the head, so that nobody fills the memory that way."""
    key, configs = customers(acme=Limits(requests_per_s=0.01, burst=1), other=Limits(max_concurrent=1))
    head = request_bytes(CHAT, b"", "content-type: application/json", "connection: close")
    large = head.replace(b"content-length: 0", b"content-length: %d" % (50 << 20))
    async with FakeEngine(USED) as engine, running(engine, customers=configs) as gateway:
        assert (await gateway.ask(CHAT, chat(), **key["acme"]))[0] == 200
        waiting = await asyncio.open_connection("127.0.0.1", gateway.port)
        waiting[1].write(with_key(large, key["other"]))
        await until(lambda: places_taken(gateway.app) == 1)
        for headers, status in (({"authorization": "Bearer wrong"}, 401), (key["acme"], 429), (key["other"], 429)):
            assert (await exchange(gateway.port, with_key(large, headers))).startswith(b"HTTP/1.1 %d " % status)
        assert gateway.app.proxy._bodies.held == 0
        waiting[1].transport.abort()
        await until(lambda: places_taken(gateway.app) == 0)
        assert len(engine.received) == 1
        await asyncio.gather(waiting[1].wait_closed(), return_exceptions=True)


def with_key(request: bytes, headers: dict[str, str]) -> bytes:
    """A request with a key among its headers."""
    return request.replace(b"\r\n", b"\r\nauthorization: " + headers["authorization"].encode() + b"\r\n", 1)


async def test_limits_as_a_client_sees_them() -> None:
    """Standing on every answer, then 429 with when to come back; nobody else is touched; all of it counted."""
    key, configs = customers(acme=Limits(requests_per_s=0.5, burst=2), other=Limits(requests_per_s=0.5, burst=2))
    async with FakeEngine(USED) as engine, running(engine, customers=configs) as gateway:
        seen = []
        for _ in range(3):
            async with gateway.post(CHAT, chat(), **key["acme"]) as response:
                seen.append((response.status, response.headers.copy(), await response.read()))
        assert [status for status, _, _ in seen] == [200, 200, 429]
        first, last = seen[0][1], seen[2][1]
        assert (first["x-ratelimit-limit-requests"], first["x-ratelimit-remaining-requests"]) == ("2", "1")
        assert first["x-ratelimit-reset-requests"].endswith("s")
        assert first["ratelimit-policy"] == '"requests";q=2;w=4'
        assert first["ratelimit"].startswith('"requests";r=1;t=')
        assert last["x-ratelimit-remaining-requests"] == "0"
        assert last["retry-after"] == "2"
        error = error_of(seen[2][2])
        assert (error["code"], error["type"]) == ("rate_limited", "rate_limit_error")
        assert "0.5 requests/s" in error["message"]
        assert (await gateway.ask(CHAT, chat(), **key["other"]))[0] == 200
        record = gateway.records[2]
        assert (record.status, record.customer, record.limit, record.outcome) == (429, "acme", "requests", "rejected")
        metrics = await gateway.metrics()
        assert sums(metrics, "prefixgate_rate_limited_total", customer="acme", limit="requests") == 1
        assert sums(metrics, "prefixgate_rate_limited_total") == 1
        assert len(engine.received) == 3


async def test_the_openai_sdk_understands_it() -> None:
    """It raises RateLimitError with the code, and waits as it is told when it may retry."""
    key, configs = customers(acme=Limits(requests_per_s=1, burst=1))
    answer = b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[]}'
    async with FakeEngine(whole(answer)) as engine, running(engine, customers=configs) as gateway:
        token = key["acme"]["authorization"].removeprefix("Bearer ")
        async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key=token, max_retries=0) as client:
            messages: list[Any] = [{"role": "user", "content": "x"}]
            await client.chat.completions.create(model="m", messages=messages)
            with pytest.raises(openai.RateLimitError) as caught:
                await client.chat.completions.create(model="m", messages=messages)
            assert caught.value.code == "rate_limited"
            await client.with_options(max_retries=2).chat.completions.create(model="m", messages=messages)


async def test_tokens_are_settled_by_what_the_engine_reports() -> None:
    """The estimate (prompt and max_tokens) is given back, what was used is taken."""
    key, configs = customers(acme=Limits(tokens_per_min=1000))
    async with FakeEngine(USED) as engine, running(engine, customers=configs) as gateway:
        left = []
        for _ in range(2):
            async with gateway.post(CHAT, chat(max_tokens=900), **key["acme"]) as response:
                left.append(int(response.headers["x-ratelimit-remaining-tokens"]))
                assert response.headers["ratelimit-policy"] == '"tokens";q=1000;w=60'
            await gateway.last_record()
            account = gateway.app.proxy.admission.limiter._accounts["acme"]
            assert account.tokens is not None
            left.append(round(account.tokens.level))
        assert left[0] < 100
        assert 950 <= left[1] <= 952
        assert left[2] < 52
        assert 900 <= left[3] <= 905


async def test_too_many_tokens() -> None:
    """429 before anything is sent; the request is worth its tokens again a while later."""
    key, configs = customers(acme=Limits(tokens_per_min=1000))
    async with FakeEngine(USED) as engine, running(engine, customers=configs) as gateway:
        async with gateway.post(CHAT, chat("x" * 4000), **key["acme"]) as response:  # all of a full bucket
            assert response.status == 200
            account = gateway.app.proxy.admission.limiter._accounts["acme"]
            assert account.tokens is not None
        account.tokens.level = 0
        async with gateway.post(CHAT, chat("x" * 400), **key["acme"]) as response:
            assert response.status == 429
            assert 1 <= int(response.headers["retry-after"]) <= 10
        assert (await gateway.last_record()).limit == "tokens"
        assert places_taken(gateway.app) == 0


async def leaves(gateway: Running, body: Any, headers: dict[str, str]) -> None:
    """A client that goes away once the first bytes are there."""
    async with gateway.post(CHAT, body, **headers) as response:
        await response.content.readany()
        response.close()


ENDS: dict[str, tuple[Any, Any]] = {
    "an answer": (USED, chat()),
    "a stream": (raw(EVENTS_HEAD, chunk(b"data: [DONE]\n\n"), b"0\r\n\r\n"), chat(stream=True)),
    "a broken stream": (raw(EVENTS_HEAD, chunk(b"data: {}\n\n"), then="reset"), chat(stream=True)),
    "an engine's error": (whole(b"{}", 500), chat()),
    "a client error": (whole(b"{}", 400), chat()),
    "an engine that dies": (raw(b"", then="reset"), chat()),
    "garbage": (raw(b"garbage\r\n\r\n", then="close"), chat()),
    "a body that is none": (USED, b"{"),
    "a model that is none": (USED, chat() | {"model": "n"}),
    "a field that is not allowed": (USED, chat(priority=1)),
}


@pytest.mark.parametrize("how", ENDS)
async def test_a_place_is_free_again_however_a_request_ends(how: str) -> None:
    """With one place, the next request gets it."""
    answer, body = ENDS[how]
    key, configs = customers(acme=Limits(max_concurrent=1))
    async with FakeEngine(answer, USED) as engine, running(engine, customers=configs) as gateway:
        try:
            await gateway.ask(CHAT, body, **key["acme"])
        except aiohttp.ClientError:  # a broken stream has no end
            assert how == "a broken stream"
        await until(lambda: places_taken(gateway.app) == 0)
        engine.answers = [USED]
        await gateway.ready(1)
        assert (await gateway.ask(CHAT, chat(), **key["acme"]))[0] == 200


async def test_a_place_is_free_again_when_the_client_leaves() -> None:
    """Before the first byte of the answer and behind it; while it is taken, the next one is refused."""
    key, configs = customers(acme=Limits(max_concurrent=1))
    started = raw(EVENTS_HEAD, chunk(b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'))
    async with FakeEngine(raw(), started) as engine, running(engine, customers=configs) as gateway:
        waiting = asyncio.ensure_future(gateway.ask(CHAT, chat(), **key["acme"]))
        await until(lambda: len(engine.received) == 1)
        status, answer = await gateway.ask(CHAT, chat(), **key["acme"])
        assert (status, "1 requests at a time" in error_of(answer)["message"]) == (429, True)
        waiting.cancel()
        await until(lambda: places_taken(gateway.app) == 0)
        await leaves(gateway, chat(stream=True), key["acme"])
        await until(lambda: places_taken(gateway.app) == 0)


async def test_in_open_mode_the_header_says_whose_limits_count() -> None:
    """What a body says of its customer is not believed; without the header all share one account."""
    limits = Limits(requests_per_s=0.1, burst=1)
    async with FakeEngine(USED) as engine, running(engine, limits=limits) as gateway:
        told = [
            (await gateway.ask(CHAT, chat(metadata={"customer": f"c{n}"}), **headers))[0]
            for n, headers in enumerate([{}, {}, {"x_prefixgate_customer": "a"}, {"x_prefixgate_customer": "a"}])
        ]
    assert told == [200, 429, 200, 429]


async def test_without_limits_there_are_no_such_headers() -> None:
    """Nothing is said of limits that are not there, and the engine's own headers pass."""
    answer = raw(whole_bytes(b"{}", headers=("x-ratelimit-limit-requests: 7",)))
    async with FakeEngine(answer) as engine, running(engine) as gateway, gateway.post(CHAT, chat()) as response:
        assert [v for k, v in response.headers.items() if "ratelimit" in k.lower()] == ["7"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0ms"),
        (0.0123, "13ms"),
        (1, "1s"),
        (8.6401, "8.64s"),
        (59.9999, "60s"),
        (360, "6m0s"),
        (61.2, "1m2s"),
        (3605, "1h0m5s"),
    ],
)
def test_durations_as_openai_writes_them(seconds: float, text: str) -> None:
    """Clients parse them."""
    assert duration(seconds) == text
