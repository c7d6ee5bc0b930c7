"""prefixgate simulate: what it answers, and what it says when it cannot."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from gateway.cli import main
from gateway.trace_file import BUNDLED_TRACE
from prefix.trace import TraceRequest, format_request
from tests.gateway.simulate.traces import chat, turn


class Simulate:
    """Runs the command in this process: its exit code, what it wrote to stdout and to stderr."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["prefixgate", "simulate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capsys.readouterr()
        return ended.value.code if isinstance(ended.value.code, int) else 0, out, err


@pytest.fixture
def simulate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Simulate:
    """The command."""
    return Simulate(monkeypatch, capsys)


def write(path: Path, trace: list[TraceRequest], *bad: str) -> Path:
    """A trace on disk, with bad lines after its first."""
    first, *rest = map(format_request, trace)
    path.write_text("\n".join([first, *bad, *rest]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ten sessions of five turns."""
    return write(tmp_path / "chat.jsonl", chat(sessions=10, turns=5))


def test_help_has_an_example(simulate: Simulate) -> None:
    """Exit 0, and a line to copy."""
    code, out, err = simulate("--help")
    assert (code, err) == (0, "")
    assert "prefixgate simulate --trace trace.jsonl.gz --engines 4 --kv-capacity 1000000" in out


def test_a_real_trace(simulate: Simulate) -> None:
    """The bundled slice of Mooncake's conversations: block size inferred, one row a policy and load, in order."""
    code, out, err = simulate(
        *("--trace", BUNDLED_TRACE, "--engines", 3, "--kv-capacity", 300_000, "--requests", 250, "--json"),
        *("--policy", "random,expected-ttft", "--rates", "0.1,0.2"),
    )
    assert code == 0
    study = json.loads(out)
    assert (study["requests"], study["setting"]["block_tokens"]) == (250, 512)
    order = [(row["policy"], row["rate"]) for row in study["rows"]]
    assert order == [("random", 0.1), ("expected-ttft", 0.1), ("random", 0.2), ("expected-ttft", 0.2)]
    assert err.splitlines() == ["random 0.1x", "expected-ttft 0.1x", "random 0.2x", "expected-ttft 0.2x"]
    assert study["rows"][1]["hit_rate"] > study["rows"][0]["hit_rate"]
    assert all(0 < row["hit_rate"] <= study["infinite_hit_rate"] for row in study["rows"])


def test_the_default_is_a_table_of_three(simulate: Simulate, trace: Path) -> None:
    """The default policy beside a naive one and the incumbents'."""
    code, out, _ = simulate("--trace", trace, "--engines", 2, "--kv-capacity", 4_000)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if "1x" in line] == [
        "round-robin",
        "cache-aware",
        "expected-ttft",
    ]
    assert "\x1b" not in out


def test_a_seed_repeats(simulate: Simulate, trace: Path) -> None:
    """The same command gives the same numbers, but for its own speed."""

    def numbers(seed: int) -> object:
        _, out, _ = simulate(
            *("--trace", trace, "--engines", 4, "--kv-capacity", 4_000, "--policy", "random"),
            *("--seed", seed, "--json", "--profile", "8b"),
        )
        (row,) = json.loads(out)["rows"]
        del row["simulated_per_s"]
        return row

    assert numbers(1) == numbers(1) != numbers(2)


def test_plot(simulate: Simulate, trace: Path, tmp_path: Path) -> None:
    """One page is written beside the table."""
    page = tmp_path / "study.html"
    code, out, _ = simulate("--trace", trace, "--engines", 2, "--kv-capacity", 4_000, "--plot", page)
    assert code == 0
    assert "expected-ttft" in out
    assert page.read_text(encoding="utf-8").count("<svg") == 2


def test_bad_lines_fail_with_their_place(simulate: Simulate, tmp_path: Path) -> None:
    """Each with file and line, up to five; all are counted; exit 1."""
    path = write(tmp_path / "t.jsonl", chat(sessions=2, turns=2), *['{"timestamp": -1}'] * 6)
    code, out, err = simulate("--trace", path, "--engines", 2, "--kv-capacity", 4_000)
    assert (code, out) == (1, "")
    *places, last = err.splitlines()
    assert [place.split(": ")[1] for place in places] == [f"{path}:{line}" for line in range(2, 7)]
    assert last == f"prefixgate: 6 bad lines in {path}; --skip-bad leaves them out"


def test_bad_lines_can_be_left_out(simulate: Simulate, tmp_path: Path) -> None:
    """They are counted, and the others are simulated."""
    path = write(tmp_path / "t.jsonl", chat(sessions=10, turns=2), "oops", "[]")
    code, out, _ = simulate("--trace", path, "--engines", 2, "--kv-capacity", 4_000, "--skip-bad", "--json")
    assert code == 0
    assert (json.loads(out)["bad_lines"], json.loads(out)["requests"]) == (2, 20)


GOOD = {"--engines": 2, "--kv-capacity": 4_000}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"--policy": "expected-tft"}, "unknown policy 'expected-tft'; did you mean 'expected-ttft'?"),
        ({"--policy": "random,nobody"}, "unknown policy 'nobody'"),
        ({"--policy": " , "}, "--policy names no policy"),
        ({"--engines": 0}, "--engines must be 1 or more, not 0"),
        ({"--kv-capacity": -5}, "--kv-capacity must be 1 or more, not -5"),
        ({"--block-tokens": 0}, "--block-tokens must be 1 or more, not 0"),
        ({"--block-tokens": 100}, "do not fit"),
        ({"--kv-capacity": 200}, "--kv-capacity 200: an engine must have room for the longest prompt, 240 tokens"),
        ({"--rate": "0"}, "--rate must be positive numbers, not '0'"),
        ({"--rates": "1,x"}, "--rate must be positive numbers, not 'x'"),
        ({"--rate": "inf"}, "--rate must be positive numbers, not 'inf'"),
        ({"--rate": "nan"}, "--rate must be positive numbers, not 'nan'"),
        ({"--requests": 0}, "--requests must be 1 or more, not 0"),
        ({"--trace": "/nowhere/t.jsonl"}, "/nowhere/t.jsonl: cannot be read: No such file or directory"),
        ({"--plot": "/nowhere/p.html"}, "--plot /nowhere/p.html: no such folder"),
        ({"--plot": "/proc/p.html"}, "--plot /proc/p.html: "),
    ],
)
def test_usage_errors_are_one_line(simulate: Simulate, trace: Path, wrong: dict[str, object], said: str) -> None:
    """Exit 2, nothing on stdout, what is wrong and what would be right."""
    options = {"--trace": trace, **GOOD, **wrong}
    code, out, err = simulate(*(word for option in options.items() for word in option))
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("prefixgate: ")
    assert said in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "holds no request"),
        (gzip.compress(b"{}", mtime=0)[:-4], "damaged gzip file"),
        (format_request(turn(5, 1000)).encode() + b"\n" + format_request(turn(1, 1000)).encode(), "go back"),
        (format_request(TraceRequest(0, 40, 1, (1,))).encode(), "several sizes fit the hash_ids; say which"),
    ],
)
def test_traces_that_cannot_be_used(simulate: Simulate, tmp_path: Path, data: bytes, said: str) -> None:
    """Exit 2 and one line."""
    path = tmp_path / "t"
    path.write_bytes(data)
    code, out, err = simulate("--trace", path, "--engines", 1, "--kv-capacity", 4_000)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_nothing_left_is_an_error(simulate: Simulate, tmp_path: Path) -> None:
    """A file of bad lines only is unreadable input, also with --skip-bad."""
    path = tmp_path / "t"
    path.write_text("oops\n", encoding="utf-8")
    code, _, err = simulate("--trace", path, "--engines", 1, "--kv-capacity", 4_000, "--skip-bad")
    assert (code, err) == (2, f"prefixgate: {path}: holds no request\n")
