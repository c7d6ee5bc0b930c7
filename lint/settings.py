"""What a project has set for the linter: `[tool.prefixgate.lint]` in the nearest pyproject.toml.

    [tool.prefixgate.lint]
    ignore = ["PC102"]
    fail-on = "error"
    per-file-ignores = { "tests/*" = ["PC1"] }

The command line wins over it, key by key.
"""

import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, NamedTuple

from lint.costing import Costing
from lint.rule import SEVERITIES
from prefix.errors import ConfigError

_CODES: Final = ("select", "ignore", "extend-select")
_KEYS: Final = (*_CODES, "per-file-ignores", "exclude", "fail-on")
FAIL_ON: Final = (*reversed(SEVERITIES), "never")


class Settings(NamedTuple):
    """folder: of the pyproject.toml; patterns are relative to it. codes: by option. per_file: pattern to codes.
    costing: how the losses of logs are replayed and priced."""

    folder: Path = Path()
    codes: Mapping[str, tuple[str, ...]] = {}
    per_file: Mapping[str, tuple[str, ...]] = {}
    exclude: tuple[str, ...] = ()
    fail_on: str | None = None
    costing: Costing = Costing()

    def ignored(self, filename: str, code: str, name: str) -> bool:
        """A rule is switched off for a file."""
        return any(
            code.startswith(listed.upper()) or name == listed
            for pattern, codes in self.per_file.items()
            if self._matches(filename, pattern)
            for listed in codes
        )

    def excluded(self, filename: str) -> bool:
        """A file below a folder that was given is left out."""
        return any(self._matches(filename, pattern) for pattern in self.exclude)

    def _matches(self, filename: str, pattern: str) -> bool:
        path = Path(filename).absolute()
        inside = path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else filename
        return (
            fnmatch(inside, pattern) or inside.startswith(pattern.rstrip("/*") + "/") or fnmatch(path.name, pattern)
        )


def load_settings(start: Path) -> Settings:
    """The settings of the nearest pyproject.toml that has any, from a folder upwards. Raises ConfigError."""
    for folder in (start.absolute(), *start.absolute().parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _settings(file, table)
    return Settings()


def _table(file: Path) -> dict[str, Any] | None:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: {error}") from None
    table: Any = content
    for name in ("tool", "prefixgate", "lint"):
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def _settings(file: Path, table: dict[str, Any]) -> Settings:
    for key in table:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, 1)
            raise ConfigError(f"{file}: no setting {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))
    fail_on = table.get("fail-on")
    if fail_on not in (None, *FAIL_ON):
        raise ConfigError(f"{file}: fail-on must be one of {', '.join(FAIL_ON)}")
    strings = _reader(file)
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ConfigError(f"{file}: per-file-ignores must be a table of patterns")
    return Settings(
        file.parent,
        {key: strings(key, table[key]) for key in _CODES if key in table},
        {pattern: strings(pattern, codes) for pattern, codes in per_file.items()},
        strings("exclude", table.get("exclude", [])),
        fail_on,
    )


def _reader(file: Path) -> Callable[[str, Any], tuple[str, ...]]:
    def strings(key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{file}: {key} must be a list of strings")
        return tuple(value)

    return strings
