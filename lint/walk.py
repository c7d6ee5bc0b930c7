"""Files below a folder, in order: no links, nothing hidden, nothing that git ignores, and only regular files.

Pattern rules: https://git-scm.com/docs/gitignore
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal, NamedTuple

_SKIPPED: Final = frozenset("node_modules __pycache__ site-packages build dist venv".split())
_LARGEST_IGNORE: Final = 1 << 20
_TRAILING: Final = re.compile(r"(?<!\\)[ ]+\Z")
_ESCAPED: Final = re.compile(r"\\([*?\[])")


class Pattern(NamedTuple):
    """One line of a .gitignore. parts: a glob per folder, "**" for any number of them. takes_back: it undoes an
    earlier one. folders_only: it is for folders alone."""

    parts: tuple[str, ...]
    takes_back: bool
    folders_only: bool


class Rules(NamedTuple):
    """The patterns of one .gitignore; the last that matches decides. folder: they are relative to it."""

    folder: Path
    patterns: tuple[Pattern, ...]


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
            try:
                kind = _kind(entry)
            except OSError as error:
                unreadable.append((str(entry), error.strerror or str(error)))
                continue
            if kind is None or ignored(entry, kind == "folder", rules):
                continue
            if kind == "folder":
                below.append(entry)
            else:
                yield entry
        waiting += [(entry, rules) for entry in reversed(below)]


def _kind(entry: Path) -> Literal["file", "folder"] | None:
    """None for what is not looked at."""
    if entry.name.startswith(".") or entry.name in _SKIPPED or entry.is_symlink():
        return None
    return "folder" if entry.is_dir() else "file" if entry.is_file() else None


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
        parts = path.relative_to(own.folder).parts
        for pattern in reversed(own.patterns):
            if (is_folder or not pattern.folders_only) and _matches(pattern.parts, parts):
                return not pattern.takes_back
    return False


def _matches(globs: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Whether the globs match all parts: for each glob in turn, how many of the parts the ones so far can take."""
    taken = {0}
    for at, glob in enumerate(globs):
        if glob == "**":
            least = min(taken) + (at == len(globs) - 1)
            taken = set(range(least, len(parts) + 1))
        else:
            taken = {end + 1 for end in taken if end < len(parts) and fnmatchcase(parts[end], glob)}
        if not taken:
            return False
    return len(parts) in taken


def _rules(folder: Path, name: str = ".gitignore") -> Rules | None:
    file = folder / name
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST_IGNORE:
            return None
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return None
    patterns = tuple(pattern for line in lines if (pattern := _pattern(line)) is not None)
    return Rules(folder.absolute(), patterns) if patterns else None


def _pattern(line: str) -> Pattern | None:
    text = _TRAILING.sub("", line.rstrip("\r"))
    if not text or text.startswith("#"):
        return None
    takes_back = text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    parts = [_ESCAPED.sub(r"[\1]", part).replace("\\", "") for part in text.lstrip("/").split("/") if part]
    return Pattern(tuple(parts if anchored else ["**", *parts]), takes_back, folders_only) if parts else None
