"""Files below a folder, in order: no links, nothing hidden, nothing that git ignores, and only regular files.

Pattern rules: https://git-scm.com/docs/gitignore
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_SKIPPED: Final = frozenset("node_modules __pycache__ site-packages build dist venv".split())
_LARGEST_IGNORE: Final = 1 << 20


class Rules(NamedTuple):
    """The patterns of one .gitignore. folder: they are relative to it. patterns: with whether each takes back an
    earlier one, and whether it is for folders alone; the last that matches decides."""

    folder: Path
    patterns: tuple[tuple[re.Pattern[str], bool, bool], ...]


def files_below(folder: Path, *, respect_gitignore: bool, unreadable: list[tuple[str, str]]) -> Iterator[Path]:
    """Regular files below a folder, sorted by folder. unreadable: gets the folders that cannot be listed, and why."""
    ignores = ignores_above(folder) if respect_gitignore else ()
    waiting: list[tuple[Path, tuple[Rules, ...]]] = [(folder, ignores)]
    while waiting:
        here, above = waiting.pop()
        try:
            entries = sorted(here.iterdir())
        except OSError as error:
            unreadable.append((str(here), error.strerror or str(error)))
            continue
        own = _rules(here) if respect_gitignore else None
        rules = (*above, own) if own else above
        below: list[Path] = []
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED or entry.is_symlink():
                continue
            is_folder = entry.is_dir()
            if ignored(entry, is_folder, rules):
                continue
            if is_folder:
                below.append(entry)
            elif entry.is_file():
                yield entry
        waiting += [(entry, rules) for entry in reversed(below)]


def ignores_above(folder: Path) -> tuple[Rules, ...]:
    """The .gitignore files of the folders above, up to the root of the repository; none outside of one."""
    above = [folder.absolute(), *folder.absolute().parents]
    root = next((at for at, place in enumerate(above) if (place / ".git").exists()), None)
    if root is None:
        return ()
    found = [_rules(place) for place in reversed(above[1 : root + 1])]
    exclude = _rules(above[root], ".git/info/exclude")
    return tuple(rules for rules in (exclude, *found) if rules)


def ignored(entry: Path, is_folder: bool, rules: tuple[Rules, ...]) -> bool:
    """Whether git would ignore it."""
    path = entry.absolute()
    for own in reversed(rules):
        inside = path.relative_to(own.folder).as_posix()
        for pattern, takes_back, folders_only in reversed(own.patterns):
            if (is_folder or not folders_only) and pattern.fullmatch(inside):
                return not takes_back
    return False


def _rules(folder: Path, name: str = ".gitignore") -> Rules | None:
    file = folder / name
    if not file.is_file() or file.stat().st_size > _LARGEST_IGNORE:
        return None
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    patterns = tuple(pattern for line in lines if (pattern := _pattern(line)) is not None)
    return Rules(folder.absolute(), patterns) if patterns else None


def _pattern(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    text = re.sub(r"(?<!\\) +$", "", line)
    if not text or text.startswith("#"):
        return None
    takes_back = text.startswith("!")
    text = text.removeprefix("!").removeprefix("\\")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    body = _translated(text.lstrip("/"))
    try:
        return re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL), takes_back, folders_only
    except re.error:
        return None


def _translated(glob: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        close = glob.find("]", at + 2) if char == "[" else -1
        if glob.startswith("**/", at):
            out.append("(?:[^/]+/)*")
            at += 3
            continue
        if glob.startswith("/**", at) and at + 3 == len(glob):
            out.append("/.+")
            at += 3
            continue
        if close > 0:
            inner = glob[at + 1 : close].replace("\\", "\\\\")
            out.append(f"[{'^' + inner[1:] if inner[0] == '!' else inner}]")
            at = close
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char))
        at += 1
    return "".join(out)
