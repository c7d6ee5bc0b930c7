"""The settings for a file: those of the nearest folder above it that has any, under what the command line says."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lint.settings import FILES, Settings, settings_of, table_of
from prefix.errors import ConfigError

SettingsFor = Callable[[Path], Settings]
"""The settings for files in a folder."""


class Nearest:
    """Looks settings up by folder. given: keys from the command line. file: read instead of any other;
    isolated: read none."""

    def __init__(self, given: Mapping[str, Any], *, file: Path | None = None, isolated: bool = False) -> None:
        settings_of(given, Path(), None, "command line")  # a mistake is named before anything is merged
        self._given = given
        self._isolated = isolated
        self._fixed = self._read(file) if file is not None else None
        self._known: dict[Path, Settings] = {}

    def __call__(self, folder: Path) -> Settings:
        """The settings for files in a folder. Raises ConfigError."""
        folder = folder.absolute()
        if folder not in self._known:
            self._known[folder] = self._fixed or self._find(folder)
        return self._known[folder]

    def _find(self, folder: Path) -> Settings:
        for place in (folder, *folder.parents) if not self._isolated else ():
            for name, path in FILES:
                file = place / name
                if file.is_file() and (table := table_of(file, path)) is not None:
                    return self._over(table, file)
        return self._over({}, None)

    def _read(self, file: Path) -> Settings:
        path = dict(FILES).get(file.name, ("lint",))
        table = table_of(file, path)
        if table is None:
            raise ConfigError(f"{file}: no table [{'.'.join(path)}]")
        return self._over(table, file)

    def _over(self, table: Mapping[str, Any], file: Path | None) -> Settings:
        folder = file.parent.absolute() if file else Path.cwd()
        if file is not None:
            settings_of(table, folder, file, str(file))  # a mistake in the file is named as one of the file
        merged = {**table, **self._given}
        if "baseline" in self._given:
            merged["baseline"] = str(Path(self._given["baseline"]).absolute())
        if "per-file-ignores" in table and "per-file-ignores" in self._given:
            merged["per-file-ignores"] = {**table["per-file-ignores"], **self._given["per-file-ignores"]}
        if "exclude" in table and "exclude" in self._given:
            merged["exclude"] = [*table["exclude"], *self._given["exclude"]]
        return settings_of(merged, folder, file, "command line")


def inline(text: str) -> dict[str, Any]:
    """`KEY=VALUE` of `--config`, as TOML. Raises ConfigError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(f"--config {text!r}: neither a file nor KEY=VALUE in TOML ({error})") from None
