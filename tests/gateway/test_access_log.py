"""gateway.access_log: one JSON line a request, joined to traces, bounded, and without anybody waiting for it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from gateway import access_log
from gateway.access_log import AccessLog, line
from gateway.config import CustomerConfig
from gateway.identity import new_key
from prefix.errors import ConfigError
from prefix.record import RequestRecord
from tests.gateway.fake_engine import FakeEngine, whole
from tests.gateway.running import CHAT, chat, running

USED = whole(
    b'{"usage": {"prompt_tokens": 30, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 16}}}'
)
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def record(**more: Any) -> RequestRecord:
    """A finished request."""
    fields: dict[str, Any] = {
        "request_id": "0" * 32,
        "started": 1_700_000_000.25,
        "path": CHAT,
        "route": "default",
        "customer": "a",
        "prompt_version": None,
        "prompt_version_declared": False,
        "model": "m",
        "worker": None,
        "policy": "",
        "reason": None,
        "stream": False,
        "status": 200,
        "outcome": "ok",
        "error_type": None,
        "input_tokens": None,
        "cached_tokens": None,
        "output_tokens": None,
        "expected_cached_tokens": None,
        "best_fleet_tokens": None,
        "prompt_bytes": 0,
        "changes": 0,
        "retries": 0,
        "ttft_s": None,
        "duration_s": 0.5,
        "overhead_s": 0.0,
    }
    return RequestRecord(**fields | more)


def lines(path: Path) -> list[dict[str, Any]]:
    """What a log holds."""
    return [json.loads(each) for each in path.read_text().splitlines()]


async def test_every_request_is_a_line(tmp_path: Path) -> None:
    """Served, refused and failed; who, where, how, how many tokens, how long, and the ids that join it."""
    path = tmp_path / "access.jsonl"
    key, stored = new_key()
    ids = {"traceparent": f"00-{TRACE}-{SPAN}-01", "x_request_id": "mine", "authorization": f"Bearer {key}"}
    async with FakeEngine(USED, whole(b"{}", 500)) as engine:
        customers = {"acme": CustomerConfig(keys=(stored,))}
        async with running(engine, access_log=str(path), customers=customers) as gateway:
            async with gateway.post(CHAT, chat(), **ids) as response:
                request_id = response.headers["x-prefixgate-request-id"]
            await gateway.ask(CHAT, chat(), authorization=f"Bearer {key}")
            await gateway.ask(CHAT, chat(priority=1), authorization=f"Bearer {key}")
            await gateway.ask(CHAT, chat(), authorization="Bearer wrong")
            await gateway.last_record()
            (worker,) = gateway.workers
    served, failed, refused, stranger = lines(path)
    assert (served["request_id"], served["client_request_id"]) == (request_id, "mine")
    assert (served["trace_id"], served["span_id"]) == (TRACE, SPAN)
    assert (served["customer"], served["route"], served["worker"]) == ("acme", "default", worker.id)
    assert (served["status"], served["outcome"], served["error"]) == (200, "ok", None)
    assert (served["input_tokens"], served["cached_tokens"], served["output_tokens"]) == (30, 16, 20)
    assert served["duration_ms"] > 0
    assert served["time"].endswith("Z")
    assert (failed["status"], failed["error"], failed["trace_id"]) == (500, "500", None)
    assert (refused["status"], refused["error"], refused["customer"]) == (403, "field_not_allowed", "acme")
    assert (stranger["status"], stranger["error"], stranger["customer"]) == (401, "invalid_api_key", "anonymous")
    assert key not in path.read_text()


@pytest.mark.parametrize(
    "header",
    [
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        "x",
        "",
    ],
)
async def test_a_traceparent_that_is_none_joins_nothing(header: str) -> None:
    """Only what W3C calls valid."""
    async with FakeEngine(USED) as engine, running(engine) as gateway:
        await gateway.ask(CHAT, chat(), traceparent=header)
        last = await gateway.last_record()
    assert (last.trace_id, last.span_id) == (None, None)


def test_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """`stdout`: for container platforms that collect it."""
    with AccessLog("stdout") as log:
        log.write(record(request_id="1" * 32))
    assert json.loads(capsys.readouterr().out)["request_id"] == "1" * 32


def test_off_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written, and no thread is there."""
    with AccessLog(None) as log:
        log.write(record())
    assert capsys.readouterr().out == ""


def test_what_it_cannot_keep_up_with_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full queue drops, memory stays bounded, and the log says how many are missing."""
    monkeypatch.setattr(access_log, "MOST_WAITING", 3)
    path = tmp_path / "log"
    log = AccessLog(str(path))
    for _ in range(10):
        log.write(record())
    with log:
        pass
    written = lines(path)
    assert len(written) == 4
    assert written[-1]["dropped"] == 7


def test_a_rotated_file_is_opened_anew(tmp_path: Path) -> None:
    """Moved away: later lines are in a new file, none is lost."""
    path = tmp_path / "log"
    log = AccessLog(str(path))
    log.write(record(request_id="a" * 32))
    log._flush()
    path.rename(tmp_path / "log.1")
    log.write(record(request_id="b" * 32))
    log._flush()
    assert [row["request_id"][0] for name in ("log.1", "log") for row in lines(tmp_path / name)] == ["a", "b"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """Known at start, in one line."""
    with pytest.raises(ConfigError, match=r"access_log: .*No such file"):
        AccessLog(str(tmp_path / "no" / "such" / "log"))


def test_a_disk_that_fails_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests go on; the process log says it, once for each trouble."""
    monkeypatch.setattr(access_log, "_EVERY_S", 0.001)
    path = tmp_path / "there" / "log"
    path.parent.mkdir()
    log = AccessLog(str(path))
    path.unlink()
    path.parent.rmdir()
    with log:
        for _ in range(5):
            log.write(record())
            while log._waiting:
                time.sleep(0.001)
    (complaint,) = (each.getMessage() for each in caplog.records)
    assert complaint == f"access log: [Errno 2] No such file or directory: '{path}': lines are lost"


def test_a_line_is_a_line() -> None:
    """Whatever a client calls itself: no control character breaks it, no text is without bound."""
    made = line(record(customer="a\nb\x1b[31m\u2028", model="x" * 10_000, client_request_id="\xff" * 5000))
    assert b"\n" not in made
    assert b"\x1b" not in made
    assert len(made) < 3000
    assert json.loads(made)["customer"] == "a\nb\x1b[31m\u2028"
