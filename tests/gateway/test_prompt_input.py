"""gateway.prompt_input: a request body out of a file (the errors: tests/gateway/test_prompt_cli.py)."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from gateway.prompt_input import named, read_body, read_bytes
from prefix.errors import BodyError, ConfigError

PROMPT: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi \ud83e"}], "n": 1}


def written(folder: Path, content: Any) -> str:
    """The name of a file with this content."""
    file = folder / "body.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    "content",
    [
        PROMPT,
        {"request": PROMPT},
        {"body": PROMPT, "id": 1},
        {"request_body": json.dumps(PROMPT)},
        {"kwargs": {"params": {"body": PROMPT}}},
        {"body": " \n" + json.dumps(PROMPT)},
    ],
)
def test_a_body_in_any_envelope(tmp_path: Path, content: Any) -> None:
    """The same body, with every member, lone surrogates too."""
    assert read_body(written(tmp_path, content)) == PROMPT


def test_a_prompt_is_its_own_body(tmp_path: Path) -> None:
    """A member that is called like an envelope is none when there is a prompt beside it."""
    body = {"prompt": "x", "request": {"prompt": "y"}, "body": "{"}
    with pytest.raises(BodyError):
        read_body(written(tmp_path, {"body": "{"}))
    assert read_body(written(tmp_path, {**body, "body": {}})) == {**body, "body": {}}


def test_bytes_are_the_file_s(tmp_path: Path) -> None:
    """Byte order marks and line ends included."""
    file = tmp_path / "x"
    file.write_bytes(b"\xef\xbb\xbf{}\r\n")
    assert read_bytes(str(file)) == b"\xef\xbb\xbf{}\r\n"


def test_an_error_says_where() -> None:
    """The file, and the byte when the message does not have it yet."""
    error = named(BodyError("too_deep", "too deep", pointer="/x", offset=7), "f")
    assert (str(error), error.code, error.pointer, error.offset) == ("f: too deep, at byte 7", "too_deep", "/x", 7)
    assert str(named(BodyError("x", "no offset"), "-")) == "standard input: no offset"
    assert str(named(BodyError("x", "bad at byte 3", offset=3), "f")) == "f: bad at byte 3"


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_a_log(tmp_path: Path, packed: bool) -> None:
    """The one that the linter names, by its number."""
    log = tmp_path / ("log.jsonl.gz" if packed else "log.jsonl")
    raw = b"".join(json.dumps({"request": {"prompt": str(number)}}).encode() + b"\n" for number in range(1, 10))
    log.write_bytes(gzip.compress(raw) if packed else raw)
    assert read_body(f"{log}:7") == {"prompt": "7"}
    with pytest.raises(ConfigError, match="nothing in line 10"):
        read_body(f"{log}:10")
    with pytest.raises(ConfigError, match="No such file"):
        read_body(f"{log}.no:1")


def test_a_log_that_is_damaged(tmp_path: Path) -> None:
    """One line that names it."""
    for name, raw in (("a.gz", b"no gzip"), ("b.gz", gzip.compress(b"{}" * 9999)[:40])):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(ConfigError, match=name):
            read_bytes(f"{tmp_path / name}:2")


def test_a_file_whose_name_ends_like_a_line(tmp_path: Path) -> None:
    """Is a file."""
    (tmp_path / "a:1").write_text('{"prompt": "x"}')
    assert read_body(str(tmp_path / "a:1")) == {"prompt": "x"}
