"""gateway.isolation: every customer in a cache namespace of its own, at the engine and in our own index."""

import itertools
import json
from typing import Any

import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.app import create_app
from gateway.config import Config, CustomerConfig
from gateway.credentials import ISOLATION_SECRET
from gateway.identity import new_key
from gateway.isolation import Isolation
from prefix.errors import BodyError, ConfigError
from tests.cases import case
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, COMPLETIONS, GENERATE, Running, chat, error_of, running

SECRET = {ISOLATION_SECRET: "0123456789abcdef"}
LONG = "a prompt of several blocks and pages, again and again; " * 60
OK = whole(b"{}")


def keyed(*names: str, **settings: Any) -> tuple[list[str], dict[str, CustomerConfig]]:
    """A key for each name, and the customers."""
    pairs = [new_key() for _ in names]
    customers = {
        name: CustomerConfig(keys=(stored,), **settings) for name, (_, stored) in zip(names, pairs, strict=True)
    }
    return [f"Bearer {key}" for key, _ in pairs], customers


def test_a_salt_says_nothing_and_is_the_same_on_every_replica() -> None:
    """Same secret, customer and client salt: same salt; any other: another one, and nothing of it in the salt."""
    one, replica, stranger = Isolation(b"s" * 16), Isolation(b"s" * 16), Isolation(b"t" * 16)
    assert one.salt("acme", None) == replica.salt("acme", None) == one.salt("acme", "")
    asked = [("acme", None), ("acme", "x"), ("globex", None), ("globex", "x"), ("acme\0x", None), ('acme", "x', None)]
    salts = [isolation.salt(*each) for isolation in (one, stranger) for each in asked]
    assert len(set(map(str, salts))) == len(salts)
    assert all(isinstance(salt, str) and len(salt) == 32 and "acme" not in salt for salt in salts)


def test_case_37_namespaces_are_told_apart() -> None:
    """Names and salts that read alike when glued together are different namespaces."""
    isolation = Isolation(b"s" * 16)
    rows = case(37)["input"]["requests"]
    glued = {isolation.salt(row["cache_salt"] or "", row["extra_key"]) for row in rows}  # type: ignore[arg-type]
    assert len(glued) == len({(row["cache_salt"], row["extra_key"]) for row in rows})


def test_a_batch_keeps_its_own_namespaces() -> None:
    """One salt for each prompt whose client sent one for each; null is none."""
    isolation = Isolation(b"s" * 16)
    made = isolation.salt("acme", ["a", None, "b", "a"])
    assert made == [isolation.salt("acme", each) for each in ("a", None, "b", "a")]


@pytest.mark.parametrize("client", [5, {"a": 1}, [1], [["a"]], True])
def test_salts_no_engine_takes(client: Any) -> None:
    """400 with the place, as the engine would say, instead of a salt that hides it."""
    with pytest.raises(BodyError) as caught:
        Isolation(b"s" * 16).salt("acme", client)
    assert (caught.value.code, caught.value.pointer) == ("invalid_type", "/cache_salt")


def test_a_lone_surrogate_is_a_salt_like_any_other() -> None:
    """What JSON can carry does no harm."""
    assert Isolation(b"s" * 16).salt("acme", "\ud800") != Isolation(b"s" * 16).salt("acme", None)


BODIES: list[tuple[str, bytes]] = [
    (CHAT, b'{ "model":"m", "messages":[{"role":"user","content":"caf\\u00e9"}],"seed":12345678901234567890}'),
    (COMPLETIONS, b'{"model":"m","prompt":["a","b"],"n":1.0}'),
    (GENERATE, b'{"text":"x","x":NaN}'),
    (GENERATE, b'{"input_ids":[[1],[2]],"cache_salt":["a","b"]}'),
    (CHAT, b'{"model":"m","cache\\u005fsalt" : "mine","messages":[{"role":"user","content":"x"}]}'),
    (CHAT, b'{"model":"m","cache_salt":null,"extra_key":"k","messages":[{"role":"user","content":"x"}]}'),
]


@pytest.mark.parametrize(("path", "body"), BODIES)
async def test_it_is_spliced_and_every_other_byte_is_the_clients(path: str, body: bytes) -> None:
    """Taking the salt out of what the engine got leaves exactly what the client sent."""
    isolation = Isolation(SECRET[ISOLATION_SECRET].encode())
    async with FakeEngine(OK) as engine, running(engine, environ=SECRET, isolate_cache=True) as gateway:
        assert (await gateway.ask(path, body, x_prefixgate_customer="acme"))[0] == 200
    got = engine.received[0].body
    client = json.loads(body).get("cache_salt")
    salt = msgspec.json.encode(isolation.salt("acme", client))
    assert json.loads(got)["cache_salt"] == json.loads(salt)
    if client is None and b"cache_salt" not in body:
        assert got.replace(b'"cache_salt":' + salt + b",", b"", 1) == body
    else:
        assert got == body.replace(json.dumps(client, separators=(",", ":")).encode(), salt, 1)


async def cached(gateway: Running, key: str, path: str = CHAT, **more: Any) -> int:
    """Cached tokens that this customer is told."""
    body = chat(LONG, max_tokens=1, **more) if path == CHAT else {"text": LONG, "sampling_params": {}, **more}
    async with gateway.post(path, body, authorization=key) as response:
        answer = msgspec.json.decode(await response.read())
        assert response.status == 200, answer
    if path == GENERATE:
        return int(answer["meta_info"]["cached_tokens"])
    return int(answer["usage"]["prompt_tokens_details"]["cached_tokens"])


@pytest.mark.parametrize("path", [CHAT, GENERATE])
async def test_customers_share_nothing(path: str) -> None:
    """The engine tells B of no token that A computed, and our index expects none; each has its own cached."""
    (a, b), customers = keyed("a", "b")
    async with SimulatedEngine(EngineOptions(speed=1000, model="m")) as engine:
        for isolate in (False, True):
            await engine.stop()
            await engine.start()
            async with running(engine, environ=SECRET, customers=customers, isolate_cache=isolate) as gateway:
                assert await cached(gateway, a, path) == 0
                assert (await cached(gateway, b, path) > 0) is not isolate
                assert ((await gateway.last_record()).expected_cached_tokens == 0) is isolate
                for key in (a, b):
                    assert await cached(gateway, key, path) > 0
                    assert (await gateway.last_record()).expected_cached_tokens


async def test_a_customers_own_setting_wins() -> None:
    """One isolated customer among others, and one of isolated customers that shares."""
    (a, b, c), customers = keyed("a", "b", "c")
    for isolate, own, others in ((False, True, False), (True, False, True)):
        mixed = customers | {"a": msgspec.structs.replace(customers["a"], isolate_cache=own)}
        async with (
            FakeEngine(OK) as engine,
            running(engine, environ=SECRET, customers=mixed, isolate_cache=isolate) as gateway,
        ):
            for key in (a, b, c):
                await gateway.ask(CHAT, chat(), authorization=key)
        assert [b"cache_salt" in request.body for request in engine.received] == [own, others, others]


async def test_a_granted_salt_divides_but_never_leaves_the_customers_namespace() -> None:
    """Two customers that send the same salt, and one that sends another's derived one, share nothing."""
    (a, b), customers = keyed("a", "b", allow_fields=("cache_salt", "extra_key"))
    async with (
        SimulatedEngine(EngineOptions(speed=1000, model="m")) as engine,
        running(engine, environ=SECRET, customers=customers, isolate_cache=True) as gateway,
    ):
        stolen = Isolation(SECRET[ISOLATION_SECRET].encode()).salt("a", None)
        spaces = [{}, {"cache_salt": "x"}, {"cache_salt": "y"}, {"extra_key": "x"}, {"cache_salt": stolen}]
        for key, space in itertools.product((a, b), spaces):
            assert await cached(gateway, key, **space) == 0
        for key, space in itertools.product((a, b), spaces):
            assert await cached(gateway, key, **space) > 0


async def test_without_the_secret_nobody_is_served() -> None:
    """Neither a gateway nor a new configuration of one is made without it; the old one goes on."""
    isolating = Config(isolate_cache=True)
    with pytest.raises(ConfigError, match="no secret"):
        create_app(isolating)
    async with FakeEngine(OK) as engine, running(engine) as gateway:
        with pytest.raises(ConfigError, match="no secret"):
            gateway.app.reconfigure(isolating)
        assert (await gateway.ask(CHAT, chat()))[0] == 200


async def test_where_an_engine_takes_no_salt_it_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """501 rather than a prompt in the common cache."""
    monkeypatch.setattr("engine_adapter.sglang.SGLang.salted_paths", frozenset({CHAT}))
    async with FakeEngine(OK) as engine, running(engine, environ=SECRET, isolate_cache=True) as gateway:
        status, answer = await gateway.ask(COMPLETIONS, {"model": "m", "prompt": "x"})
        assert (status, error_of(answer)["code"]) == (501, "isolation_unsupported")
        assert engine.received == []
        assert (await gateway.ask(CHAT, chat()))[0] == 200
