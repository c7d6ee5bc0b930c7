"""Where a stored response is: the worker that made it, and whose it is.

One idea: `previous_response_id` and `/v1/responses/{id}` mean something to one engine only, the one that keeps the
conversation, so the gateway remembers who answered with which id. The memory is bounded and forgets after a while:
an engine's own store does not survive the engine either.
"""

from collections import OrderedDict
from typing import NamedTuple

import msgspec

LIMIT = 50_000
KEEP_S = 24 * 3600.0
_LONGEST = 128


class Owner(NamedTuple):
    """worker: id of the worker that made the response. customer: None in open mode. seen: last use, seconds."""

    worker: str
    customer: str | None
    seen: float


class ResponseIds:
    """Response id -> Owner, at most `limit`, each for `keep_s` seconds after its last use."""

    __slots__ = ("_keep_s", "_limit", "_owners")

    def __init__(self, limit: int = LIMIT, keep_s: float = KEEP_S) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self._owners: OrderedDict[str, Owner] = OrderedDict()

    def __len__(self) -> int:
        return len(self._owners)

    def remember(self, name: str, worker: str, customer: str | None, now: float) -> None:
        """A worker answered with this id. An id is its first customer's: nobody takes it over. now: seconds."""
        if len(name) > _LONGEST:
            return
        known = self.owner(name, now)
        if known is not None and known.customer != customer:
            return
        self._owners[name] = Owner(worker, customer, now)
        self._owners.move_to_end(name)
        while len(self._owners) > self._limit:
            self._owners.popitem(last=False)

    def owner(self, name: str, now: float) -> Owner | None:
        """Who made it, None when that is not known (any more). Looking counts as use."""
        self._expire(now)
        known = self._owners.get(name)
        if known is None:
            return None
        self._owners[name] = known._replace(seen=now)
        self._owners.move_to_end(name)
        return known

    async def seek(self, name: str, now: float) -> Owner | None:
        """As `owner`; where other processes of this gateway may know it, they are asked."""
        return self.owner(name, now)

    def _expire(self, now: float) -> None:
        while self._owners:
            name, oldest = next(iter(self._owners.items()))
            if now - oldest.seen <= self._keep_s:
                return
            del self._owners[name]


class _Named(msgspec.Struct):
    id: str | None = None
    object: str | None = None


_named = msgspec.json.Decoder(_Named)


def id_of(answer: bytes | None) -> str | None:
    """The id of a whole answer of /v1/responses, None when it has none."""
    if answer is None:
        return None
    try:
        found = _named.decode(answer)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found.id if found.object == "response" else None
