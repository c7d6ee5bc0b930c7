"""A repository that means harm: what is in it is reported, never run, never followed without end, never a traceback.

Each case is linted by the command line in this process, in a folder of its own; the large ones in a process of their
own with a limit on memory.
"""

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli import cli
from lint.report import TEXT_FORMATS
from lint.sources import chat_template
from lint.sources.rendering import Renderer

ROOT = Path(__file__).parents[2]
MEMORY = 1 << 30
RUN = "__import__('pathlib').Path('owned').write_text('x')"

UNREADABLE: dict[str, bytes | str] = {
    "parens.py": "(" * 20_000,
    "list.py": "[" * 5_000 + "]" * 5_000,
    "digits.py": "x = " + "9" * 100_000,
    "nul.py": "x = 1\0",
    "bytes.py": b'x = "\xff"',
    "no_text_codec.py": "# coding: rot13\nx = 1",
    "no_codec.py": "# coding: \0\n",
    "surrogate.py": 'x = "\ud800"',
    "deep.json": "[" * 100_000 + "]" * 100_000,
    "deep_object.json": '{"messages":' * 50_000,
    "digits.json": '{"messages": [{"role": "user", "content": "x"}], "n": ' + "9" * 100_000 + "}",
    "nul.json": "\0" * 1_000,
    "bytes.json": b'\xff\xfe{"a": 1}',
    "deep_content.jsonl": '{"messages":[{"role":"user","content":' + "[" * 5_000 + "]" * 5_000 + "}]}\n",
    "no_gzip.jsonl.gz": "no gzip",
    "cut.jsonl.gz": gzip.compress(b'{"prompt": "x"}\n' * 1_000)[:-20],
    "bytes.j2": b"{{ \xff }}",
    "open.j2": "{% if x %}",
    "nul.yaml": "a: \0",
    "bytes.yaml": b"a: \xff",
    "prompt_bytes.txt": b"\xff",
}
NOT_FOLLOWED: dict[str, bytes | str] = {
    "attributes.py": "x" + ".a" * 20_000,
    "unary.py": "x = " + "-" * 20_000 + "1",
    "sum.py": "x = " + "+".join(['"a"'] * 20_000),
    "long.py": "x = 1\n" * 200_000,
    "parens.j2": "{{ " + "(" * 5_000 + " }}",
    "ifs.j2": "{% if x %}" * 2_000 + "{% endif %}" * 2_000,
    "attributes.j2": "{{ x" + ".a" * 5_000 + " }}",
    "deep.yaml": "[" * 1_100,
}
HARMLESS: dict[str, bytes | str] = {
    "on_import.py": f"{RUN}\nclass A:\n    x = {RUN}\n\n\ndef f(x={RUN}): ...\n",
    "numbers.py": 'x = "a" * 10**9\ny = 9**9**9\n',
    "f_string.py": "x = f'" + "{" * 2_000 + "}" * 2_000 + "'",
    "loop.j2": "{% for a in range(10**9) %}{% for b in range(10**9) %}x{% endfor %}{% endfor %}",
    "numbers.j2": "{{ 9**9**9 }} {{ 'a' * 10**9 }}",
    "run.j2": "{% include '/etc/passwd' %}{{ cycler.__init__.__globals__.os.system('touch owned') }}",
    "doubling.j2": "".join(f"{{% set a{i + 1} = a{i} ~ a{i} %}}" for i in range(60)) + "{{ a60 }}",
    "tags.yaml": 'a: !!python/object/apply:os.system ["touch owned"]\nsystem: x\n',
    "laughs.yaml": "a0: &a0 [x]\n"
    + "".join(f"a{i + 1}: &a{i + 1} [{','.join([f'*a{i}'] * 9)}]\n" for i in range(40)),
    "merge.yaml": "a: &a\n  <<: *a\n",
    "infinite.json": '{"prompt": "x", "t": 1e999999}',
}

CHAT_TEMPLATES: dict[str, tuple[str, str]] = {
    "loops": ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "does not end"),
    "allocates": (
        "{% set n = namespace(a='x') %}{% for i in range(90) %}{% set n.a = n.a ~ n.a %}{% endfor %}{{ n.a }}",
        "memory",
    ),
    "gigabyte at once": ("{{ 'x' * 10**9 }}", "memory"),
    "gigabyte": ("{% for i in range(99999) %}{{ 'x' * 10000 }}{% endfor %}", "more than 200,000 characters"),
    "squares": (
        "{% set n = namespace(a=9) %}{% for i in range(90) %}{% set n.a = n.a * n.a %}{% endfor %}{{ n.a }}",
        "does not end",
    ),
    "recursion": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
    "classes": ("{{ ().__class__.__base__.__subclasses__() }}", "SecurityError"),
    "globals": ("{{ cycler.__init__.__globals__.os.system('touch owned') }}", "SecurityError"),
    "string": ("{{ ('{0.__class__.__init__.__globals__}').format(joiner) }}", "SecurityError"),
    "filter": ("{{ messages | map(attribute='__class__') | list }}", ""),
    "include": ("{% include '/etc/passwd' %}", "no loader"),
    "import": ("{% import 'os' as os %}{{ os.system('touch owned') }}", "no loader"),
}
"""What each does, and a word of why it was not rendered."""


def lint(folder: Path, *options: str) -> tuple[int, list[Any]]:
    """Exit code and findings; whatever happens, nothing was run and nothing was raised."""
    result = CliRunner().invoke(cli, ["lint", str(folder), "--output-format", "json", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert not (folder / "owned").exists()
    assert not Path("owned").exists()
    return result.exit_code, json.loads(result.stdout)


def write(folder: Path, name: str, content: bytes | str) -> None:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a case is, and where the linter runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable(folder: Path, name: str) -> None:
    """PC001, and that nothing was inspected."""
    write(folder, name, UNREADABLE[name])
    code, findings = lint(folder)
    assert code == 1
    assert {finding["code"] for finding in findings} >= {"PC001"}


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_too_much(folder: Path, name: str) -> None:
    """What cannot be followed to its end is reported as not inspected, which is no pass."""
    write(folder, name, NOT_FOLLOWED[name])
    code, findings = lint(folder)
    assert code == 1
    assert {finding["code"] for finding in findings} == {"PC003"}


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_when_only_read(folder: Path, name: str) -> None:
    """What would run, or never end, if it were imported, constructed or rendered, is read like any other."""
    write(folder, name, HARMLESS[name])
    assert {finding["code"] for finding in lint(folder)[1]} <= {"PC003"}


@pytest.mark.parametrize("name", CHAT_TEMPLATES)
def test_chat_templates(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """One that never ends, takes all memory, writes for ever or wants out of its sandbox is a finding, no more."""
    child = Renderer(seconds=1)
    monkeypatch.setattr(chat_template, "renderer", lambda: child)
    template, why = CHAT_TEMPLATES[name]
    write(folder, "chat_template.jinja", template)
    write(folder, "kept.txt", "kept")
    code, findings = lint(folder)
    child.close()
    assert (code, [finding["code"] for finding in findings]) == (1, ["PC003", "PC001"])
    assert why in findings[1]["message"]
    assert {file.name: file.read_text() for file in folder.iterdir()} == {
        "chat_template.jinja": template,
        "kept.txt": "kept",
    }


def test_what_is_no_file(folder: Path) -> None:
    """Pipes, devices, links in a circle and links to nowhere are not opened, in a folder or by name."""
    os.mkfifo(folder / "pipe.py")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "circle").symlink_to(folder)
    (folder / "self.py").symlink_to("self.py")
    (folder / "zero.py").symlink_to("/dev/zero")
    assert [finding["code"] for finding in lint(folder)[1]] == ["PC003"]
    for name in ("pipe.py", "pipe.jsonl", "zero.py"):
        assert {finding["message"] for finding in lint(folder / name)[1]} >= {"not inspected: no regular file"}


def test_odd_names(folder: Path) -> None:
    """A name with terminal codes, line ends or no valid UTF-8 is shown in a way that harms no reader."""
    names = ["prompt\x1b[31m\nred.txt", os.fsdecode(b"prompt\xff.txt"), 'prompt<&">.txt']
    for name in names:
        write(folder, name, "a\r\nb\n")
    for form in ("full", *TEXT_FORMATS):
        result = CliRunner().invoke(cli, ["lint", ".", "--output-format", form])
        assert result.exit_code == 1, result.exception
        assert "\x1b" not in result.output
        result.output.encode("utf-8")
    assert len(CliRunner().invoke(cli, ["lint", ".", "--output-format", "concise"]).output.splitlines()) == 3
    assert CliRunner().invoke(cli, ["lint", ".", "--fix"]).exit_code == 0
    assert {file.read_text() for file in folder.iterdir()} == {"a\nb\n"}


def test_a_file_that_cannot_be_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder it is a finding and the others are read; by name it is an error."""
    write(folder, "locked.py", "")
    write(folder, "open.py", "x = 1\n")
    opened = Path.open

    def refuse(path: Path, *arguments: Any, **named: Any) -> Any:
        if path.name == "locked.py":
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", refuse)
    code, findings = lint(folder)
    assert (code, [(finding["code"], finding["message"]) for finding in findings]) == (
        1,
        [("PC001", "1 line does not parse, the first at line 1: Permission denied")],
    )
    result = CliRunner().invoke(cli, ["lint", "locked.py"])
    assert "locked.py: Permission denied" in str(result.exception)


def test_many_comments_and_findings(folder: Path) -> None:
    """Work grows with the file, not with its square: thousands of each, and a line of half a megabyte."""
    write(folder, "a.py", "import x  # noqa: PC101\n" * 1_000)
    write(folder, "a.yaml", "# noqa: PC101\n" * 1_000)
    write(folder, "a.j2", "{# noqa: PC101 #}" * 1_000)
    write(folder, "b.py", "# noqa: PC1" + " " * 500_000)
    assert len(lint(folder)[1]) == 3_001
    assert len(lint(folder, "--fix")[1]) == 0


def test_patterns_that_backtrack(folder: Path) -> None:
    """Patterns of .gitignore and settings that would keep a naive matcher busy for ever."""
    deep = folder.joinpath(*["a" * 50] * 12)
    deep.mkdir(parents=True)
    write(deep, "a" * 100 + ".py", "x = 1\n")
    (folder / ".git").mkdir()
    write(folder, ".gitignore", "**/a*/" * 60 + "b\n" + "*a" * 60 + "b\n" + "**/" * 500 + "b\n")
    write(folder, "prefixgate.toml", f'[lint]\nexclude = ["{"*a" * 60}b"]\n')
    assert lint(folder) == (0, [])


def test_hostile_settings(folder: Path) -> None:
    """A file of settings that is no TOML, or nested without end, is an error in one line."""
    write(folder, "a.py", "x = 1\n")
    for content in ("a = " + "[" * 5_000, "\0", b"\xff", "[lint]\nextend = '/dev/zero'"):
        write(folder, "prefixgate.toml", content)
        result = CliRunner().invoke(cli, ["lint", "."])
        assert "prefixgate.toml" in str(result.exception) or "/dev/zero" in str(result.exception)


def limited(*arguments: str) -> tuple[int, str, str]:
    """The command in a process that may not have more than MEMORY."""
    done = subprocess.run(
        [sys.executable, "-c", "from gateway.cli import main; main()", "lint", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


LARGE = ("big.py", "big.j2", "big.yaml", "prompt_big.txt", "big.json", "big.jsonl")


@pytest.mark.slow
def test_a_line_of_a_gigabyte(folder: Path) -> None:
    """Reported, in bounded memory, whatever kind of file it pretends to be; a log is read on behind it."""
    for name in LARGE:
        with (folder / name).open("wb") as file:
            file.truncate(1 << 30)
    with (folder / "big.jsonl").open("ab") as file:
        file.write(b'\n{"prompt": "x"}\n')
    code, out, err = limited(str(folder), "--output-format", "concise")
    assert (code, err) == (1, "")
    assert {Path(line.split(":")[0]).name for line in out.splitlines()} == set(LARGE)
    assert "PC001" in out
    assert "longer than 32 MB" in out


@pytest.mark.slow
def test_a_bomb(folder: Path) -> None:
    """A gzip of a gigabyte of nothing is one long line too."""
    with gzip.open(folder / "bomb.jsonl.gz", "wb", 1) as file:
        for _ in range(1024):
            file.write(b"\0" * (1 << 20))
    code, out, err = limited(str(folder), "--output-format", "concise")
    assert (code, err) == (1, "")
    assert "longer than 32 MB" in out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_thousand_files(folder: Path) -> None:
    """Listed once, in order, in bounded memory."""
    for number in range(100_000):
        (folder / f"{number}.py").touch()
    code, out, err = limited(str(folder), "--output-format", "concise")
    assert (code, out, err) == (0, "", "")
