"""The gateway before engines of each kind, as they answer (tests/data): found out or told, and what they are sent."""

from pathlib import Path
from typing import Any

import msgspec

from engine_adapter.engine import State
from gateway.config import CustomerConfig
from gateway.identity import new_key
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, error_of, running, until

DATA = Path(__file__).parents[1] / "data"
LONG = "You are a helpful assistant that answers in one word. " * 40
SECRET = {"PREFIXGATE_ISOLATION_SECRET": "0123456789abcdef"}


def page(kind: str, name: str) -> tuple[int, bytes]:
    """A recorded answer."""
    return 200, (DATA / kind / name).read_bytes()


def vllm() -> FakeEngine:
    """Says what vLLM says."""
    engine = FakeEngine(whole((DATA / "vllm" / "chat_cached.json").read_bytes()))
    engine.pages = {
        "/health": (200, b""),
        "/version": page("vllm", "version.json"),
        "/v1/models": page("vllm", "models.json"),
        "/metrics": page("vllm", "metrics_busy.txt"),
        "/is_sleeping": page("vllm", "is_sleeping.json"),
    }
    return engine


def llamacpp() -> FakeEngine:
    """Says what llama.cpp's server says."""
    engine = FakeEngine(whole((DATA / "llamacpp" / "chat_cached.json").read_bytes()))
    engine.pages = {
        "/health": page("llamacpp", "health.json"),
        "/props": page("llamacpp", "props.json"),
        "/v1/models": page("llamacpp", "models.json"),
        "/slots": page("llamacpp", "slots_idle.json"),
        "/metrics": (501, b""),
    }
    return engine


def chat(**more: Any) -> dict[str, Any]:
    """A chat with a long system prompt."""
    messages = [{"role": "system", "content": LONG}, {"role": "user", "content": "hi"}]
    return {"model": "tiny", "messages": messages, "max_tokens": 4, **more}


def sent(engine: FakeEngine) -> dict[str, Any]:
    """The last request the engine got."""
    body: dict[str, Any] = msgspec.json.decode(engine.received[-1].body)
    return body


async def test_a_sleeping_vllm_gets_no_requests() -> None:
    """Found by what it says, its load read off /metrics; asleep it is no candidate, though it is healthy."""
    async with vllm() as engine, running(engine) as gateway:
        (worker,) = gateway.workers
        await until(lambda: worker.load is not None and worker.load.waiting == 6)
        assert (worker.engine.kind, worker.info and worker.info.kv_capacity_tokens) == ("vllm", 8192)
        assert (await gateway.ask(CHAT, chat()))[0] == 200
        assert (await gateway.last_record()).cached_tokens == 288
        router = gateway.app.models.group("tiny").router
        assert router.blocks_held(worker.id) > 0
        engine.pages["/is_sleeping"] = (200, b'{"is_sleeping":true}')
        await until(lambda: worker.state is State.ASLEEP)
        assert router.blocks_held(worker.id) == 0
        status, body = await gateway.ask(CHAT, chat())
        assert (status, error_of(body)["code"]) == (503, "no_engine")
        engine.pages["/is_sleeping"] = page("vllm", "is_sleeping.json")
        await until(lambda: worker.state is State.UP)


async def test_a_slot_is_named_unless_the_client_named_one() -> None:
    """llama.cpp: the conversation's slot; a client's own number stays, byte for byte."""
    async with llamacpp() as engine, running(engine) as gateway:
        slots = []
        for body in (chat(), chat(), chat(messages=[{"role": "user", "content": LONG[::-1]}])):
            assert (await gateway.ask(CHAT, body))[0] == 200
            slots.append(sent(engine)["id_slot"])
        assert slots[0] == slots[1] != slots[2]
        raw = msgspec.json.encode(chat(id_slot=1))
        assert (await gateway.ask(CHAT, raw))[0] == 200
        assert engine.received[-1].body == raw


async def test_an_isolated_customer_goes_where_its_salt_is_read() -> None:
    """Never to an engine that ignores salts: the other one, or 501 with the reason."""
    key, hashed = new_key()
    customers = {"c": CustomerConfig(keys=(hashed,), isolate_cache=True)}
    bearer = f"Bearer {key}"
    async with llamacpp() as deaf, vllm() as salting:
        async with running(deaf, salting, customers=customers, environ=SECRET) as gateway:
            for number in range(3):
                ask = chat(messages=[{"role": "user", "content": f"{number} {LONG}"}])
                assert (await gateway.ask(CHAT, ask, authorization=bearer))[0] == 200
                assert len(sent(salting)["cache_salt"]) == 32
            assert not deaf.received
        async with running(deaf, customers=customers, environ=SECRET) as gateway:
            status, body = await gateway.ask(CHAT, chat(), authorization=bearer)
            assert (status, error_of(body)["code"]) == (501, "isolation_unsupported")
            assert "llamacpp takes no cache salt" in error_of(body)["message"]


async def test_a_hosted_endpoint_is_told_what_shares_a_prefix() -> None:
    """Only where configured; one key for one stable prefix, none in place of the client's or for a short one."""
    async with FakeEngine(whole((DATA / "openai" / "chat_cached.json").read_bytes())) as engine:
        engine.pages = {"/v1/models": page("openai", "models.json")}
        kinds = {engine.url: "openai"}
        async with running(engine, engine_kinds=kinds, prompt_cache_key=True) as gateway:
            keys = []
            for body in (
                chat(model="gpt-5-mini"),
                chat(model="gpt-5-mini", user="x"),
                chat(model="gpt-4o"),
                chat(model="gpt-4o", prompt_cache_key="own"),
                chat(model="gpt-4o", messages=[{"role": "user", "content": "hi"}]),
            ):
                assert (await gateway.ask(CHAT, body))[0] == 200
                keys.append(sent(engine).get("prompt_cache_key"))
            assert keys[0] == keys[1] != keys[2]
            assert keys[0] is not None
            assert keys[3:] == ["own", None]
            assert {worker.engine.kind for worker in gateway.workers} == {"openai"}
        async with running(engine, engine_kinds={"*": "openai"}) as gateway:
            assert (await gateway.ask(CHAT, chat(model="gpt-4o")))[0] == 200
            assert "prompt_cache_key" not in sent(engine)
