"""gateway.prompt_cli: `canon` and `diff` as a user sees them: bytes, exit codes, one line for what is wrong."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gateway.cli import main
from prefix.canonical import LEVELS, canonicalize
from tests.cases import case, wire
from tests.prefix.test_divergence import CASES


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """Runs command lines in this process, in a folder of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[bytes]) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "80")

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Ran:
        self._monkeypatch.setattr(sys, "argv", ["prefixgate", *arguments])
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code: int | str | None = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        out, err = self._capsys.readouterr()
        return Ran(code if isinstance(code, int) else 0, out, err.decode())

    def write(self, **files: Any) -> None:
        """Files of the folder: bytes as they are, bodies as JSON."""
        for name, content in files.items():
            (self.folder / name).write_bytes(content if isinstance(content, bytes) else wire(content))


@pytest.fixture
def prefixgate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Command:
    """The command."""
    return Command(tmp_path, monkeypatch, capsysbinary)


PROMPT = {"messages": [{"role": "user", "content": "Hi"}]}

BAD: list[tuple[bytes | None, str]] = [
    (b"", "empty: it must be one request body, at byte 0"),
    (b" \n", "empty: it must be one request body, at byte 0"),
    (b"Hello", "the body is not JSON: Expecting value at byte 0"),
    (b'{"messages": [}', "the body is not JSON: Expecting value at byte 14"),
    (b'{"messages": []', "the body is not JSON: Expecting ',' delimiter at byte 15"),
    (b'{"messages": []}\n{"messages": []}\n', "Extra data at byte 17: it must be one request body"),
    (b'{"messages": "\xff"}', "the body is not UTF-8 at byte 14"),
    (b"[1]", "the body must be a JSON object, at byte 0"),
    (b'{"messages": ' + b"[" * 200 + b"]" * 200 + b"}", "nest deeper than 128 levels, at byte 13"),
    (b'{"messages": [], "messages": []}', "occurs twice: send it once, at byte 17"),
    (None, "No such file or directory"),
]


@pytest.mark.parametrize(("content", "says"), BAD)
@pytest.mark.parametrize(
    "command", [["canon", "bad.json"], ["diff", "bad.json", "good"], ["diff", "good", "bad.json"]]
)
def test_a_file_that_cannot_be_read(
    prefixgate: Command, command: list[str], content: bytes | None, says: str
) -> None:
    """One line with file and byte, exit 2, nothing on standard output."""
    prefixgate.write(good=PROMPT)
    if content is not None:
        prefixgate.write(**{"bad.json": content})
    ran = prefixgate(*command)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith("prefixgate: bad.json: ")
    assert ran.err.endswith(f"{says}\n")
    assert ran.err.count("\n") == 1


def test_a_folder_and_standard_input_are_named(prefixgate: Command) -> None:
    """As what they are."""
    assert prefixgate("canon", ".").err == "prefixgate: .: Is a directory\n"
    assert prefixgate("canon", stdin=b"{").err.startswith("prefixgate: standard input: the body is not JSON: ")
    assert prefixgate("diff", "-", "-").err == "prefixgate: only one of A and B can be standard input\n"


@pytest.mark.parametrize(("number", "a", "b", "expected"), CASES)
def test_diff_of_the_public_cases(prefixgate: Command, number: int, a: str, b: str, expected: str) -> None:
    """Exit 1, and the case's own fields in the JSON."""
    given_case = case(number)
    prefixgate.write(a=given_case["input"][a], b=given_case["input"][b])
    ran = prefixgate("diff", "a", "b", "--json")
    assert ran.code == 1
    wanted = given_case["expected"][expected]
    assert {key: ran.json[key] for key in wanted} == wanted
    assert ran.json["cause"]
    assert ran.json["tokens"] >= ran.json["shared_tokens"] + ran.json["recoverable_tokens"]


def test_identical_prompts(prefixgate: Command) -> None:
    """Exit 0, whatever else the requests say, and however they are spelled."""
    prefixgate.write(a=PROMPT, b=json.dumps(PROMPT | {"temperature": 0, "user": "u"}, indent=2).encode())
    assert prefixgate("diff", "a", "b") == (
        0,
        b"Identical: one prompt of 11 tokens\n4 bytes per token (assumed)\n",
        "",
    )
    ran = prefixgate("diff", "a", "-", "--json", stdin=wire(PROMPT))
    assert (ran.code, ran.json["reason"], ran.json["cause"]) == (0, "identical", None)


@pytest.mark.parametrize(
    "envelope",
    [
        {"request": PROMPT, "response": {}},
        {"custom_id": "1", "url": "/v1/chat/completions", "body": PROMPT},
        {"body": json.dumps(PROMPT)},
        {"request": {"method": "POST", "body": json.dumps(PROMPT)}},
        {"params": PROMPT},
    ],
)
def test_envelopes_are_opened(prefixgate: Command, envelope: Any) -> None:
    """The body of a log line or of a batch file is compared, not its envelope."""
    prefixgate.write(a=PROMPT, b=envelope)
    assert prefixgate("diff", "a", "b").code == 0


@pytest.mark.parametrize("body", [{}, {"request": {"x": 1}}, {"body": "no"}, {"error": "gone"}])
def test_a_file_without_a_prompt_is_never_a_pass(prefixgate: Command, body: Any) -> None:
    """Nothing to compare is not identical."""
    prefixgate.write(a=body)
    ran = prefixgate("diff", "a", "a")
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err == "prefixgate: a: no prompt in it: no messages, prompt, input, text or tools\n"


def test_diff_says_where_why_and_what_to_do(prefixgate: Command) -> None:
    """The whole answer for case 01, as it is piped: no escapes, the values in brackets."""
    given_input = case(1)["input"]
    prefixgate.write(old=given_input["A"], new=given_input["B"])
    ran = prefixgate("diff", "old", "new")
    assert ran.code == 1
    assert [line.rstrip() for line in ran.out.decode().splitlines()] == [
        "A clock at /messages/0/content, character 58",
        "",
        "A  old                                   B  new",
        "You are a shop helper.                   You are a shop helper.",
        "Now: ⟦Tuesday, 3 March 2026, 09:14:07    Now: ⟦Tuesday, 3 March 2026, 09:14:09",
        "AM CET⟧                                  AM CET⟧",
        "Rules: follow the refund policy. Be      Rules: follow the refund policy. Be",
        "brief. Quote order numbers exactly.      brief. Quote order numbers exactly.",
        "",
        "█" * 30 + "▓" * 34,
        "█ 25 tokens shared, 29 lost: ▓ 29 recoverable, ░ 0 new",
        "tokens of new; 4 bytes per token (assumed)",
        "",
        "→ Move it into the newest message, behind all that could be shared, or print the",
        "date alone. The gateway's level hoist can move it.",
    ]


def test_a_tokenizer_that_is_none(prefixgate: Command) -> None:
    """One line, exit 2."""
    prefixgate.write(a=PROMPT)
    ran = prefixgate("diff", "a", "a", "--tokenizer", "nowhere.json")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "nowhere.json" in ran.err


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("number", [1, 4, 10, 14, 16])
def test_canon_writes_the_canonical_bytes_and_nothing_else(prefixgate: Command, number: int, level: Any) -> None:
    """No line end behind them when they go into a pipe or a file."""
    given_input = case(number)["input"]
    raw = b" " + json.dumps(given_input.get("B") or given_input["body"], indent=1).encode() + b"\n"
    prefixgate.write(body=raw)
    assert prefixgate("canon", "body", "--level", level) == (0, canonicalize(raw, level=level).body, "")
    assert prefixgate("canon", "--level", level, stdin=raw).out == canonicalize(raw, level=level).body


def test_canon_as_json(prefixgate: Command) -> None:
    """The body as a string, every change, and where the stable prefix ends."""
    raw = wire(case(10)["input"]["B"])
    size = len(wire(case(10)["input"]["B"]["tools"])) + len("You help.")
    assert prefixgate("canon", "-", "--json", stdin=raw).json == {
        "body": canonicalize(raw).body.decode(),
        "changed": True,
        "changes": [{"path": "/tools", "kind": "tool_order"}],
        "stable_prefix": {"bytes": size, "tokens": round(size / 4), "ends_at": "/messages/1"},
        "suffix": {"bytes": 2, "tokens": 1},
        "prompt_version": prefixgate("canon", "--json", stdin=wire(case(10)["input"]["A"])).json["prompt_version"],
        "token_counting": "4 bytes per token (assumed)",
    }
    off = prefixgate("canon", "--json", "--level", "off", stdin=raw).json
    assert (off["body"], off["changed"], off["changes"]) == (raw.decode(), False, [])


@pytest.mark.parametrize(
    ("body", "added"),
    [
        ({**PROMPT, "stream": True}, b'"stream_options":{"include_usage":true},'),
        ({"prompt": "Hi", "stream": True}, b'"stream_options":{"include_usage":true},'),
        ({**PROMPT, "stream": False}, b""),
        ({"text": "Hi", "stream": True}, b""),
        ({"input": "Hi", "stream": True}, b""),
        ({"system": "x", **PROMPT, "stream": True}, b""),
    ],
)
def test_canon_shows_what_an_engine_gets_on_top(prefixgate: Command, body: Any, added: bytes) -> None:
    """Where that engine's path takes it; without --engine nothing is added."""
    raw = wire(body)
    assert prefixgate("canon", stdin=raw).out == raw
    assert prefixgate("canon", "--engine", "sglang", stdin=raw).out == b"{" + added + raw[1:]
    changes = prefixgate("canon", "--engine", "sglang", "--json", stdin=raw).json["changes"]
    assert changes == ([{"path": "/stream_options", "kind": "engine"}] if added else [])


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--level", "sfae"], "unknown level 'sfae': use one of off, safe, normalize, hoist"),
        (["--engine", "slang"], "unknown engine 'slang': use one of sglang, llamacpp, vllm, trtllm, openai"),
    ],
)
def test_canon_names_what_it_knows(prefixgate: Command, option: list[str], says: str) -> None:
    """One line, exit 2."""
    assert prefixgate("canon", *option, stdin=wire(PROMPT)) == (2, b"", f"prefixgate: {says}\n")


@pytest.mark.parametrize("command", ["canon", "diff"])
def test_help_has_examples(prefixgate: Command, command: str) -> None:
    """And both commands are in the first help."""
    assert b"Examples:\n    prefixgate " in prefixgate(command, "--help").out
    assert f"\n  {command} ".encode() in prefixgate("--help").out


def test_help_imports_little() -> None:
    """Neither rich nor the prompt core: help answers at once."""
    code = (
        "import sys, gateway.prompt_cli as cli\n"
        "try: cli.diff(['--help'], prog_name='diff')\n"
        "except SystemExit: pass\n"
        "print(sorted({'rich', 'msgspec', 'xxhash', 'prefix.divergence'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def in_terminal(*arguments: str, **environment: str) -> str:
    """What a command writes to a terminal of 80 columns, standard error included."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "gateway", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    written = b""
    while chunk := _read(ours):
        written += chunk
    os.close(ours)
    child.wait()
    return written.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux: the other end was closed
        return b""


def test_canon_in_a_terminal_ends_its_line_and_lists_the_changes(tmp_path: Path) -> None:
    """Behind the body, which is the same."""
    file = tmp_path / "body"
    file.write_bytes(wire(case(10)["input"]["B"]))
    written = in_terminal("canon", str(file), NO_COLOR="1")
    body, _, below = written.partition("\n")
    assert body.encode() == canonicalize(file.read_bytes()).body
    for words in ("tool order", "/tools", "429 bytes, about 107 tokens, up to /messages/1", "prompt version"):
        assert words in below


def test_diff_in_a_terminal_has_colour_unless_it_is_not_wanted(tmp_path: Path) -> None:
    """NO_COLOR turns it off, and the brackets on."""
    files = [tmp_path / key for key in "AB"]
    for file in files:
        file.write_bytes(wire(case(1)["input"][file.name]))
    names = [str(file) for file in files]
    coloured = in_terminal("diff", *names, NO_COLOR="")
    plain = in_terminal("diff", *names, NO_COLOR="1")
    assert "\x1b[1;31mTuesday" in coloured
    assert "⟦" not in coloured
    assert "\x1b[1;31m" not in plain
    assert "⟦Tuesday" in plain
