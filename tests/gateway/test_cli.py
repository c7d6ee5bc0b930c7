"""gateway.cli: help that helps, one line for what is wrong, exit codes 0 and 2."""

import re
import socket
import sys
from pathlib import Path

import pytest
import yaml

from gateway.cli import main
from gateway.config import Config
from gateway.config_file import load_config
from gateway.identity import KeyRing
from gateway.version import __version__


class Ran:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


class Command:
    """Runs command lines in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        self._monkeypatch.setattr(sys, "argv", ["prefixgate", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capsys.readouterr()
        return Ran(ended.value.code if isinstance(ended.value.code, int) else 0, out, err)


@pytest.fixture
def prefixgate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command."""
    return Command(monkeypatch, capsys)


COMMANDS = [
    [],
    ["serve"],
    ["demo"],
    ["canon"],
    ["diff"],
    ["key"],
    ["key", "new"],
    ["config"],
    ["simulate"],
    ["bench"],
    ["diagnose"],
    ["lint"],
    ["rule"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(prefixgate: Command, command: list[str]) -> None:
    """Exit 0, what it does, and a line to copy."""
    ran = prefixgate(*command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "Usage: prefixgate" in ran.out
    if command != ["key"]:
        assert re.search(r"Examples?:\n +prefixgate ", ran.out)


def test_the_first_help_names_every_command(prefixgate: Command) -> None:
    """With one line each."""
    out = prefixgate("--help").out
    for name in ("serve", "demo", "key", "config"):
        assert re.search(rf"^  {name} +[A-Z].*\.$", out, re.MULTILINE)


def test_help_in_short(prefixgate: Command) -> None:
    """-h is --help."""
    for command in ([], ["serve"], ["config"]):
        assert prefixgate(*command, "-h").out == prefixgate(*command, "--help").out


def test_version(prefixgate: Command) -> None:
    """The one of the package."""
    assert prefixgate("--version").out == f"prefixgate, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["srve"], "Did you mean 'serve'?"),
        (["nonsense"], "No such command 'nonsense'"),
        (["serve", "--prot", "1"], "--port"),
        (["serve", "--port", "x"], "'x' is not a valid integer"),
        (["serve", "--engine"], "requires an argument"),
        (["key", "nwe"], "No such command 'nwe'"),
        (["serve", "--port", "70000"], "<= 65535"),
        (["serve", "--policy", "round-robbin"], "did you mean 'round-robin'?"),
        (["serve", "--level", "savе"], "Invalid enum value"),
        (["serve", "--engine", "localhost:30000"], "http://host:port"),
        (["serve", "--engine", "http://["], "http://host:port"),
        (["serve", "--engine", "http://u:secret@a:1"], "must not carry credentials"),
        (["serve", "--engine", "http://a:1", "--engine", "http://a:1/"], "listed twice"),
        (["serve", "--config", "/no/such.yaml"], "No such file"),
        (["config", "--config", "/no/such.yaml"], "No such file"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_2(prefixgate: Command, arguments: list[str], says: str) -> None:
    """No traceback; the line names the nearest valid thing; secrets are not repeated."""
    ran = prefixgate(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert "secret" not in ran.err
    assert len([line for line in ran.err.splitlines() if line.startswith(("Error:", "prefixgate:"))]) == 1


@pytest.mark.parametrize("command", ["serve", "config"])
def test_an_unknown_key_names_the_nearest_valid_one(prefixgate: Command, command: str, tmp_path: Path) -> None:
    """File, key, suggestion, in one line."""
    path = tmp_path / "gateway.yaml"
    path.write_text("polcy: least-load\n", encoding="utf-8")
    ran = prefixgate(command, "--config", str(path))
    assert ran.code == 2
    assert ran.err == f"prefixgate: {path}: unknown key 'polcy': did you mean 'policy'?\n"


def test_check_validates_and_exits(prefixgate: Command, tmp_path: Path) -> None:
    """Nothing is bound or served; the line says what was looked at."""
    path = tmp_path / "gateway.yaml"
    path.write_text("engines: [http://127.0.0.1:1, http://127.0.0.1:2]\npolicy: least-load\n", encoding="utf-8")
    ran = prefixgate("serve", "--config", str(path), "--check")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{path}: valid (2 engines, policy least-load)\n"
    path.write_text("port: many\n", encoding="utf-8")
    assert prefixgate("serve", "--config", str(path), "--check").code == 2
    assert prefixgate("serve", "--check").code == 0
    path.write_text("isolate_cache: true\n")
    ran = prefixgate("serve", "--config", str(path), "--check")
    assert (ran.code, "PREFIXGATE_ISOLATION_SECRET" in ran.err) == (2, True)
    assert prefixgate("serve", "--check", "--tls-cert", "/no/such").code == 2
    path.write_text("tracing: {sample_ratio: 0.1}\n")
    ran = prefixgate("serve", "--config", str(path), "--check")
    assert (ran.code, "set tracing.endpoint" in ran.err) == (2, True)


def test_a_port_in_use(prefixgate: Command) -> None:
    """One line that names the address and the reason."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = prefixgate("serve", "--port", str(port))
    assert ran.code == 2
    assert ran.err == f"prefixgate: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_without_the_isolation_secret_it_does_not_start(prefixgate: Command, tmp_path: Path) -> None:
    """One line, before anybody could share a cache."""
    path = tmp_path / "gateway.yaml"
    path.write_text("isolate_cache: true\n")
    ran = prefixgate("serve", "--config", str(path), "--port", "0")
    assert (ran.code, ran.out) == (2, "")
    assert "set PREFIXGATE_ISOLATION_SECRET" in ran.err


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a..b"])
def test_a_host_that_is_not_ours(prefixgate: Command, host: str) -> None:
    """Neither an address of another machine nor a name nobody knows."""
    ran = prefixgate("serve", "--host", host, "--port", "0")
    assert ran.code == 2
    assert ran.err.startswith(f"prefixgate: cannot listen on {host}:0: ")
    assert ran.err.count("\n") == 1
    assert "Unknown error" not in ran.err


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """For who wants it."""
    monkeypatch.setattr(sys, "argv", ["prefixgate", "--debug", "serve", "--policy", "x"])
    with pytest.raises(Exception, match="unknown policy"):
        main()


def test_a_new_key_works_and_is_never_the_same(prefixgate: Command) -> None:
    """The printed key opens what the printed hash locks."""
    seen = set()
    for _ in range(2):
        ran = prefixgate("key", "new")
        assert ran.code == 0
        key, stored = [line.rpartition(" ")[2] for line in ran.out.splitlines()]
        config = load_config(None, {"customers": {"acme": {"keys": [stored]}}})
        assert KeyRing(config.customers).caller(f"Bearer {key}".encode()).customer == "acme"
        seen.add(key)
    assert len(seen) == 2


def test_the_effective_configuration_can_be_used_again(prefixgate: Command, tmp_path: Path) -> None:
    """Every setting with its value, as a file that says the same."""
    path = tmp_path / "gateway.yaml"
    path.write_text("policy: round-robin\nroutes: {chat: {level: off}}\nengines: [http://a:1/]\n", encoding="utf-8")
    ran = prefixgate("config", "--config", str(path))
    assert ran.code == 0
    assert set(yaml.safe_load(ran.out)) == set(Config.__struct_fields__)
    again = tmp_path / "again.yaml"
    again.write_text(ran.out, encoding="utf-8")
    assert load_config(again, {}) == load_config(path, {})
    assert yaml.safe_load(prefixgate("config").out)["policy"] == "expected-ttft"
