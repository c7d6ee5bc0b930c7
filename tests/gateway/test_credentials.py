"""gateway.credentials: secrets come from the environment or files, are there at start, and are shown to nobody."""

import logging
from pathlib import Path
from typing import Any

import pytest

from gateway.apis import RESPONSES
from gateway.config import Config, CustomerConfig
from gateway.credentials import ISOLATION_SECRET, load_secrets
from gateway.identity import new_key
from prefix.errors import ConfigError
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, chat, running

OK = whole(b"{}")
KEY = "engine-key-4711"


def test_nothing_is_needed_by_default() -> None:
    """No secret is asked for, and one that nobody needs is not read."""
    assert load_secrets(Config(), {}).isolation is None
    assert load_secrets(Config(isolation_secret_file="/nowhere"), {}).isolation is None


@pytest.mark.parametrize(
    ("settings", "environ", "says"),
    [
        ({"isolate_cache": True}, {}, "set PREFIXGATE_ISOLATION_SECRET or isolation_secret_file"),
        ({"isolate_cache": True}, {ISOLATION_SECRET: ""}, "set PREFIXGATE_ISOLATION_SECRET"),
        ({"isolate_cache": True}, {ISOLATION_SECRET: "hunter2"}, "shorter than 16 bytes"),
        ({"customers": {"a": CustomerConfig(isolate_cache=True)}}, {}, "isolate_cache needs a secret"),
        (
            {"isolate_cache": True, "isolation_secret_file": "/no/such"},
            {},
            "isolation_secret_file: /no/such: No such",
        ),
        ({"engine_credentials": {"*": "env:NO"}}, {}, "the environment variable NO is not set"),
        ({"engine_credentials": {"http://a:1": "file:/no/such"}}, {}, "http://a:1: /no/such: No such file"),
        ({"engine_credentials": {"*": KEY}}, {}, "env:NAME or file:PATH"),
        ({"engine_credentials": {"*": "env:"}}, {}, "env:NAME or file:PATH"),
        ({"engine_credentials": {"*": "env:K"}}, {"K": f"{KEY}\r\nx: y"}, "no header may carry it"),
    ],
)
def test_what_is_missing_is_said_and_no_value(settings: dict[str, Any], environ: dict[str, str], says: str) -> None:
    """One line that names the setting; the start fails instead of running without."""
    with pytest.raises(ConfigError) as caught:
        load_secrets(Config(**settings), environ)
    assert says in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_from_files_and_from_the_environment(tmp_path: Path) -> None:
    """A line's end is not part of a secret, and both ways give the same."""
    file = tmp_path / "secret"
    file.write_text("a secret of the replicas\n")
    by_file = load_secrets(Config(isolate_cache=True, isolation_secret_file=str(file)), {}).isolation
    by_name = load_secrets(Config(isolate_cache=True), {ISOLATION_SECRET: "a secret of the replicas"}).isolation
    assert by_file is not None
    assert by_name is not None
    assert by_file.salt("a", None) == by_name.salt("a", None)


def test_a_secret_is_not_in_its_repr() -> None:
    """Not even in a debugger's output or a traceback."""
    secrets = load_secrets(Config(engine_credentials={"*": "env:K"}), {"K": KEY})
    assert KEY not in repr(secrets)
    assert secrets.authorization("http://any:1") == f"Bearer {KEY}".encode()


async def test_an_engine_gets_its_own_credential_and_never_the_clients(caplog: pytest.LogCaptureFixture) -> None:
    """On requests and on our own questions; each engine its own; it is in no answer and no log."""
    key, stored = new_key()
    caplog.set_level(logging.DEBUG)
    async with FakeEngine(OK) as one, FakeEngine(OK) as two:
        asked = await _headers_of_polls(one)
        credentials = {one.url: "env:ONE", "*": "env:REST"}
        customers = {"acme": CustomerConfig(keys=(stored,))}
        async with running(
            one,
            two,
            policy="round-robin",
            engine_credentials=credentials,
            customers=customers,
            environ={"ONE": KEY, "REST": "other"},
        ) as gateway:
            for _ in range(2):
                await gateway.ask(CHAT, chat(), authorization=f"Bearer {key}", x_api_key=key)
            async with gateway.http.get("/workers") as response:
                shown = await response.text()
        for engine, value in ((one, f"Bearer {KEY}"), (two, "Bearer other")):
            (request,) = engine.received
            sent = [v for name, v in request.headers if name in ("authorization", "x-api-key", "api-key")]
            assert sent == [value]
        assert asked
        assert set(asked) == {f"Bearer {KEY}"}
    assert KEY not in shown + caplog.text


async def _headers_of_polls(engine: FakeEngine, path: str = "") -> list[str | None]:
    """What the engine's pages, or one of them, are shown from now on."""
    asked: list[str | None] = []
    respond = engine.respond

    async def watched(request: Any) -> None:
        if not path or request.target == path.encode():
            asked.append(dict(request.headers).get("authorization"))
        await respond(request)

    engine.respond = watched  # type: ignore[method-assign]
    return asked


async def test_without_customers_and_credentials_the_clients_passes() -> None:
    """Open mode: Authorization is the engine's business; a credential of the engine's takes its place."""
    async with FakeEngine(OK) as engine:
        async with running(engine) as gateway:
            await gateway.ask(CHAT, chat(), authorization="Bearer theirs")
        async with running(engine, engine_credentials={"*": "env:K"}, environ={"K": KEY}) as gateway:
            await gateway.ask(CHAT, chat(), authorization="Bearer theirs")
        sent = [[v for name, v in request.headers if name == "authorization"] for request in engine.received]
    assert sent == [["Bearer theirs"], [f"Bearer {KEY}"]]


async def test_who_looks_for_a_response_shows_what_its_request_would_show() -> None:
    """An id from before a restart: each engine is asked with its own credential, or else with the client's."""
    page = f"{RESPONSES}/resp_1"
    async with FakeEngine(OK) as one, FakeEngine(OK) as two:
        one.pages[page], two.pages[page] = (200, b"{}"), (404, b"{}")
        async with running(one, two, engine_credentials={one.url: "env:K"}, environ={"K": KEY}) as gateway:
            shown = {engine: await _headers_of_polls(engine, page) for engine in (one, two)}
            asked = {"model": "m", "input": "Go on.", "previous_response_id": "resp_1"}
            assert (await gateway.ask(RESPONSES, asked, authorization="Bearer theirs"))[0] == 200
        assert shown == {one: [f"Bearer {KEY}"], two: ["Bearer theirs"]}
        assert (len(one.received), len(two.received)) == (1, 0)


async def test_a_reload_brings_new_credentials() -> None:
    """Keys are replaced without a restart."""
    config = Config(engine_credentials={"*": "env:K"})
    async with FakeEngine(OK) as engine, running(engine, engine_credentials={"*": "env:K"}, environ={"K": "a"}) as gw:
        await gw.ask(CHAT, chat())
        gw.app.reconfigure(gw.app.config, load_secrets(config, {"K": "b"}))
        await gw.ask(CHAT, chat())
        sent = [dict(request.headers)["authorization"] for request in engine.received]
    assert sent == ["Bearer a", "Bearer b"]
