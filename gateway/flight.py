"""One request in flight, and what its end teaches. Pure.

First tokens teach the fleet's prefill rate, arrivals how busy it is. At the end the engine reports how much of the
prompt it had cached, and the index had predicted how much. Three lessons, all bounded:

- **fewer than the LRU part of the prediction** (by more than 2 blocks and 5 % of the prompt): the worker evicts
  earlier than believed, so its believed capacity shrinks by 3 %. What was in flight at dispatch does not count, as
  two requests of one batch both compute a shared prefix.
- **more than predicted, while that LRU is full**: it grows by 3 %. When the LRU is not full the reason is another
  one: blocks from before this gateway started, or from other gateways.
- **nothing of a hit predicted from the LRU alone**, twice in a row: the engine restarted or flushed unseen, or does
  not cache this prompt; the index forgets it (`WorkerIndex.unpin`).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from gateway.load import Ask, WorkerLoad
from gateway.pace import Paces
from gateway.policies import Candidate, Reason
from prefix.index import WorkerIndex
from prefix.runs import Run

SHRINK: Final = 0.97
GROW: Final = 1.03

SLACK_BLOCKS: Final = 2
SLACK_SHARE: Final = 0.05
"""How far a prediction may be off, in blocks and as a share of the prompt, without teaching anything."""

MEAN_WEIGHT: Final = 0.02
"""Weight of one request in a running mean."""

BUSY: Final = 0.5
BUSY_WEIGHT: Final = 0.01
"""Share of busy workers before any was seen, and the weight of what one request finds."""

PREFILL_RATE: Final = 8000.0
PRIOR_S: Final = 2.0
"""Tokens/s that a worker prefills before any was seen, and the seconds of queue that this guess is worth."""

PREFILL_RATE_LEAST: Final = 10.0
PREFILL_RATE_MOST: Final = 1e6
"""Limits of the rate, for engines that answer at once and clocks that stand still."""


class Route(msgspec.Struct, frozen=True):
    """Where one request goes; tokens of its prompt.

    expected_cached_tokens: believed to be cached on `worker`. best_fleet_tokens: the most believed on any worker, a
    candidate or not. number: which request of this router it is. held_blocks, fleet_blocks: leading blocks believed
    to be computed on `worker`, and the most on any.
    """

    worker: str
    expected_cached_tokens: int
    best_fleet_tokens: int
    reason: Reason
    number: int
    held_blocks: int = 0
    fleet_blocks: int = 0


class Means:
    """Running means over the fleet.

    prefill_rate: tokens/s that a worker prefills while it has a queue. output_tokens: of a request. decode_s: seconds
    from its first token to its end. busy: share of the workers with a queue. paces: how long prefill takes by size.

    A guess counts as the first sample; then plain means, until a sample would weigh less than MEAN_WEIGHT. The rate
    is a ratio of sums, tokens prefilled by seconds with a queue, so a batch of first tokens at once is no outlier.
    """

    __slots__ = (
        "_busy_s",
        "_ends",
        "_outputs",
        "_prefilled",
        "busy",
        "decode_s",
        "output_tokens",
        "paces",
        "prefill_rate",
    )

    def __init__(self) -> None:
        self.prefill_rate = PREFILL_RATE
        self.output_tokens = 256.0
        self.decode_s = 8.0
        self.busy = BUSY
        self.paces = Paces()
        self._outputs = 1
        self._ends = 1
        self._busy_s = PRIOR_S
        self._prefilled = PRIOR_S * PREFILL_RATE

    def learn_busy(self, share: float) -> None:
        """A request found this share of the workers with a queue."""
        self.busy += (share - self.busy) * BUSY_WEIGHT

    def learn_prefill(self, tokens: int, busy_s: float) -> None:
        """A worker had its next first token after `busy_s` seconds of queue."""
        self._prefilled += tokens - MEAN_WEIGHT * self._prefilled
        self._busy_s += busy_s - MEAN_WEIGHT * self._busy_s
        most = PREFILL_RATE_MOST
        rate = self._prefilled / self._busy_s if self._busy_s * most > self._prefilled else most
        self.prefill_rate = max(PREFILL_RATE_LEAST, rate)

    def learn_end(self, output_tokens: int, decode_s: float | None) -> None:
        """A request that generated something ended; decode_s is None when its first token was not seen."""
        self._outputs += 1
        self.output_tokens += (output_tokens - self.output_tokens) * max(MEAN_WEIGHT, 1 / self._outputs)
        if decode_s is not None:
            self._ends += 1
            self.decode_s += (decode_s - self.decode_s) * max(MEAN_WEIGHT, 1 / self._ends)


class Flight:
    """A request that was routed and not yet released: counted in the load and pinned in the index of its worker."""

    __slots__ = (
        "_index",
        "_known",
        "_pinned",
        "_prompt_tokens",
        "_run",
        "_uncached",
        "_whole",
        "first_token_at",
        "load",
        "route",
    )

    def __init__(self, route: Route, load: WorkerLoad, ask: Ask, chosen: Candidate) -> None:
        self.route = route
        self.load = load
        self.first_token_at: float | None = None
        self._index: WorkerIndex = load.index
        self._prompt_tokens = ask.prompt_tokens
        self._known = chosen.known_blocks
        self._pinned = chosen.pinned_blocks
        self._uncached = chosen.uncached
        self._run: Run
        self._run, self._whole = load.index.pin(ask.blocks, chosen.pinned_blocks)
        load.dispatch(route.number, chosen.uncached, ask.now)

    def first_token(self, now: float, means: Means) -> None:
        """The first token arrived; only the first call counts."""
        if self.first_token_at is None:
            self.first_token_at = now
            busy_s = max(0.0, now - self.load.since)
            means.learn_prefill(self._uncached, busy_s)
            means.paces.learn(self.load.pace, self._uncached, busy_s)
            self.load.settle(self.route.number, now)
            self._index.mark_computed(self._run)

    def end(
        self,
        now: float,
        means: Means,
        block_tokens: float,
        cached_tokens: int | None,
        output_tokens: int,
        output_blocks: Sequence[int],
    ) -> None:
        """The request ended. Its slot is free whatever was reported; a worker reset since then learns nothing."""
        began, load = self.first_token_at, self.load
        load.in_flight -= 1
        load.settle(self.route.number, now)
        if output_tokens > 0:
            means.learn_end(output_tokens, None if began is None else max(0.0, now - began))
        if self._index is not load.index:
            return
        if cached_tokens is not None:
            cached_tokens = min(cached_tokens, self._prompt_tokens) if cached_tokens >= 0 else None
        missed = None
        if cached_tokens is not None and not self._index.exact:
            self._correct(cached_tokens, block_tokens, means.output_tokens)
            missed = self._missed(cached_tokens)
        self._index.unpin(
            self._run,
            computed=began is not None or output_tokens > 0 or cached_tokens is not None,
            output_blocks=output_blocks if self._whole else (),
            missed=missed,
        )
        load.trim(means.output_tokens, block_tokens)

    def _correct(self, cached_tokens: int, block_tokens: float, mean_output: float) -> None:
        """Believe in a smaller or larger capacity of the worker."""
        slack = max(SLACK_BLOCKS * block_tokens, SLACK_SHARE * self._prompt_tokens)
        predicted = min(self._known * block_tokens, self._prompt_tokens - 1)
        lost = predicted - max(cached_tokens, self._pinned * block_tokens)
        if lost > slack:
            self.load.rescale(SHRINK)
        elif cached_tokens - predicted > slack and self.load.full(mean_output, block_tokens):
            self.load.rescale(GROW)

    def _missed(self, cached_tokens: int) -> bool | None:
        """Whether nothing came of a hit predicted from the LRU alone; None when that says nothing."""
        if cached_tokens > 0:
            return False
        return True if self._known and not self._pinned else None
