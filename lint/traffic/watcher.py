"""What a watcher is: it sees the requests of a log one by one and notes, at the end, what no comparison of two shows.

Losses (lint.traffic.losses) are what two prompts part at; notes are all else: a tool that nobody calls, a key that
splits what could be shared, a mark that writes what is never read. Each watcher remembers a bounded amount.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from lint.breakpoints import Block
from lint.rule import Sighting
from lint.traffic.logged import Logged
from lint.traffic.losses import Loss
from lint.traffic.seen import Request
from prefix.tokens import BYTES_PER_TOKEN


class Exchange(NamedTuple):
    """One request and what is known around it.

    request: in one form (lint.traffic.form). logged: as it came, and what the log says of it. before: the turn it
    goes on from. nearest: the earlier request that shares most with it. cached: bytes of the view they share. keys:
    block_keys. blocks: lint.breakpoints', none for models that need no breakpoints.
    """

    request: Request
    logged: Logged
    before: Request | None
    nearest: Request | None
    cached: int
    keys: Sequence[int]
    blocks: Sequence[Block]


class Note(NamedTuple):
    """What a watcher has to say. kind: which rule it is for. share: of the input that it costs, None when no share
    is known; it may lower the rule's severity."""

    kind: str
    sighting: Sighting
    share: float | None = None

    @classmethod
    def counted(cls, kind: str, sighting: Sighting, occurrences: int, lost: int, total: int) -> "Note":
        """A note with what it costs. lost: bytes, of `total` bytes of the same kind of requests."""
        tokens, share = round(lost / BYTES_PER_TOKEN), lost / max(1, total)
        requests = "1 request" if occurrences == 1 else f"{occurrences:,} requests"
        cost = f"{requests}, about {tokens:,} tokens recoverable ({share:.0%} of the input)"
        counted = replace(
            sighting,
            message=f"{sighting.message}: {cost}",
            occurrences=occurrences,
            recoverable_tokens=tokens,
        )
        return cls(kind, counted, share)


class Watcher(Protocol):
    """Sees a log go by."""

    def see(self, exchange: Exchange) -> None:
        """Take the next request, in the order of the log."""

    def notes(self, losses: Sequence[Loss]) -> Iterator[Note]:
        """What it found, at the end. losses: what is reported of this log already."""
