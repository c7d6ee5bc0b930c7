"""Further paths by allow-list, what never passes, and bodies that are none of the gateway's business."""

import io
import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apis import Apis
from gateway.config import CustomerConfig
from gateway.config_file import load_config
from gateway.identity import new_key
from gateway.management import may_be_proxied
from prefix.errors import ConfigError
from tests.cases import wire
from tests.gateway.fake_engine import END, EVENTS_HEAD, FakeEngine, chunk, raw, whole
from tests.gateway.running import CHAT, chat, error_of, exchange, request_bytes, running

ALLOWED = ("/v1/rerank", "/v1/audio/*", "/*")
SGLANG = Path(__file__).parents[1] / "data" / "sglang" / "routes.txt"
MANAGING = """
    /flush_cache /load_lora_adapter /v1/load_lora_adapter /v1/unload_lora_adapter /update_weights_from_disk
    /get_weights_by_name /weights_checker /release_memory_occupation /resume_memory_occupation /pause_generation
    /continue_generation /pause /resume /v1/loads /V1/Loads /get_load /start_profile /stop_profile /abort_request
    /set_internal_state /configure_logging /slow_down /freeze_gc /hicache/storage-backend /server_info
    /get_server_info /sleep /wake_up /is_sleeping /reset_prefix_cache /collective_rpc /scale_elastic_ep /slots/0
    /props /lora-adapters /models/load /update_weights /kv_cache_events /open_session /health_generate /load
    /v1/models /v1/models/m /workers /workers/x/drain
    /api/cache /metrics /docs /openapi.json /dashboard /health /ready
""".split()
HARMLESS = """
    /v1/rerank /v1/score /v1/classify /tokenize /detokenize /v1/tokenize /v1/audio/transcriptions /v1/audio/speech
    /v1/images/generations /v1/moderations /invocations /pooling /encode /v1/decisions /model_info /ping /infill
    /apply-template /version /v1/files /v1/batches /separate_reasoning /parse_function_call
""".split()


@pytest.mark.parametrize("path", MANAGING)
def test_management_never_passes(path: str) -> None:
    """Not as a pattern's match, not as an entry: a configuration that lists it is refused with the reason."""
    assert not may_be_proxied(path)
    assert Apis(("/*", "/v1/*", "/hicache/*")).find(path) is None
    with pytest.raises(ConfigError, match="never passes"):
        load_config(None, {"allow_paths": [path]})
    with pytest.raises(ConfigError, match="never passes"):
        load_config(None, {"allow_paths": [path + "/*"]})


WORDS = st.sampled_from(
    [*"v1 flush_cache pause .. . %2e Flush_Cache load_lora_adapter rerank weights a b".split(), "", "x y"]
)


@given(st.lists(WORDS, max_size=5).map("/".join))
def test_no_path_that_is_found_manages_anything(path: str) -> None:
    """However segments are put together: what a pattern lets through is plain and has no managing segment."""
    found = Apis(("/*", "/v1/*")).find("/" + path)
    if found is not None:
        assert set(path.lower().split("/")).isdisjoint(
            {"flush_cache", "pause", "load_lora_adapter", "weights", "", ".."}
        )
        assert not set(path) & set("% ")


@pytest.mark.parametrize("path", HARMLESS)
def test_what_serves_requests_may_be_listed(path: str) -> None:
    """And is found exactly, below a prefix, or not at all."""
    assert load_config(None, {"allow_paths": [path]}).allow_paths == (path,)
    assert Apis((path,)).find(path) is not None
    assert Apis(("/*",)).find(path) is not None
    assert Apis().find(path) is None


@pytest.mark.parametrize("path", ["", "rerank", "/v1/*/x", "/a//b", "/a/../b", "/v1/rerank/", "/a b", "/*/*"])
def test_an_entry_that_is_no_path_is_refused(path: str) -> None:
    """With what it should look like."""
    with pytest.raises(ConfigError, match=re.escape("/v1/audio/*")):
        load_config(None, {"allow_paths": [path]})


async def test_every_body_passes_unchanged() -> None:
    """Multipart, text, JSON that is none, nothing: the engine gets the client's bytes, on GET and POST."""
    bodies = [b"\x00\xff" * 50, b"{not json", b'{"a": 1,  "a": 2}', b"", b"[1]", b'{"tools": [{"name": "b"}]}']
    async with FakeEngine(whole(b'{"ok":1}')) as engine, running(engine, allow_paths=ALLOWED) as gateway:
        for body in bodies:
            assert await gateway.ask("/v1/rerank?top=3", body, content_type="text/plain") == (200, b'{"ok":1}')
            sent = engine.received[-1]
            assert (sent.body, sent.target) == (body, b"/v1/rerank?top=3")
            assert dict(sent.headers)["content-type"] == "text/plain"
        async with gateway.http.get("/v1/audio/voices") as answer:
            assert (answer.status, await answer.read()) == (200, b'{"ok":1}')
        assert engine.received[-1].head.startswith(b"GET /v1/audio/voices ")
        async with gateway.http.head("/v1/audio/voices") as answer:
            assert (answer.status, await answer.read(), answer.headers["content-length"]) == (200, b"", "8")
        async with gateway.http.put("/v1/rerank", data=b"x") as answer:
            assert (answer.status, answer.headers["allow"]) == (405, "GET, POST, HEAD, OPTIONS")
        record = await gateway.last_record()
        assert record.path == "/v1/rerank"


async def test_a_form_finds_the_engines_of_its_model() -> None:
    """Audio comes as multipart; its model is a field of the form, wherever it stands."""
    one, two = FakeEngine(whole(b"1"), model="one"), FakeEngine(whole(b"2"), model="two")
    async with one, two, running(one, two, allow_paths=ALLOWED) as gateway:
        for model, told in (("one", b"1"), ("two", b"2")):
            for first in (True, False):
                form = aiohttp.FormData()
                fields: list[tuple[str, Any]] = [("model", model), ("file", bytes(300_000))]
                for name, value in fields if first else fields[::-1]:
                    form.add_field(name, value, **({"filename": "a.wav"} if name == "file" else {}))
                async with gateway.http.post("/v1/audio/transcriptions", data=form) as answer:
                    assert (answer.status, await answer.read()) == (200, told)
        assert len(one.received[-1].body) > 300_000
        async with gateway.http.get("/v1/audio/voices?model=two") as answer:
            assert await answer.read() == b"2"
        status, body = await gateway.ask("/v1/rerank", b"who?")
        assert (status, error_of(body)["code"]) == (400, "missing_field")


async def test_with_customers_nothing_in_an_object_goes_unseen() -> None:
    """What begins like JSON must be readable, or control fields could hide in it."""
    key, hashed = new_key()
    customers = {"ann": CustomerConfig((hashed,))}
    async with (
        FakeEngine(whole(b"{}")) as engine,
        running(engine, allow_paths=ALLOWED, customers=customers) as gateway,
    ):
        for body, status in ((b'{"rid":1,"rid":2}', 400), (b" {x", 400), (b"x", 200), (b'{"a":1}', 200)):
            assert (await gateway.ask("/v1/rerank", body, authorization=f"Bearer {key}"))[0] == status


async def test_streams_of_unknown_dialects_pass_as_they_are() -> None:
    """Nobody knows how they end, so no error is added to them."""
    events = b"event: transcript\ndata: hi\n\n"
    async with (
        FakeEngine(raw(EVENTS_HEAD, chunk(events), END)) as engine,
        running(engine, allow_paths=ALLOWED) as gateway,
    ):
        assert await gateway.ask("/v1/audio/transcriptions", b"x") == (200, events)
        assert (await gateway.last_record()).outcome == "ok"


@pytest.mark.parametrize(
    "path",
    ["/v1/../flush_cache", "/v1//flush_cache", "/v1/%2e%2e/flush_cache", "/x%0d%0aa:b", "/x%2f..%2fy", "/./pause"],
)
async def test_no_spelling_reaches_management(path: str) -> None:
    """Dot segments, empty ones and escapes are not proxied at all."""
    async with FakeEngine(whole(b"{}")) as engine, running(engine, allow_paths=("/*",)) as gateway:
        answer = await exchange(gateway.port, request_bytes(path, b"{}", "connection: close"))
        assert answer.startswith(b"HTTP/1.1 404 ")
        assert engine.received == []


async def test_a_large_image_in_a_chat_passes() -> None:
    """Twenty megabytes of base64 arrive whole, and are no prompt of five million tokens to the router."""
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * (20 << 20)}}
    messages = [{"role": "user", "content": [part, {"type": "text", "text": "what is it?"}]}]
    async with FakeEngine(whole(b"{}")) as engine, running(engine) as gateway:
        body = io.BytesIO(wire(chat(messages=messages)))
        async with gateway.http.post(CHAT, data=body, headers={"content-type": "application/json"}) as answer:
            assert answer.status == 200
        assert len(engine.received[-1].body) > 20 << 20
        record = await gateway.last_record()
        assert record.prompt_bytes < 1000


# ---------------------------------------------------------------------- HEAD, OPTIONS, CORS


@pytest.mark.parametrize("path", ["/health", "/ready", "/v1/models", "/v1/models/m"])
async def test_head_is_get_without_a_body(path: str) -> None:
    """Same status and length; monitors use it."""
    async with (
        FakeEngine(whole(b"{}")) as engine,
        running(engine) as gateway,
        gateway.http.get(path) as get,
        gateway.http.head(path) as head,
    ):
        assert (head.status, await head.read()) == (200, b"")
        assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        (CHAT, "POST, OPTIONS"),
        ("/v1/models", "GET, HEAD, OPTIONS"),
        ("/v1/responses/r1", "GET, DELETE, HEAD, OPTIONS"),
        ("/v1/rerank", "GET, POST, HEAD, OPTIONS"),
    ],
)
async def test_options_tells_the_methods(path: str, allow: str) -> None:
    """204 with Allow; nothing about other origins unless configured."""
    async with (
        FakeEngine(whole(b"{}", headers=["access-control-allow-origin: *"])) as engine,
        running(engine, allow_paths=ALLOWED) as gateway,
    ):
        async with gateway.http.options(path, headers={"origin": "https://a.example"}) as answer:
            assert (answer.status, answer.headers["allow"]) == (204, allow)
            assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        async with gateway.post(CHAT, chat(), origin="https://a.example") as answer:
            assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        assert (await gateway.http.options("/workers")).status == 405


async def test_web_pages_of_configured_origins_may_use_the_gateway() -> None:
    """Preflights are answered; answers, errors and streams carry the header; the admin surface never does."""
    page, other = "https://a.example", "https://b.example"
    asks = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,x-stainless-os"}
    engine_says = ["access-control-allow-origin: *", "access-control-allow-credentials: true"]
    async with (
        FakeEngine(whole(b"{}", headers=engine_says), raw(EVENTS_HEAD, chunk(b"data: [DONE]\n\n"), END)) as engine,
        running(engine, cors_origins=(page,)) as gateway,
    ):
        async with gateway.http.options(CHAT, headers={"origin": page, **asks}) as answer:
            told = {name.lower(): value for name, value in answer.headers.items()}
            assert answer.status == 204
            assert told["access-control-allow-origin"] == page
            assert told["access-control-allow-headers"] == asks["access-control-request-headers"]
            assert told["access-control-allow-methods"] == "POST"
            assert told["vary"] == "origin"
        bodies: list[Any] = [chat(), chat(stream=True), {}]
        for body in bodies:
            async with gateway.post(CHAT, body, origin=page) as answer:
                await answer.read()
                assert answer.headers.getall("access-control-allow-origin") == [page]
                assert answer.headers["access-control-expose-headers"] == "*"
                assert "access-control-allow-credentials" not in answer.headers
        for path, origin in (("/v1/models", page), ("/v1/models/none", page)):
            async with gateway.http.get(path, headers={"origin": origin}) as answer:
                assert answer.headers["access-control-allow-origin"] == page
        async with gateway.http.options(CHAT, headers={"origin": other, **asks}) as answer:
            assert "access-control-allow-origin" not in answer.headers
        for path in ("/workers", "/metrics", "/docs"):
            async with gateway.http.get(path, headers={"origin": page}) as answer:
                assert "access-control-allow-origin" not in answer.headers


async def test_all_origins() -> None:
    """With `*` every page may, and no cache needs to tell them apart."""
    async with (
        FakeEngine(whole(b"{}")) as engine,
        running(engine, cors_origins=("*",)) as gateway,
        gateway.post(CHAT, chat(), origin="null") as answer,
    ):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "vary" not in answer.headers


@pytest.mark.parametrize("origin", ["a.example", "https://a.example/", "https://A.example", "https://*.example", ""])
def test_an_origin_that_no_browser_sends_is_refused(origin: str) -> None:
    """Exact origins only; a wrong one would silently allow nobody."""
    with pytest.raises(ConfigError, match="cors_origins"):
        load_config(None, {"cors_origins": [origin]})


def test_the_routes_of_the_engine_we_know() -> None:
    """All of SGLang 0.5.23: those that serve may be listed, those for operators may not."""
    routes = {line[2:]: line[0] for line in SGLANG.read_text(encoding="utf-8").splitlines() if line[:1] in "+-"}
    assert len(routes) > 70
    wrong = {path: mark for path, mark in routes.items() if may_be_proxied(path) is not (mark == "+")}
    assert wrong == {}
    assert json.dumps(sorted(routes)) == json.dumps(list(routes))
