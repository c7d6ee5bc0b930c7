"""Who is next when workers have room again: first come first served per customer, fair between customers. Pure.

Deficit round robin by tokens (Shreedhar and Varghese, SIGCOMM 1995): customers take turns, each turn is worth QUANTUM
tokens, and an entry is taken when its customer's turns have paid for it. So a customer of long prompts gets as many
tokens as one of short ones, and one who queues a thousand requests waits for its own, not the others for them. When
the queue is full, the newest entry of the customer with the most is put out for one who has fewer.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

QUANTUM: Final = 1024
"""Tokens of one turn."""

T = TypeVar("T")


class _Line(Generic[T]):
    """One customer's entries, and the tokens its turns have paid for but not used."""

    __slots__ = ("credit", "entries")

    def __init__(self) -> None:
        self.entries: deque[tuple[T, int]] = deque()
        self.credit = 0


class FairQueue(Generic[T]):
    """At most `capacity` entries of many customers."""

    __slots__ = ("_lines", "_size", "capacity")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._lines: OrderedDict[str, _Line[T]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, customer: str, entry: T, tokens: int) -> T | None:
        """Put an entry in. Returns the one that is put out for it, this very one when it has no claim to a place."""
        out: T | None = None
        if self._size >= self.capacity:
            most = max(self._lines, key=lambda name: len(self._lines[name].entries), default=customer)
            own = self._lines.get(customer)
            if most == customer or len(self._lines[most].entries) <= (len(own.entries) if own else 0) + 1:
                return entry
            out = self._lines[most].entries.pop()[0]  # at least one is left there
            self._size -= 1
        line = self._lines.get(customer)
        if line is None:
            line = self._lines[customer] = _Line()
        line.entries.append((entry, tokens))
        self._size += 1
        return out

    def pop(self, fits: Callable[[T], bool] = lambda _: True) -> T | None:
        """Take the next entry out; None when there is none, or the first of no customer's line fits."""
        misfits: set[str] = set()
        while len(misfits) < len(self._lines):
            customer, line = next(iter(self._lines.items()))
            entry, tokens = line.entries[0]
            if customer in misfits or not fits(entry):
                misfits.add(customer)
            elif line.credit < tokens:
                line.credit += QUANTUM
            else:
                line.credit -= tokens
                self._drop_first(customer, line)
                return entry
            self._lines.move_to_end(customer)
        return None

    def _drop_first(self, customer: str, line: _Line[T]) -> None:
        line.entries.popleft()
        self._size -= 1
        if not line.entries:
            del self._lines[customer]  # who has nothing waiting saves nothing up

    def remove(self, customer: str, entry: T) -> None:
        """Take an entry out of its turn; one that is not there any more is fine."""
        line = self._lines.get(customer)
        if line is None:
            return
        kept = deque(each for each in line.entries if each[0] != entry)
        self._size -= len(line.entries) - len(kept)
        line.entries = kept
        if not kept:
            del self._lines[customer]

    def drain(self) -> list[T]:
        """Take everything out, in no order that matters."""
        entries = [entry for line in self._lines.values() for entry, _ in line.entries]
        self._lines.clear()
        self._size = 0
        return entries
