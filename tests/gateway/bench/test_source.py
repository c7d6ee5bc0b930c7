"""gateway.bench.source: traces, captures and bodies become the same kind of requests, errors name file and line."""

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.apis import CHAT, COMPLETIONS, GENERATE, RESPONSES
from gateway.bench.requests import TraceText
from gateway.bench.source import Source, read_bodies, read_source
from prefix.capture import VERSION
from prefix.errors import TraceError

TEXT = TraceText("chat", "m", 16)


def capture(started: float, *turns: str, **changes: Any) -> dict[str, Any]:
    """A captured chat."""
    messages = [{"role": ("user", "assistant")[nth % 2], "content": turn} for nth, turn in enumerate(turns)]
    told = {
        "v": VERSION,
        "request_id": "r",
        "started": started,
        "path": CHAT,
        "route": "support",
        "customer": "acme",
        "model": "m",
        "status": 200,
        "outcome": "ok",
        "stream": True,
        "duration_s": 1.0,
        "redact": "none",
        "request": {"model": "m", "messages": messages, "stream": True},
        "input_tokens": 12,
    }
    return told | changes


def written(path: Path, *lines: Any) -> Path:
    """A file of JSON lines; bytes as they are."""
    data = b"\n".join(line if isinstance(line, bytes) else msgspec.json.encode(line) for line in lines)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def turn(at_ms: int, *ids: int, **more: Any) -> dict[str, Any]:
    """A line of a trace with blocks of 16."""
    return {"timestamp": at_ms, "input_length": 16 * len(ids), "output_length": 4, "hash_ids": ids, **more}


def read(path: Path, **options: Any) -> Source:
    """A trace or captures."""
    return read_source(path, **({"api": "chat", "block_tokens": None, "most": None} | options))


def test_a_trace_has_its_times_and_sessions(tmp_path: Path) -> None:
    """Seconds after the first; each turn after the one before it; gzip or not."""
    lines = turn(1000, 1, 2, session=7), turn(2000, 3, 4, 5), turn(4000, 1, 2, 6, session=7)
    source = read(written(tmp_path / "t.jsonl.gz", *lines))
    assert (source.kind, source.block_tokens) == ("trace", 16)
    assert [request.at_s for request in source.requests] == [0.0, 1.0, 3.0]
    assert source.afters == [None, None, 0]
    assert source.requests[2].prompt_tokens == 48


def test_prompts_share_what_the_trace_shares_and_no_more_with_another_run(tmp_path: Path) -> None:
    """The same key repeats the very bytes; another one differs from the first bytes of the prompt on."""
    source = read(written(tmp_path / "t", turn(0, 1, 2), turn(1, 1, 3)))
    mine, again, other = (source.bodies(TEXT, key=key, model=None, salt=None) for key in ("7A ", "7A ", "7B "))
    assert mine == again
    texts = [[message["content"] for message in msgspec.json.decode(body)["messages"]] for body in (*mine, other[0])]
    assert texts[0][0] == texts[1][0] != texts[2][0]
    assert texts[0][0].startswith("7A ")
    assert [len(text) for text in texts[0]] == [64, 64]
    assert texts[0][1] != texts[1][1]


def test_captures_are_known_by_their_first_line(tmp_path: Path) -> None:
    """In the order of their times, bodies byte for byte; those that generate no text are left out, and told."""
    raw = b'{"messages": [{"role":"user","content":"b"}],  "model":"m","n":1.0}'
    line = msgspec.json.encode(capture(20.0, route="r2") | {"request": msgspec.Raw(raw)})
    path = written(tmp_path / "c.jsonl", line, capture(10.0, "a"), capture(11.0, path="/v1/messages/count_tokens"))
    source = read(path)
    assert source.kind == "capture"
    assert [(request.at_s, request.route) for request in source.requests] == [(0.0, "support"), (10.0, "r2")]
    assert source.bodies(TEXT, key="", model=None, salt=None)[1] == raw
    assert source.models() == {"m"}
    assert source.notes == ("1 captured requests generate no text and are left out",)


def test_redacted_captures_are_replayed_and_said_to_differ(tmp_path: Path) -> None:
    """With their masked text; whoever reads the results is told."""
    source = read(written(tmp_path / "c.jsonl", capture(1.0, "xxxx", redact="mask"), capture(2.0, "hi")))
    assert "1 of 2 captured bodies are redacted" in source.notes[0]
    assert b"xxxx" in source.bodies(TEXT, key="", model=None, salt=None)[0]


def test_a_folder_of_captures(tmp_path: Path) -> None:
    """All its files, packed or not."""
    written(tmp_path / "capture-2.jsonl", capture(2.0, "b"))
    written(tmp_path / "capture-1.jsonl.gz", capture(1.0, "a"))
    assert len(read(tmp_path).requests) == 2


def test_a_line_that_breaks_off_is_told(tmp_path: Path) -> None:
    """A gateway that was killed leaves one at the end of a file."""
    source = read(written(tmp_path / "c", capture(1.0, "a"), b'{"v": 1, "request_id'))
    assert len(source.requests) == 1
    assert source.notes == ("1 files end with a line that breaks off, which is left out",)


@pytest.mark.parametrize(
    ("second", "after"),
    [
        (capture(5.0, "a", "b", "c"), 0),
        (capture(0.5, "a", "b", "c"), None),
        (capture(5.0, "x", "b", "c"), None),
        (capture(5.0, "a"), None),
        (capture(5.0, "a", "b", "c", customer="other"), None),
        (capture(5.0, "z", session="s"), None),
    ],
)
def test_a_turn_follows_the_one_it_continues(tmp_path: Path, second: dict[str, Any], after: int | None) -> None:
    """When all of its messages begin this one, it is the same customer's, and it had ended."""
    assert read(written(tmp_path / "c.jsonl", capture(0.0, "a"), second)).requests[1].after == after


def test_a_named_session_is_believed(tmp_path: Path) -> None:
    """Whatever its messages are; parallel requests of one session follow the last that had ended."""
    lines = [capture(at, text, session="s") for at, text in ((0.0, "a"), (2.0, "b"), (2.5, "c"))]
    assert read(written(tmp_path / "c.jsonl", *lines)).afters == [None, 0, 0]


def test_bodies_bare_and_in_envelopes(tmp_path: Path) -> None:
    """The path by the envelope's word, or else by what is in the body; route and session from beside it."""
    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    lines = [
        msgspec.json.encode(chat),
        {"body": chat, "url": CHAT, "route": "r", "session": "s"},
        {"request": {"model": "m", "prompt": "p"}, "session": "s"},
        {"text": "t"},
        {"model": "m", "input": "i"},
    ]
    source = read_bodies(written(tmp_path / "b", *lines), api=None, most=None)
    assert [request.path for request in source.requests] == [CHAT, CHAT, COMPLETIONS, GENERATE, RESPONSES]
    assert (source.requests[1].route, source.afters[2]) == ("r", 1)
    first, *_ = source.bodies(TEXT, key="", model="n", salt="pepper")
    assert msgspec.json.decode(first) == chat | {
        "model": "n",
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_salt": "pepper",
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"timestamp": 1}', "2: not a trace request"),
        (b"{", "2: not a trace request"),
    ],
)
def test_a_bad_line_of_a_trace_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    """By file and line."""
    path = written(tmp_path / "t.jsonl", turn(0, 1), line)
    with pytest.raises(TraceError, match=rf"t\.jsonl:{message}"):
        read(path, block_tokens=16)


def test_a_trace_that_does_not_fit_is_named(tmp_path: Path) -> None:
    """By file, and by request where one is at fault."""
    back = written(tmp_path / "t", turn(9, 1, 2), turn(0, 1, 2))
    with pytest.raises(TraceError, match="t: timestamps go back"):
        read(back)
    with pytest.raises(TraceError, match="t: tokens of a block: several sizes fit"):
        read(written(tmp_path / "t", {"timestamp": 0, "input_length": 20, "output_length": 1, "hash_ids": [1, 2]}))
    source = read(written(tmp_path / "t", turn(0, 1, 2), turn(1, 1, 2) | {"input_length": 99}), block_tokens=16)
    with pytest.raises(TraceError, match="t: request 2: 2 hash_ids do not fit 99 tokens"):
        source.bodies(TEXT, key="", model=None, salt=None)


def test_other_bad_input_is_named(tmp_path: Path) -> None:
    """Captures, bodies, empty files and folders, a file that is not there, a body without a model."""
    with pytest.raises(TraceError, match=r"c:2: not a line of a capture"):
        read(written(tmp_path / "c", capture(0.0, "a"), b'{"v": 99}'))
    for bad, message in (
        (b"[1]", "not a request body"),
        (turn(0, 1), "a trace\\?"),
        (b'{"a": {"b": 1}}', "no prompt"),
    ):
        with pytest.raises(TraceError, match=rf"b:1: .*{message}"):
            read_bodies(written(tmp_path / "b", bad), api=None, most=None)
    for reader in (read, lambda path: read_bodies(path, api=None, most=None)):
        with pytest.raises(TraceError, match="holds no request"):
            reader(written(tmp_path / "e", b""))
        with pytest.raises(TraceError, match="cannot be read"):
            reader(tmp_path / "nowhere")
    (tmp_path / "f").mkdir()
    with pytest.raises(TraceError, match=r"holds no \.jsonl"):
        read(tmp_path / "f")
    source = read_bodies(written(tmp_path / "m", {"prompt": "p"}), api=None, most=None)
    with pytest.raises(TraceError, match="m:1: the body names no model: give --model"):
        source.bodies(TEXT, key="", model=None, salt=None)
