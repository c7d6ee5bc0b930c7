"""lint.traffic.reading: requests out of logs in any shape, no line lost in silence."""

import gzip
import io
import json
from typing import Any

import pytest

from lint.documents import NotInspected, Unreadable
from lint.rule import Location
from lint.traffic import reading
from lint.traffic.reading import Tally, requests

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}


def read(raw: bytes, filename: str = "log.jsonl") -> tuple[list[tuple[int, dict[str, Any]]], list[Any]]:
    tally = Tally()
    found = [(row, body) for row, body in requests(filename, io.BytesIO(raw), tally)]
    return found, list(tally.documents(filename))


@pytest.mark.parametrize(
    "envelope",
    [
        BODY,
        {"request": BODY},
        {"body": json.dumps(BODY), "custom_id": "1", "url": "/v1/chat/completions"},
        {"input": BODY, "output": {"text": "x"}},
        {"kwargs": {"optional_params": BODY}},
        {"request": {"body": BODY}, "response": {"messages": 1}},
    ],
)
def test_envelopes(envelope: Any) -> None:
    """A body in what proxies, batch files and tracing exports put around it."""
    assert read(json.dumps(envelope).encode() + b"\n") == ([(1, BODY)], [])


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("content", [BODY, [BODY, BODY]])
def test_one_document(content: Any, indent: int | None) -> None:
    """A body or a list of them, on one line or on many."""
    found, rest = read(json.dumps(content, indent=indent).encode())
    assert [body for _, body in found] == (content if isinstance(content, list) else [content])
    assert rest == []


def test_bad_lines_are_counted() -> None:
    """Once per file: how many, and where the first is."""
    line = json.dumps(BODY).encode()
    found, rest = read(b"\n".join([line, b"{", b"", line, b"\xff", b"nul"]))
    assert [row for row, _ in found] == [1, 4]
    assert rest == [Unreadable("log.jsonl", "not JSON; also 5, 6", Location(2, 1), 3)]
    assert read(b"{x}\n" * 9)[1] == [Unreadable("log.jsonl", "not JSON; also 2, 3, 4, …", Location(1, 1), 9)]


def test_a_last_line_that_breaks_off() -> None:
    """A log that is still being written, or was cut: said as what it is."""
    line = json.dumps(BODY).encode()
    found, rest = read(b"\n".join([line, line, line[:-9]]))
    assert len(found) == 2
    assert rest == [Unreadable("log.jsonl", "not JSON: it breaks off", Location(3, 1), 1)]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_long_array(monkeypatch: pytest.MonkeyPatch, indent: int | None) -> None:
    """An array too long to be held is read element by element, also when it breaks off or one is too long."""
    monkeypatch.setattr(reading, "LONGEST_LINE", 5000)
    bodies = [{"messages": [{"role": "user", "content": f"[{at}] \\" * 9}]} for at in range(900)]
    raw = json.dumps(bodies, indent=indent).encode()
    found, rest = read(raw)
    assert [body for _, body in found] == bodies
    assert rest == []
    assert [row for row, _ in found] == sorted(row for row, _ in found)
    broken, rest = read(raw[:-40])
    assert [body for _, body in broken] == bodies[:-1]
    assert [document.occurrences for document in rest] == [1]
    assert read(json.dumps([*bodies[:300], {"prompt": "x" * 2_000_000}]).encode())[1][0].occurrences == 1


def test_a_bad_first_line_of_a_long_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rotation cut off spoils nothing but itself, however long the log is."""
    monkeypatch.setattr(reading, "LONGEST_LINE", 5000)
    line = json.dumps(BODY).encode()
    found, rest = read(b"\n".join([b'{"mess', *[line] * 500]))
    assert [row for row, _ in found] == list(range(2, 502))
    assert rest == [Unreadable("log.jsonl", "not JSON", Location(1, 1), 1)]


def test_a_bad_first_line() -> None:
    """It spoils nothing but itself."""
    line = json.dumps(BODY).encode()
    found, rest = read(b"\n".join([b"{", line, line]))
    assert [row for row, _ in found] == [2, 3]
    assert rest == [Unreadable("log.jsonl", "not JSON", Location(1, 1), 1)]


def test_what_has_no_prompt() -> None:
    """Valid JSON that is no request is passed over and counted."""
    assert read(b'{"event": 1}\n[1]\n7\nnull\n')[1] == [
        Unreadable("log.jsonl", "not JSON", Location(4, 1), 1),
        NotInspected("log.jsonl", "no prompt in it", 3),
    ]


def test_a_line_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted and left; the lines behind it are read."""
    monkeypatch.setattr(reading, "LONGEST_LINE", 1 << 20)
    line = json.dumps(BODY).encode()
    found, rest = read(b"\n".join([line, b'"' + b"x" * (3 << 20) + b'"', line]))
    assert [row for row, _ in found] == [1, 3]
    assert rest == [Unreadable("log.jsonl", "longer than 1 MB", Location(2, 1), 1)]


def test_gzip_that_breaks_off() -> None:
    """What could be read is used, the rest is reported."""
    packed = gzip.compress(b"\n".join([json.dumps(BODY).encode()] * 3))
    assert len(read(packed, "log.jsonl.gz")[0]) == 3
    _, rest = read(packed[:-12], "log.jsonl.gz")
    assert isinstance(rest[0], Unreadable)


def test_lenient_json() -> None:
    """NaN and lone surrogates pass, since some engine may take them; deep nesting is no crash."""
    found, _ = read(b'{"prompt": "\\ud83e", "temperature": NaN}')
    assert found[0][1]["prompt"] == "\ud83e"
    assert read(b"[" * 200_000)[0] == []


def test_tables() -> None:
    """A CSV export: fields are JSON as text; a table without prompts is no log."""
    text = json.dumps(BODY["messages"]).replace('"', '""')
    table = f'type,provided_model_name,input\nGENERATION,m,"{text}"\nSPAN,,x\n'.encode()
    found, rest = read(table, "log.csv")
    assert found == [(2, {"model": "m", **BODY})]
    assert rest == [NotInspected("log.csv", "no prompt in it", 1)]
    assert read(gzip.compress(table), "log.csv.gz") == (
        [(2, {"model": "m", **BODY})],
        [NotInspected("log.csv.gz", "no prompt in it", 1)],
    )
    assert read(b"a,b\n1,2\n", "log.csv") == ([], [])


def test_gzip_without_a_name() -> None:
    """Standard input may be packed too."""
    file = io.BufferedReader(io.BytesIO(gzip.compress(json.dumps(BODY).encode())))
    assert list(requests("<stdin>.jsonl", file, Tally())) == [(1, BODY)]
