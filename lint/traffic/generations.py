"""A table that forgets what was not used for long, in constant time: two dicts, the younger one used."""

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Generations(Generic[K, V]):
    """Remembers between `size` and twice `size` keys, those used last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value; to be asked for is no use of it."""
        found = self._young.get(key)
        return self._old.get(key) if found is None else found

    def set(self, key: K, value: V) -> None:
        """Remember a value, or remember it for longer."""
        if len(self._young) >= self._size and key not in self._young:
            self._old, self._young = self._young, {}
        self._young[key] = value
