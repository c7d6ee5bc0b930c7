"""Prompt text and secrets are in no log record, metric, worker list or access log, whatever happens to a request."""

import contextlib
import logging
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.config import CustomerConfig
from gateway.identity import new_key
from gateway.limits import Limits
from tests.cases import wire
from tests.gateway.fake_engine import EVENTS_HEAD, FakeEngine, chunk, raw, stream, whole
from tests.gateway.running import CHAT, COMPLETIONS, GENERATE, chat, exchange, request_bytes, running

MARK = "xyzzy-the-prompts-own-words"
SECRET = "engine-secret-plugh"
ECHO = f'{{"choices":[{{"message":{{"content":"{MARK}"}}}}]}}'.encode()
TOOL: dict[str, Any] = {"type": "function", "function": {"name": MARK, "description": MARK, "parameters": {}}}

BODIES: list[tuple[str, Any]] = [
    (CHAT, chat(MARK)),
    (CHAT, chat(MARK, stream=True)),
    (CHAT, chat(MARK, tools=[TOOL])),
    (CHAT, {"model": "m", "messages": [{"role": "system", "content": f"Now: 2026-11-30T12:00:01 {MARK}"}]}),
    (CHAT, chat(MARK, priority=MARK)),
    (CHAT, chat(MARK, **{MARK: MARK})),
    (CHAT, {"model": "m", "messages": [{"role": MARK, "content": 5}]}),
    (CHAT, {"model": "m", "messages": MARK}),
    (CHAT, wire(chat(MARK))[:-1]),
    (CHAT, wire(chat(MARK)).replace(b"xyzzy", b"xy\xff", 1)),
    (CHAT, f'{{"{MARK}":1,"{MARK}":2,"model":"m","model":"m"}}'.encode()),
    (COMPLETIONS, {"model": "m", "prompt": [MARK, MARK]}),
    (COMPLETIONS, {"model": "m", "prompt": {MARK: MARK}}),
    (GENERATE, {"text": MARK, "sampling_params": {"stop": MARK}}),
]
ANSWERS: list[Any] = [
    whole(ECHO),
    stream(b"data: " + ECHO + b"\n\n", b"data: [DONE]\n\n"),
    whole(ECHO, 500),
    whole(ECHO, 400),
    whole(ECHO, 503),
    raw(EVENTS_HEAD, chunk(b"data: " + ECHO + b"\n\n"), then="reset"),
    raw(EVENTS_HEAD, chunk(f'data: {{"error": "{MARK}"}}\n\n'.encode()), b"0\r\n\r\n"),
    raw(MARK.encode() + b"\r\n\r\n", then="close"),
    raw(then="reset"),
]


async def test_no_word_of_a_prompt_gets_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Good and bad bodies against good and bad engines, in debug logging."""
    caplog.set_level(logging.DEBUG)
    log = tmp_path / "access.jsonl"
    key, stored = new_key()
    customers = {"acme": CustomerConfig(keys=(stored,), limits=Limits(requests_per_s=1e6, burst=len(BODIES) * 8))}
    settings: dict[str, Any] = {
        "customers": customers,
        "access_log": str(log),
        "level": "hoist",
        "isolate_cache": True,
    }
    environ = {"PREFIXGATE_ISOLATION_SECRET": SECRET + "x" * 16, "K": SECRET}
    shown = ""
    for answer in ANSWERS:
        async with (
            FakeEngine(answer) as engine,
            running(engine, environ=environ, engine_credentials={"*": "env:K"}, **settings) as gateway,
        ):
            for path, body in BODIES:
                with contextlib.suppress(aiohttp.ClientError):
                    await gateway.ask(path, body, authorization=f"Bearer {key}", x_request_id="a")
            await exchange(gateway.port, request_bytes(CHAT, wire(chat(MARK)), f"x-note {MARK}"))
            for page in ("/metrics", "/workers"):
                async with gateway.http.get(page) as response:
                    shown += await response.text()
            assert len(gateway.records) == len(BODIES)
    printed = capsys.readouterr()
    everything = [shown, caplog.text, log.read_text(), printed.out, printed.err]
    everything += [str(vars(record)) for record in caplog.records]
    assert len(log.read_text().splitlines()) == len(BODIES) * len(ANSWERS)
    for text in everything:
        for secret in (MARK, key, SECRET):
            assert secret not in text
