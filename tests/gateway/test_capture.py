"""gateway.capture: what is asked for is captured, and no request waits for it or fails by it."""

import asyncio
import errno
import json
import logging
import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from gateway import capture
from gateway.capture import Captures
from gateway.capture_files import CaptureFiles
from gateway.capture_settings import CaptureConfig
from gateway.cli import cli
from gateway.config import CustomerConfig, RouteConfig
from gateway.config_file import load_config
from gateway.identity import new_key
from prefix.capture import Capture, parse_line
from prefix.errors import ConfigError
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, SOON_S, Running, chat, running, until

USED = whole(
    b'{"usage": {"prompt_tokens": 900, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 16}}}'
)
KEY = b"a key that replicas share"
RULES = "".join(
    f"Rule {at}: a clerk answers kindly, within the policy of refunds, and quotes {at}.\n" for at in range(40)
)


def captured(folder: Path) -> list[Capture]:
    """Every line of a folder of captures that has no full file."""
    return [
        parse_line(line, f"{path}:{number}")
        for path in sorted(folder.glob("*.jsonl"))
        for number, line in enumerate(path.read_bytes().splitlines(), start=1)
    ]


def on(folder: Path, **settings: Any) -> dict[str, Any]:
    """The setting that captures into this folder."""
    return {"capture": CaptureConfig(folder=str(folder), **settings)}


async def outcome(gateway: Running, name: str, count: int) -> None:
    """Wait until so many captures ended so."""
    await until(lambda: gateway.app.captures.counts[name] == count)


async def test_a_captured_request(tmp_path: Path) -> None:
    """The client's own body, and how it went; no header, no key, and what is not captured is not there."""
    key, stored = new_key()
    sent = b'{"messages": [{"content": "Hi", "role": "user"}], "temperature": 1.0,\n "model": "m"}'
    settings = on(tmp_path / "c", redact="none") | {
        "customers": {"acme": CustomerConfig(keys=(stored,), trusted=True)}
    }
    async with FakeEngine(USED, whole(b"{}", 500)) as engine, running(engine, **settings) as gateway:
        for _ in range(2):
            await gateway.ask(CHAT, sent, authorization=f"Bearer {key}", x_prefixgate_session="s-1", x_secret="hush")
        await gateway.ask(CHAT, sent, authorization="Bearer wrong")
        await gateway.ask(CHAT, b"{", authorization=f"Bearer {key}")
        await gateway.ask("/v1/embeddings", {"model": "m", "input": "x"}, authorization=f"Bearer {key}")
        await outcome(gateway, "written", 2)
        (worker,) = gateway.workers
        metrics = await gateway.metrics()
    served, failed = captured(tmp_path / "c")
    assert bytes(served.request) == sent.replace(b"\n", b" ")
    assert (served.customer, served.route, served.session, served.worker) == ("acme", "default", "s-1", worker.id)
    assert (served.status, served.input_tokens, served.cached_tokens, served.output_tokens) == (200, 900, 16, 20)
    assert served.uncached_by_reason is not None
    assert sum(served.uncached_by_reason.values()) == 884
    assert (failed.status, failed.outcome, failed.input_tokens) == (500, "error", None)
    (file,) = (tmp_path / "c").iterdir()
    assert not [word for word in (key, "Bearer", "hush", "secret") if word in file.read_text()]
    assert metrics['prefixgate_captures_total{outcome="written"}'] == 2
    assert metrics['prefixgate_captures_total{outcome="failed"}'] == 0


async def test_off_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, and no thread is there."""
    monkeypatch.chdir(tmp_path)
    async with FakeEngine(USED) as engine, running(engine) as gateway:
        await gateway.ask(CHAT, chat())
        await gateway.last_record()
        assert "captures" not in [thread.name for thread in threading.enumerate()]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("redact", ["none", "hash"])
async def test_the_linter_finds_what_was_planted(tmp_path: Path, redact: str) -> None:
    """A clock in front of the rules: the same finding, at the same place, in the same tokens but for a few."""
    async with FakeEngine(USED) as engine, running(engine, **on(tmp_path / "c", redact=redact)) as gateway:
        for at in range(12):
            system = f"Time: 2026-03-01T09:{at:02}:{at * 7 % 60:02}Z\n{RULES}"
            question = {"role": "user", "content": f"Where is parcel {at * 977}?"}
            await gateway.ask(CHAT, {"model": "m", "messages": [{"role": "system", "content": system}, question]})
        await outcome(gateway, "written", 12)
    arguments = f"lint {tmp_path / 'c'} --isolated --output-format json"
    linted = await asyncio.to_thread(CliRunner().invoke, cli, arguments.split())
    (found,) = [finding for finding in json.loads(linted.output) if finding["severity"] == "error"]
    assert (found["code"], found["pointer"], found["start"], found["occurrences"]) == (
        "PC101",
        "/messages/0/content",
        6,
        11,
    )
    behind = len(json.dumps(RULES) + ',{"role":"user","content":"Where is parcel "}')
    lost = 11 * behind / 4  # bytes of a token, assumed
    assert abs(found["recoverable_tokens"] - lost) < 0.01 * lost
    (file,) = (tmp_path / "c").iterdir()
    parted = CliRunner().invoke(cli, ["diff", f"{file}:1", f"{file}:2", "--json"])
    assert json.loads(parted.output)["cause"] == "clock"


async def test_no_request_waits_for_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that hangs: requests are answered, the queue is bounded, and what does not fit is counted."""
    hangs, real = threading.Event(), CaptureFiles.write

    def write(files: CaptureFiles, line: bytes, when: float) -> None:
        hangs.wait(SOON_S)
        real(files, line, when)

    monkeypatch.setattr(CaptureFiles, "write", write)
    monkeypatch.setattr(capture, "MOST_WAITING", 3)
    async with FakeEngine(USED) as engine, running(engine, **on(tmp_path / "c")) as gateway:
        await gateway.ask(CHAT, chat("first"))
        await until(lambda: not gateway.app.captures._waiting and gateway.app.captures._thread is not None)
        for _ in range(9):
            status, _ = await gateway.ask(CHAT, chat())
            assert status == 200
        await outcome(gateway, "queue_full", 6)
        assert gateway.app.captures.counts["written"] == 0
        hangs.set()
        await outcome(gateway, "written", 4)
    assert len(captured(tmp_path / "c")) == 4


async def test_the_queue_is_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few large bodies do not fill the memory."""
    monkeypatch.setattr(capture, "MOST_WAITING_BYTES", 5000)
    monkeypatch.setattr(capture, "_EVERY_S", SOON_S)
    async with FakeEngine(USED) as engine, running(engine, **on(tmp_path / "c")) as gateway:
        for _ in range(4):
            await gateway.ask(CHAT, chat("x" * 2000))
        await outcome(gateway, "queue_full", 2)
        assert gateway.app.captures._taken_bytes < 5000
    assert len(captured(tmp_path / "c")) == 2  # the end waits for what was taken


async def test_a_full_disk_fails_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Captures are lost and counted, it is said once, and when there is room again they are written."""
    real, is_full, tries = CaptureFiles.write, True, Counter[str]()

    def write(files: CaptureFiles, line: bytes, when: float) -> None:
        tries["all"] += 1
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(files, line, when)

    monkeypatch.setattr(CaptureFiles, "write", write)
    async with FakeEngine(USED) as engine, running(engine, **on(tmp_path / "c")) as gateway:
        for _ in range(5):
            status, _ = await gateway.ask(CHAT, chat())
            assert status == 200
        await outcome(gateway, "failed", 5)
        assert tries["all"] == 1  # a full disk is left alone for a while
        is_full = False
        gateway.app.captures._mute_until = 0.0
        await gateway.ask(CHAT, chat())
        await outcome(gateway, "written", 1)
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert said == ["captures are lost: [Errno 28] No space left on device"]
    assert len(captured(tmp_path / "c")) == 1


async def test_a_body_that_is_too_large_is_counted(tmp_path: Path) -> None:
    """Half a body would be no request."""
    async with FakeEngine(USED) as engine, running(engine, **on(tmp_path / "c", max_body_bytes=500)) as gateway:
        await gateway.ask(CHAT, chat("x" * 1000))
        await gateway.ask(CHAT, chat())
        await outcome(gateway, "written", 1)
        await outcome(gateway, "too_large", 1)


def conversations(count: int) -> Iterator[list[dict[str, Any]]]:
    """Bodies of three turns each."""
    for number in range(count):
        turns: list[dict[str, str]] = [{"role": "system", "content": "You help."}]
        bodies = []
        for turn in range(3):
            turns += [{"role": "user", "content": f"question {turn} of {number}"}]
            bodies.append({"model": "m", "messages": list(turns)})
            turns += [{"role": "assistant", "content": "answer"}]
        yield bodies


async def test_a_conversation_is_captured_whole_or_not_at_all(tmp_path: Path) -> None:
    """About as many as asked for; the same ones by every replica that has the key."""
    key_file = tmp_path / "key"
    key_file.write_bytes(KEY)
    kept = []
    for replica in ("a", "b"):
        folder = tmp_path / replica
        settings = on(folder, sample=0.4, redact="none", key_file=str(key_file))
        async with FakeEngine(USED) as engine, running(engine, **settings) as gateway:
            turns = zip(*conversations(40), strict=True)
            for bodies in turns:
                await asyncio.gather(*(gateway.ask(CHAT, body) for body in bodies))
        found = Counter(one.body()["messages"][1]["content"] for one in captured(folder))
        assert set(found.values()) == {3}
        kept.append(set(found))
    assert kept[0] == kept[1]
    assert 8 <= len(kept[0]) <= 24


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (chat("other", prompt_cache_key="s"), chat("words", prompt_cache_key="s")),
        (chat("a") | {"messages": [{"role": "user", "content": [{"type": "image"}, {"text": "q"}]}]}, chat("q")),
    ],
)
async def test_what_a_conversation_is_known_by(tmp_path: Path, first: Any, second: Any) -> None:
    """Its session, where the client names one; else the text of its first message, in either form."""
    async with FakeEngine(USED) as engine, running(engine, **on(tmp_path / "c", sample=0.5)) as gateway:
        places = []
        setup = gateway.app.captures._setup
        assert setup is not None
        takes = type(setup).place

        def noted(*given: Any) -> int:
            places.append(takes(*given))
            return places[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(setup), "place", noted)
            for body in (first, second, chat("another one")):
                await gateway.ask(CHAT, body)
            await gateway.last_record()
    assert places[0] == places[1] != places[2]


async def test_shares_by_route_and_customers_that_are_skipped(tmp_path: Path) -> None:
    """A route that wants all, one that wants none, and one whose customers never agreed."""
    settings = on(tmp_path / "c", sample=0.0, routes={"shop": 1.0}, skip_customers=("shy",), redact="none")
    routes = {"shop": RouteConfig(), "talk": RouteConfig()}
    async with FakeEngine(USED) as engine, running(engine, routes=routes, **settings) as gateway:
        for route, customer in (("shop", "a"), ("talk", "a"), ("shop", "shy")):
            await gateway.ask(CHAT, chat(), x_prefixgate_route=route, x_prefixgate_customer=customer)
        await outcome(gateway, "written", 1)
    assert [(one.route, one.customer) for one in captured(tmp_path / "c")] == [("shop", "a")]


async def test_reloading_changes_it(tmp_path: Path) -> None:
    """Off, on, to another folder, otherwise redacted; one that cannot be is refused, and the old one stays."""
    async with FakeEngine(USED) as engine, running(engine) as gateway:
        base = load_config(None, {"engines": gateway.app.config.engines})

        def reload(**settings: Any) -> None:
            gateway.app.reconfigure(load_config(None, {"engines": base.engines, "capture": settings}))

        await gateway.ask(CHAT, chat("unseen"))
        reload(folder=str(tmp_path / "a"), redact="none")
        await gateway.ask(CHAT, chat("one"))
        reload(folder=str(tmp_path / "b"), redact="hash")
        await gateway.ask(CHAT, chat("two"))
        with pytest.raises(ConfigError, match="capture: folder"):
            reload(folder=str(tmp_path / "no" / "such"))
        await gateway.ask(CHAT, chat("three"))
        await outcome(gateway, "written", 3)
    assert [one.body()["messages"][0]["content"] for one in captured(tmp_path / "a")] == ["one"]
    assert [len(one.body()["messages"][0]["content"]) for one in captured(tmp_path / "b")] == [3, 5]


def test_a_key_of_its_own_outlives_a_reload(tmp_path: Path) -> None:
    """Without a key file names stay the same names until the gateway ends."""
    config = CaptureConfig(folder=str(tmp_path))
    setups = []
    captures = Captures(config, None, b"made up")
    for key in (None, None, KEY):
        captures.configure(msgspec.structs.replace(config, sample=1 - len(setups) / 4), key)
        assert captures._setup is not None
        setups.append(captures._setup)
    names = [setup.form.label("a") for setup in setups]
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sample": 0.5}, "capture: name a folder"),
        ({"folder": "x", "sample": 2}, "sample"),
        ({"folder": "x", "redakt": "hash"}, "did you mean 'redact'"),
        ({"folder": "x", "redact": "hide"}, "redact"),
        ({"folder": "x", "routes": {"shpo": 1}}, "capture: unknown route 'shpo': did you mean 'shop'"),
        ({"folder": "x", "skip_customers": ["acne"]}, "capture: skip_customers: unknown customer 'acne'"),
        ({"folder": "x", "max_file_bytes": 5000}, "max_body_bytes is more than max_file_bytes"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    """Known before anything is captured, with the file and what would be valid."""
    file = tmp_path / "c.yaml"
    customers = {"acme": {"keys": [new_key()[1]]}}
    file.write_text(json.dumps({"routes": {"shop": {}}, "customers": customers, "capture": settings}))
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_config(file, {})


@pytest.mark.parametrize(("content", "message"), [(None, "No such file"), (b"short", "could be guessed")])
async def test_a_key_file_that_is_none(tmp_path: Path, content: bytes | None, message: str) -> None:
    """Known at start."""
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        async with running(**on(tmp_path / "c", key_file=str(path))):
            pass
