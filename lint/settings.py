"""What a project has set for the linter: `[tool.prefixgate.lint]` in pyproject.toml, `[lint]` in prefixgate.toml.

    [tool.prefixgate.lint]
    ignore = ["PC102"]
    fail-on = "error"
    per-file-ignores = { "tests/*" = ["PC1"] }

Each file is judged by the nearest one above it (lint.nearest); it may `extend` another. The command line wins, key by
key. Patterns are relative to the folder of the file they are in.
"""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from lint.bounded import read_bounded
from lint.call_sites import Sites, parse_call_sites
from lint.costing import DEFAULT_CAPACITY, DEFAULT_PAGE, Costing, parse_price
from lint.rule import SEVERITIES, Severity
from lint.selection import Selection
from prefix.errors import ConfigError

FILES: Final = (("prefixgate.toml", ("lint",)), ("pyproject.toml", ("tool", "prefixgate", "lint")))
"""Where settings are looked for in a folder, and in which table."""
FAIL_ON: Final = (*reversed(SEVERITIES), "never")
LARGEST_PAGE: Final = 4096
_DEEPEST: Final = 16
_LARGEST: Final = 1 << 20


class Settings(NamedTuple):
    """folder: that patterns are relative to. file: where they were read, None for the defaults."""

    folder: Path = Path()
    file: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    fixable: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    respect_gitignore: bool = True
    fail_on: Severity | str = "warning"
    max_warnings: int | None = None
    baseline: str | None = None
    call_sites: tuple[str, ...] = ()
    price: str | None = None
    prefill_speed: float | None = None
    kv_capacity: int = DEFAULT_CAPACITY
    page_size: int = DEFAULT_PAGE

    @property
    def costing(self) -> Costing:
        """How the losses of a log are replayed and priced."""
        price = None if self.price is None else parse_price(self.price)
        return Costing(self.kv_capacity, self.page_size, price, self.prefill_speed)

    @property
    def selection(self) -> Selection:
        """Which rules are applied."""
        return Selection(self.select, self.ignore, self.extend_select)

    @property
    def sites(self) -> Sites:
        """The calls of the project's own that hand over a prompt."""
        return parse_call_sites(self.call_sites)

    def may_fix(self, code: str, name: str) -> bool:
        """Whether a rule's fixes may be applied."""
        return (not self.fixable or listed(code, name, self.fixable)) and not listed(code, name, self.unfixable)

    def ignored(self, filename: str, code: str, name: str) -> bool:
        """A rule is switched off for a file."""
        return any(
            self._matches(filename, pattern) and listed(code, name, codes)
            for pattern, codes in self.per_file_ignores.items()
        )

    def excluded(self, filename: str) -> bool:
        """A file below a folder that was given is left out; the baseline is."""
        own = self.baseline is not None and Path(filename).absolute() == self.folder / self.baseline
        return own or any(self._matches(filename, pattern) for pattern in self.exclude)

    def _matches(self, filename: str, pattern: str) -> bool:
        path = Path(filename).absolute()
        inside = path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else filename
        return (
            fnmatch(inside, pattern) or inside.startswith(pattern.rstrip("/*") + "/") or fnmatch(path.name, pattern)
        )


def listed(code: str, name: str, selectors: Iterable[str]) -> bool:
    """Whether a list of codes, beginnings of codes and names has a rule in it."""
    return any(code.startswith(selector.upper()) or name == selector.lower() for selector in selectors)


def table_of(file: Path, path: tuple[str, ...] | None = None, depth: int = 0) -> dict[str, Any] | None:
    """The settings in a file, over those it extends; None when it has none. path: of the table in it."""
    import tomllib

    try:
        content = tomllib.loads(read_bounded(file, _LARGEST))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: {error}") from None
    found: Any = content
    for name in path or dict(FILES).get(file.name, ("lint",)):
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        return None
    base = found.pop("extend", None)
    if base is None:
        return found
    if not isinstance(base, str) or depth >= _DEEPEST:
        raise ConfigError(f"{file}: extend must be the path of another file of settings, and not of one in a circle")
    return (table_of(file.parent / base, depth=depth + 1) or {}) | found


def settings_of(table: Mapping[str, Any], folder: Path, file: Path | None, where: str) -> Settings:
    """A table as settings. where: what an error names. Raises ConfigError, with the nearest key there is."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        read = _KEYS.get(key)
        if read is None:
            from difflib import get_close_matches

            near = get_close_matches(key, _KEYS, 1)
            raise ConfigError(f"{where}: no setting {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        try:
            values[key.replace("-", "_")] = read(value)
        except TypeError as error:
            raise ConfigError(f"{where}: {key} must be {error}") from None
        except ConfigError as error:
            raise ConfigError(f"{where}: {key}: {error}") from None
    return Settings(folder, file, **values)


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of strings")
    return tuple(value)


def _sites(value: Any) -> tuple[str, ...]:
    parse_call_sites(texts := _strings(value))
    return texts


def _table(value: Any) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise TypeError("a table of patterns, each with a list of rules")
    return {pattern: _strings(codes) for pattern, codes in value.items()}


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("a number, 0 or more")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def _size(value: Any) -> int:
    if _count(value) == 0:
        raise TypeError("a number, 1 or more")
    return int(value)


def _page(value: Any) -> int:
    if _size(value) > LARGEST_PAGE:
        raise TypeError(f"a number of tokens, {LARGEST_PAGE:,} at most")
    return int(value)


def _speed(value: Any) -> float:
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise TypeError("a number of tokens a second, more than 0")
    return float(value)


def _price(value: Any) -> str:
    """As text, so that it can be shown as it was written."""
    text = str(value) if type(value) in (int, float) else _text(value)
    try:
        parse_price(text)
    except ConfigError:
        raise TypeError('UNCACHED/CACHED, money per million input tokens, as in "2.5/0.25"') from None
    return text


def _severity(value: Any) -> str:
    if value not in FAIL_ON:
        raise TypeError(f"one of {', '.join(FAIL_ON)}")
    return str(value)


_KEYS: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("select", "ignore", "extend-select", "fixable", "unfixable", "exclude"), _strings),
    "per-file-ignores": _table,
    "respect-gitignore": _flag,
    "fail-on": _severity,
    "max-warnings": _count,
    "baseline": _text,
    "call-sites": _sites,
    "price": _price,
    "prefill-speed": _speed,
    "kv-capacity": _size,
    "page-size": _page,
}


def shown(settings: Settings) -> str:
    """Settings as TOML, with where they are from."""
    import json

    lines = [f"# {settings.file or 'defaults'}"]
    for key in _KEYS:
        value = getattr(settings, key.replace("-", "_"))
        if isinstance(value, Mapping):
            inner = ", ".join(f"{json.dumps(pattern)} = {json.dumps(codes)}" for pattern, codes in value.items())
            lines.append(f"{key} = {{ {inner} }}" if inner else f"{key} = {{}}")
        elif value is not None:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines)
