"""gateway.bench.target: what a run would fail with is said before it begins, in one line with what to do."""

import re

import pytest

from gateway.apis import CHAT
from gateway.bench.client import Target
from gateway.bench.target import choose_model, header_of, known_models, probe, url_of
from prefix.errors import ConfigError, EngineError
from tests.gateway.bench.target import STREAM, Handler, plain, streaming, target

MODELS = {"data": [{"id": "m"}, {"id": "m:lora"}]}


async def test_models_are_asked_for() -> None:
    """[] where there is no such list: then nothing can be checked."""
    async with target(plain({}), v1_models=MODELS) as asked:
        assert await known_models(asked) == ["m", "m:lora"]
    for other in (404, {"detail": "?"}):
        async with target(plain({}), v1_models=other) as asked:
            assert await known_models(asked) == []


async def test_a_target_that_is_not_there_or_refuses(unused_tcp_port: int) -> None:
    """Says so, and what to do."""
    gone = Target(f"http://127.0.0.1:{unused_tcp_port}", {}, 5.0)
    with pytest.raises(EngineError, match=r"cannot be reached .*is it running there"):
        await known_models(gone)
    await gone.http.close()
    async with target(plain({}), v1_models=401) as asked:
        with pytest.raises(EngineError, match=r"refuses us .*--key-env"):
            await known_models(asked)


@pytest.mark.parametrize(
    ("wanted", "recorded", "known", "chosen"),
    [
        ("m", set(), [], "m"),
        ("m", {"x"}, ["m"], "m"),
        (None, {"x"}, ["x", "y"], None),
        (None, {"x"}, [], None),
        (None, set(), ["only"], "only"),
    ],
)
def test_the_model(wanted: str | None, recorded: set[str], known: list[str], chosen: str | None) -> None:
    """The wanted one, what recorded bodies say, or the only one there is."""
    assert choose_model(wanted, recorded, known, "http://t") == chosen


@pytest.mark.parametrize(
    ("wanted", "recorded", "known", "message"),
    [
        ("n", set(), ["m"], "no model 'n', but 'm'"),
        (None, {"n", "m"}, ["m"], "no model 'n', but 'm'"),
        (None, set(), ["a", "b"], "lists 2 models (a, b): choose one with --model"),
        (None, set(), [], "does not say which models it has"),
    ],
)
def test_an_unknown_model_is_named(wanted: str | None, recorded: set[str], known: list[str], message: str) -> None:
    """With those there are."""
    with pytest.raises(ConfigError, match=re.escape(message)):
        choose_model(wanted, recorded, known, "http://t")


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (plain({"error": {"message": "who?"}}, 401), "refuses us .*who.*--key-env"),
        (
            plain({"message": "extra field"}, 400),
            "extra field; where a server knows no `ignore_eos`: --no-ignore-eos",
        ),
        (plain({"detail": "Not Found"}, 404), "does not answer a short request: HTTP 404"),
        (plain({"error": {"message": "no engine"}}, 503), "HTTP 503: no engine"),
    ],
)
async def test_a_probe_that_fails_ends_it(handler: Handler, message: str) -> None:
    """A run would fail as well."""
    async with target(handler) as asked:
        with pytest.raises(EngineError, match=message):
            await probe(asked, CHAT, b'{"ignore_eos":true}')


async def test_a_probe_that_is_answered_or_has_to_wait() -> None:
    """Nothing to say; a limit of rates is what a run may measure, so it is only told."""
    async with target(streaming(*STREAM)) as asked:
        assert await probe(asked, CHAT, b"{}") is None
    async with target(plain({"error": {"message": "slow down"}}, 429)) as asked:
        assert "rejected the probe (HTTP 429: slow down)" in str(await probe(asked, CHAT, b"{}"))


def test_urls_and_headers() -> None:
    """As people write them; what is wrong is named, a header's value never is."""
    assert url_of("http://h:1/v1/") == url_of("http://h:1") == "http://h:1"
    assert header_of("X-A: b: c") == ("X-A", "b: c")
    for bad in ("h:1", "ftp://h", "http://"):
        with pytest.raises(ConfigError, match="must look like http://host:port"):
            url_of(bad)
    with pytest.raises(ConfigError, match="must not carry credentials"):
        url_of("http://user:secret@h")
    with pytest.raises(ConfigError, match="must look like 'Name: value'"):
        header_of("secret")
