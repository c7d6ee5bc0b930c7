"""`--watch`: lints again when a file has changed. It polls, which every file system can do."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from lint.nearest import SettingsFor
from lint.walk import files_below

EVERY_S: Final = 0.5
Stamps = dict[str, tuple[int, int]]
"""Of each file: when it was changed (ns) and its size."""


def stamps(paths: Sequence[str], settings_for: SettingsFor) -> Stamps:
    """The state of everything that would be looked at."""
    found: Stamps = {}
    for path in map(Path, paths):
        respect = settings_for(path).respect_gitignore
        files = files_below(path, respect_gitignore=respect, unreadable=[]) if path.is_dir() else iter([path])
        for file in files:
            try:
                state = file.stat()
            except OSError:
                continue
            found[str(file)] = (state.st_mtime_ns, state.st_size)
    return found


def changes(look: Callable[[], Stamps], wait: Callable[[], None]) -> Iterator[Stamps]:
    """What `look` sees, at once and then whenever that is another; `wait` is called between."""
    last = look()
    yield last
    while True:
        wait()
        seen = look()
        if seen != last:
            last = seen
            yield seen
