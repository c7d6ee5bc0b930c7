"""gateway.admin: the admin surface is open to operators and to nobody else."""

import asyncio
from typing import Any

import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.app import Gateway, create_app
from gateway.config import Config
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import request_bytes, running

READING = ["/workers", "/metrics", "/docs", "/openapi.json", "/api/cache"]
JSON = {"content-type": "application/json"}
LOCAL = {"host": "127.0.0.1:8080"}


async def status(
    app: Gateway,
    path: str,
    headers: dict[str, str],
    *,
    method: str = "GET",
    peer: str = "127.0.0.1",
    body: bytes = b"",
) -> tuple[int, Any]:
    """What one request is answered, driven without a socket so that its peer can be anybody. Status and body."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": (peer, 50000) if peer else None,
        "server": ("127.0.0.1", 8080),
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    answer = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], answer


async def refused(app: Gateway, path: str, headers: dict[str, str], **more: Any) -> str:
    """Why a request is refused."""
    code, answer = await status(app, path, headers, **more)
    error = msgspec.json.decode(answer)["error"]
    assert (code, error["code"], error["type"]) == (403, "admin_refused", "permission_error")
    assert isinstance(error["message"], str)
    return error["message"]


@pytest.mark.parametrize("path", READING)
@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("127.0.0.1", {"host": "localhost"}),
        ("127.0.0.1", {"host": "127.0.0.1:8080", "origin": "http://127.0.0.1:8080"}),
        ("::1", {"host": "[::1]:8080"}),
        ("127.8.8.8", {"host": "gateway.internal:8080"}),
    ],
)
async def test_without_a_token_this_machine_may(path: str, peer: str, headers: dict[str, str]) -> None:
    """Loopback peer, our Host, our Origin or none."""
    app = create_app(Config(host="gateway.internal"))
    assert (await status(app, path, headers, peer=peer))[0] == 200


@pytest.mark.parametrize(
    ("peer", "headers", "says"),
    [
        ("10.0.0.9", LOCAL, "not to 10.0.0.9"),
        ("", LOCAL, "this machine only"),
        ("fe80::1", LOCAL, "this machine only"),
        ("not an address", LOCAL, "this machine only"),
        ("127.0.0.1", LOCAL | {"x-forwarded-for": "127.0.0.1"}, "x-forwarded-for"),
        ("127.0.0.1", LOCAL | {"X-Forwarded-Host".lower(): "localhost"}, "x-forwarded-host"),
        ("127.0.0.1", LOCAL | {"forwarded": "for=127.0.0.1"}, "forwarded"),
        ("127.0.0.1", LOCAL | {"via": "1.1 proxy"}, "via"),
        ("127.0.0.1", {"host": "evil.example"}, "Host"),
        ("127.0.0.1", {"host": "127.0.0.1.evil.example"}, "Host"),
        ("127.0.0.1", {}, "Host"),
        ("127.0.0.1", {"host": "["}, "Host"),
        ("127.0.0.1", LOCAL | {"origin": "http://evil.example"}, "Origin"),
        ("127.0.0.1", LOCAL | {"origin": "null"}, "Origin"),
        ("127.0.0.1", LOCAL | {"origin": "http://localhost:3000"}, "Origin"),
        ("127.0.0.1", LOCAL | {"origin": "http://127.0.0.1:3000"}, "Origin"),
        ("127.0.0.1", LOCAL | {"origin": "http://127.0.0.1:8080.evil.example"}, "Origin"),
        ("127.0.0.1", LOCAL | {"origin": ""}, "Origin"),
    ],
)
async def test_without_a_token_others_may_not(peer: str, headers: dict[str, str], says: str) -> None:
    """Other machines, proxies, rebound names and web pages; the message says what would open it."""
    app = create_app(Config())
    for path in READING:
        message = await refused(app, path, headers, peer=peer)
        assert says in message
        assert "PREFIXGATE_ADMIN_TOKEN" in message
    await refused(app, "/workers", headers | JSON, peer=peer, method="POST", body=b'{"url":"http://a:1"}')
    await refused(app, "/workers/a:1", headers, peer=peer, method="DELETE")
    await refused(app, "/workers/a:1/drain", headers | JSON, peer=peer, method="POST", body=b"{}")
    assert list(app.workers) == []


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ("Bearer s3cret", True),
        ("s3cret", True),
        ("Bearer wrong", False),
        ("Bearer ", False),
        ("Bearer \xe9", False),
        (None, False),
    ],
)
async def test_with_a_token_only_with_it(given: str | None, allowed: bool) -> None:
    """From anywhere, also through a proxy; and from this machine no more than from another."""
    app = create_app(Config(), admin_token="s3cret")
    headers = {"host": "prefixgate.example", "via": "1.1 lb"} | ({"authorization": given} if given else {})
    for path in READING:
        for peer in ("10.0.0.9", "127.0.0.1"):
            if allowed:
                assert (await status(app, path, headers, peer=peer))[0] == 200
            else:
                assert "s3cret" not in await refused(app, path, headers, peer=peer)


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"]
)
async def test_mutations_are_json(content_type: str | None) -> None:
    """What a web page may send without asking is not taken."""
    app = create_app(Config())
    headers = LOCAL | ({"content-type": content_type} if content_type else {})
    assert "application/json" in await refused(app, "/workers", headers, method="POST", body=b'{"url":"http://a:1"}')
    assert list(app.workers) == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"url": 5}',
        b'{"url": "ftp://a"}',
        b'{"url": "http://"}',
        b'{"url": "http://["}',
        b'{"url": "http://a..b"}',
        b'{"url": "\xff"}',
        b'{"url": "http://user:secret@a:1"}',
        b"[" * 5000,
    ],
)
async def test_urls_that_cannot_be_workers(body: bytes) -> None:
    """422 with the field; credentials are not echoed."""
    app = create_app(Config())
    code, answer = await status(app, "/workers", LOCAL | JSON, method="POST", body=body)
    error = msgspec.json.decode(answer)["error"]
    assert (code, error["code"], error["param"]) == (422, "invalid_worker", "/url")
    assert "secret" not in error["message"]
    assert list(app.workers) == []


async def test_a_body_without_end() -> None:
    """413 once it is over the limit."""
    app = create_app(Config())
    code, answer = await status(app, "/workers", LOCAL | JSON, method="POST", body=b" " * 70_000)
    assert (code, msgspec.json.decode(answer)["error"]["code"]) == (413, "body_too_large")


async def test_an_operator_who_leaves_in_the_middle() -> None:
    """No worker, and nothing in the log (`running` looks): it is not an error of ours."""
    async with running() as gateway:
        _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(
            request_bytes("/workers", b'{"url": "http://127.0.0.1:9"}', "content-type: application/json")[:-5]
        )
        await asyncio.sleep(0.05)
        writer.transport.abort()
        await asyncio.sleep(0.05)
        assert gateway.workers == []


async def test_an_engine_is_added_once() -> None:
    """Twice is a conflict, also in another spelling."""
    async with (
        FakeEngine(whole(b"")) as engine,
        running(engine) as gateway,
        gateway.http.post("/workers", json={"url": engine.url + "/"}) as response,
    ):
        assert (response.status, (await response.json())["error"]["code"]) == (409, "worker_exists")


async def test_what_a_worker_is_told_about() -> None:
    """Every column has a value or null; an engine without cache report carries the warning, in words to act on."""
    async with FakeEngine(whole(b"")) as engine, FakeEngine(whole(b"")) as silent:
        silent.pages["/server_info"] = (
            200,
            b'{"served_model_name": "m", "version": "0.5.23", "enable_cache_report": false}',
        )
        async with running(engine, silent) as gateway, gateway.http.get("/workers") as response:
            first, second = (await response.json())["workers"]
    assert first["url"] == engine.url
    assert (first["state"], first["models"], first["page_size"]) == ("up", ["m"], 16)
    assert (first["kv_capacity_tokens"], first["cache_report"], first["warning"]) == (100_000, True, None)
    assert (second["version"], second["kv_capacity_tokens"], second["cache_report"]) == ("0.5.23", None, False)
    assert "--enable-cache-report" in second["warning"]


async def test_what_a_worker_delivered_and_why_it_computed_the_rest() -> None:
    """In `/workers` and in the metric: sums of its engine's reports; null before, and where there is none."""
    columns = ("input_tokens", "expected_cached_tokens", "cached_tokens", "uncached_by_reason")
    engine = SimulatedEngine(EngineOptions(speed=1e6, model="m"))
    silent = SimulatedEngine(EngineOptions(speed=1e6, model="silent", cache_report=False))
    async with engine, silent, running(engine, silent) as gateway:
        async with gateway.http.get("/workers") as response:
            assert {row[name] for row in (await response.json())["workers"] for name in columns} == {None}
        for model, text in (("m", "Go on. " * 400), ("m", "Go on. " * 400), ("silent", "Go on. ")):
            asked = {"model": model, "max_tokens": 2, "messages": [{"role": "user", "content": text}]}
            assert (await gateway.ask("/v1/chat/completions", asked))[0] == 200
            await gateway.last_record()
        async with gateway.http.get("/workers") as response:
            rows = {row["models"][0]: row for row in (await response.json())["workers"]}
        metrics = await gateway.metrics()
        records = [record for record in gateway.records if record.model == "m"]
    assert [rows["silent"][name] for name in columns] == [None] * 4
    row = rows["m"]
    assert row["input_tokens"] == sum(record.input_tokens or 0 for record in records)
    assert row["cached_tokens"] == records[1].cached_tokens
    assert row["expected_cached_tokens"] == sum(record.expected_cached_tokens or 0 for record in records)
    assert sum(row["uncached_by_reason"].values()) == row["input_tokens"] - row["cached_tokens"]
    for reason, count in row["uncached_by_reason"].items():
        labels = f'{{reason="{reason}",worker="{row["id"]}"}}'
        assert metrics[f"prefixgate_worker_uncached_tokens_total{labels}"] == count


async def test_what_there_is_of_an_engine_that_is_not_there() -> None:
    """Its state and why; unknown values are null."""
    engine = FakeEngine()
    async with engine:
        pass
    async with running(engine, wait=False) as gateway:
        await gateway.app.health.first_look(timeout_s=5)
        async with gateway.http.get("/workers") as response:
            (row,) = (await response.json())["workers"]
    assert row["state"] == "down"
    assert "connect" in row["last_error"]
    assert [row[name] for name in ("version", "page_size", "running", "kv_used_tokens", "cache_report")] == [None] * 5


async def test_metrics_in_both_formats() -> None:
    """Prometheus text, and OpenMetrics for who asks for it."""
    async with running() as gateway:
        for accept, kind in (("*/*", "text/plain"), ("application/openmetrics-text", "application/openmetrics-text")):
            async with gateway.http.get("/metrics", headers={"accept": accept}) as response:
                assert response.headers["content-type"].startswith(kind)
                page = await response.text()
            assert page.endswith("# EOF\n") is (kind != "text/plain")
            assert "prefixgate_input_tokens" in page
