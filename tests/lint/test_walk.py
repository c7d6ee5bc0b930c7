"""lint.walk: which files below a folder are looked at."""

import subprocess
from pathlib import Path

import pytest

from lint.walk import files_below

NAMES = """a.py b.txt c.log d.pyc sub/a.py sub/keep.log sub/deep/x.tmp sub/deep/y.py out/a.py out/b/c.py
    docs/out/a.py foo/bar/baz.py [odd].py q1.md q22.md sp\\ ace.py !bang.py #hash.py""".replace("\\ ", "_").split()


@pytest.mark.parametrize(
    "patterns",
    [
        ["*.log"],
        ["*.log", "!keep.log"],
        ["/out"],
        ["out/"],
        ["out/**"],
        ["sub/**/*.tmp"],
        ["**/deep"],
        ["/sub/*", "!/sub/deep"],
        ["foo/**/baz.py"],
        ["q?.md"],
        ["[abc].*"],
        ["[!a]*.py"],
        ["\\!bang.py", "\\#hash.py"],
        ["# a comment", "", "b.txt   "],
        ["a.py/"],
        ["*", "!*.py", "!*/"],
        ["docs/out"],
        ["["],
        ["foo/*/baz.py", "deep/*.py"],
    ],
    ids=" ".join,
)
def test_gitignore_is_read_as_git_does(tmp_path: Path, patterns: list[str]) -> None:
    """The same files are left out that git leaves out."""
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".gitignore").write_text("\n".join(patterns) + "\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, capture_output=True)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    known = {name for name in listed if name and not name.startswith(".")}
    found = {f.relative_to(tmp_path).as_posix() for f in files_below(tmp_path, respect_gitignore=True, unreadable=[])}
    assert found == known


def test_gitignore_of_other_folders(tmp_path: Path) -> None:
    """Those below and, up to the root of the repository, above hold too; the nearer one wins."""
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "repo" / ".git" / "info").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "info" / "exclude").write_text("private.py\n")
    (tmp_path / "repo" / ".gitignore").write_text("*.txt\n")
    inner = tmp_path / "repo" / "inner"
    inner.mkdir()
    (inner / ".gitignore").write_text("!b.txt\n")
    for name in ("a.txt", "b.txt", "c.log", "private.py"):
        (inner / name).write_text("")
    found = [file.name for file in files_below(inner, respect_gitignore=True, unreadable=[])]
    assert found == ["b.txt", "c.log"]
    assert len(list(files_below(inner, respect_gitignore=False, unreadable=[]))) == 4


def test_order_and_what_is_never_looked_at(tmp_path: Path) -> None:
    """Sorted by folder; no links, nothing hidden, no installed packages; a folder that cannot be listed is told."""
    for name in ("b/x.py", "a/x.py", "z.py", ".hidden/x.py", "node_modules/x.py", "venv/x.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "link.py").symlink_to(tmp_path / "z.py")
    unreadable: list[tuple[str, str]] = []
    found = [
        f.relative_to(tmp_path).as_posix()
        for f in files_below(tmp_path, respect_gitignore=True, unreadable=unreadable)
    ]
    assert found == ["z.py", "a/x.py", "b/x.py"]
    assert list(files_below(tmp_path / "gone", respect_gitignore=True, unreadable=unreadable)) == []
    assert unreadable == [(str(tmp_path / "gone"), "No such file or directory")]
