"""One request in flight, and what its end teaches. Pure.

The engine reports how much of the prompt it had cached; the index predicted how much. Three lessons, all bounded:

- **fewer than the LRU part of the prediction** (by more than 2 blocks and 5 % of the prompt): the worker evicts
  earlier than believed, so its believed capacity shrinks by 3 %. What was in flight at dispatch does not count, as two
  requests of one batch both compute a shared prefix.
- **more than predicted, while that LRU is full**: it grows by 3 %. When the LRU is not full the reason is another
  one: blocks from before this gateway started, or from other gateways.
- **nothing of a hit predicted from the LRU alone**, twice in a row: the engine restarted or flushed unseen, or does
  not cache this prompt; the index forgets it (`WorkerIndex.unpin`).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from gateway.load import Ask, WorkerLoad
from gateway.policies import Candidate, Reason
from prefix.index import WorkerIndex
from prefix.runs import Run

SHRINK: Final = 0.97
GROW: Final = 1.03


class Route(msgspec.Struct, frozen=True):
    """Where one request goes; tokens of its prompt.

    expected_cached_tokens: believed to be cached on `worker`. best_fleet_tokens: the most believed on any worker, a
    candidate or not. number: which request of this router it is.
    """

    worker: str
    expected_cached_tokens: int
    best_fleet_tokens: int
    reason: Reason
    number: int


class Flight:
    """A request that was routed and not yet released: its queue entry, its pin, what was predicted in blocks."""

    __slots__ = ("_known", "_load", "_pinned", "_prompt_tokens", "_run", "_whole", "first_token_at", "index", "route")
