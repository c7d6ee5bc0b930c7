"""Cache entries that breakpoints write, and whether any later request reads them.

As Anthropic documents it (lint.providers): an entry is the hash of all blocks up to a breakpoint; a request looks for
one from each of its breakpoints back, 20 blocks far; an entry lives 5 minutes or an hour from its last use, and can
be read once the answer to the request that wrote it began. What depends on time needs times in the log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import xxhash

from lint.breakpoints import Block, model_of
from lint.providers import LIFETIMES, LOOK_BACK, smallest_prefix
from lint.rule import Location, Sighting
from lint.traffic.generations import Generations
from lint.traffic.logged import Logged
from lint.traffic.losses import Loss
from lint.traffic.watcher import Exchange, Note
from prefix.tokens import BYTES_PER_TOKEN

_ENTRIES: Final = 1 << 15
_FEW: Final = 3
_READ: Final = 0.1
"""Of the requests of a template: with more of them reading, its breakpoints do what they are for."""
_TEMPLATES: Final = 4096


class _Entry(NamedTuple):
    """ttl: as marked. used: when last, None when the log has no times. readable: from when on; None is unknown."""

    ttl: str
    used: float | None
    readable: float | None


@dataclass(slots=True)
class _Use:
    """Of one template: requests with breakpoints, those that read, and what the others shared all the same."""

    requests: int = 0
    reads: int = 0
    lost: int = 0
    first: Sighting | None = None


class Writes:
    """The entries, and what kept requests from reading them."""

    def __init__(self) -> None:
        self._entries: Generations[int, _Entry] = Generations(_ENTRIES)
        self._uses: dict[int, _Use] = {}
        self._found: dict[str, tuple[Sighting, int, int]] = {}
        self._bytes = 0

    def see(self, exchange: Exchange) -> None:
        """Nothing for models that need no breakpoints."""
        found, model = exchange.blocks, model_of(exchange.logged.body)
        minimum = smallest_prefix(model)
        marked = [at for at, block in enumerate(found) if block.ttl is not None]
        if not marked or minimum is None:
            return
        self._bytes += len(exchange.request.view)
        keys, sizes = _keys(model, found)
        least = minimum.tokens * BYTES_PER_TOKEN
        read = self._read(exchange, keys, sizes, marked)
        self._use(exchange, found[marked[0]], read, least)
        started, readable = exchange.logged.started, _readable(exchange)
        for at in marked:
            known = self._entries.get(keys[at]) if at <= read else None
            ttl = found[at].ttl or ""
            self._entries.set(keys[at], _Entry(ttl, started, known.readable if known else readable))
        if read >= 0 and (entry := self._entries.get(keys[read])) is not None:
            self._entries.set(keys[read], entry._replace(used=started))

    def _read(self, exchange: Exchange, keys: list[int], sizes: list[int], marked: list[int]) -> int:
        """The last block of the entry that is read, -1 for none; what kept a longer one from it is counted."""
        within = {at for mark in marked for at in range(max(0, mark - LOOK_BACK + 1), mark + 1)}
        kept: tuple[str, int] | None = None
        read = -1
        for at in range(marked[-1], -1, -1):
            entry = self._entries.get(keys[at])
            if entry is None:
                continue
            reason = self._kept_from(entry, exchange.logged, at in within)
            if reason is None:
                read = at
                break
            kept = kept or (reason, sizes[at])
        if kept is not None:
            self._count(kept[0], exchange, kept[1] - (sizes[read] if read >= 0 else 0))
        return read

    def _kept_from(self, entry: _Entry, logged: Logged, in_reach: bool) -> str | None:
        if not in_reach:
            return "lookback"
        if logged.started is None or entry.used is None:
            return None
        if entry.readable is not None and entry.used <= logged.started < entry.readable:
            return "fanout"
        return "expired" if logged.started - entry.used > LIFETIMES[entry.ttl] else None

    def _count(self, kind: str, exchange: Exchange, lost: int) -> None:
        request = exchange.request
        new = Sighting(
            message=_TITLES[kind],
            location=Location(request.row, 1),
            request=request.number,
        )
        sighting, count, so_far = self._found.get(kind, (new, 0, 0))
        self._found[kind] = sighting, count + 1, so_far + lost

    def _use(self, exchange: Exchange, first: Block, read: int, least: float) -> None:
        template = exchange.request.template
        if template not in self._uses and len(self._uses) >= _TEMPLATES:
            return
        use = self._uses.setdefault(template, _Use())
        use.requests += 1
        if read >= 0:
            use.reads += 1
        elif exchange.cached >= least:
            use.lost += exchange.cached
            use.first = use.first or Sighting(
                message=(
                    f"the first breakpoint stands behind text of one request ({first.pointer}): each request writes"
                    " an entry that none reads"
                ),
                location=Location(exchange.request.row, 1),
                request=exchange.request.number,
                pointer=first.pointer,
            )

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One per template that never reads, and one per reason that kept others from reading."""
        for use in self._uses.values():
            missed = use.requests - use.reads
            if use.first is not None and missed >= _FEW and use.reads <= _READ * use.requests and not self._found:
                yield Note.counted("never_read", use.first, missed - 1, use.lost, self._bytes)
        for kind, (sighting, count, lost) in self._found.items():
            yield Note.counted(kind, sighting, count, lost, self._bytes)


_TITLES: Final = {
    "lookback": f"the entry to read lies more than {LOOK_BACK} blocks before every breakpoint",
    "fanout": "sent before the answer to the request that writes the same prefix began",
    "expired": "the entry to read had outlived its ttl: requests come less often than it lives",
}


def _keys(model: str, found: Sequence[Block]) -> tuple[list[int], list[int]]:
    """Of each block: the hash of all up to it, and their bytes."""
    digest = xxhash.xxh3_64(model.encode("utf-8", "surrogatepass"))
    keys: list[int] = []
    sizes: list[int] = []
    for block in found:
        digest.update(block.content)
        keys.append(digest.intdigest())
        sizes.append((sizes[-1] if sizes else 0) + len(block.content))
    return keys, sizes


def _readable(exchange: Exchange) -> float | None:
    """When the answer began: its first token, or all of it when it was not streamed."""
    logged = exchange.logged
    if logged.first is not None:
        return logged.first
    return None if logged.body.get("stream") else logged.ended
