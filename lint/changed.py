"""`--diff-base REF`: which lines are new since a commit, asked of git, which is run to read and nothing else.

A repository may carry settings that run programs (file system monitor, diff drivers, filters, hooks, transports that
fetch what is missing); they are switched off, since linting must not run what it looks at.
"""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lint.rule import Finding
from prefix.errors import ConfigError

TIMEOUT_S: Final = 60.0
_OFF: Final = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never", "core.quotePath=false")
_SAFE: Final = ("git", "--no-optional-locks", *(word for setting in _OFF for word in ("-c", setting)))
_FILTERS: Final = ("config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$")
_DIFF: Final = (
    "diff",
    "--unified=0",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=all",
)
_HUNK: Final = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def only_changed(findings: Iterable[Finding], ref: str) -> list[Finding]:
    """The findings on lines that are new since a commit; one without a line counts when its file has changed at all,
    and one outside of the repository always.

    Raises ConfigError when git does not answer.
    """
    root = Path(_git("rev-parse", "--show-toplevel").rstrip("\n")).resolve()
    lines = _changed(ref, root)
    new = set(_git("ls-files", "--others", "--exclude-standard", "-z", folder=root).split("\0"))
    kept: list[Finding] = []
    for finding in findings:
        path = Path(finding.filename).resolve()
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else None
        touched = lines.get(name) if name is not None else None
        if name is None or name in new or (touched is not None and _touches(finding, touched)):
            kept.append(finding)
    return kept


def _touches(finding: Finding, touched: set[int]) -> bool:
    return finding.location is None or finding.request is not None or finding.location.row in touched


def _changed(ref: str, root: Path) -> dict[str, set[int]]:
    """By file, as seen from the root of the repository: the rows that were added or changed."""
    lines: dict[str, set[int]] = {}
    touched: set[int] = set()
    header = True
    for line in _git(*_without_filters(), *_DIFF, "--end-of-options", ref, "--", folder=root).split("\n"):
        hunk = _HUNK.match(line)
        if line.startswith("diff --git "):
            header, touched = True, set()
        elif header and line.startswith("+++ "):
            touched = lines.setdefault(_unquoted(line.removeprefix("+++ ").removeprefix("b/")), set())
        elif hunk:
            header = False
            start, count = int(hunk[1]), int(hunk[2] or 1)
            touched.update(range(start, start + count))
    return lines


def _without_filters() -> list[str]:
    """Options that switch off every filter a repository defines: git would run them to compare files."""
    keys = [key for key in _git(*_FILTERS, no_match=1).split("\0") if key]
    names = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    off = [f"{key}=" for key in keys] + [f"{name}.required=false" for name in names]
    return [word for setting in off for word in ("-c", setting)]


def _unquoted(name: str) -> str:
    """git quotes names with odd characters, and ends others that have blanks with a tab."""
    name = name.rstrip("\t")
    if not name.startswith('"'):
        return name
    inner = name.strip('"').removeprefix("b/")
    return inner.encode("utf-8").decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "replace")


def _git(*arguments: str, no_match: int = 0, folder: Path | None = None) -> str:
    """What git answers. no_match: an exit code that is no failure either. folder: None is the current one."""
    try:
        done = subprocess.run(  # noqa: S603 - the arguments are ours but for the commit's name, which is no option
            [*_SAFE, *arguments],
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env=os.environ | {"GIT_NO_LAZY_FETCH": "1"},
        )
    except FileNotFoundError:
        raise ConfigError("--diff-base needs git, which is not installed") from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"--diff-base: git did not answer within {TIMEOUT_S:.0f} s") from None
    if done.returncode not in (0, no_match):
        reason = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise ConfigError(f"--diff-base: {reason}")
    return done.stdout.decode("utf-8", "surrogateescape")
