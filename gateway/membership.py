"""What operators want of the workers: decided at one gateway, learned by the others.

One idea: of two decisions about one URL the later one stands, everywhere (last writer wins). `stamp` is the wall
clock in milliseconds, and more than any stamp known here, so a decision made in view of another one beats it,
however the clocks differ. Decisions live as long as one gateway does; what a configuration lists is not shared.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from gateway.config import check_engine_url
from gateway.errors import Refusal
from gateway.health import Health
from gateway.shared.messages import Decision, Standing
from gateway.workers import Worker, Workers, worker_id
from prefix.errors import ConfigError

MOST_DECISIONS: Final = 1000
"""URLs whose last decision is remembered; the oldest one is forgotten first."""

_log = logging.getLogger("prefixgate")


def _nobody(_: Decision) -> None:
    """There are no other gateways."""


class Membership:
    """Operators' decisions about workers. own: this replica's id. tell: hears what was decided here."""

    def __init__(self, own: str, workers: Workers, health: Health) -> None:
        self.tell: Callable[[Decision], None] = _nobody
        self._own = own
        self._workers = workers
        self._health = health
        self._stands: OrderedDict[str, Decision] = OrderedDict()

    @property
    def decisions(self) -> list[Decision]:
        """The one that stands for each URL, oldest first."""
        return list(self._stands.values())

    def add(self, url: str) -> Worker:
        """A new worker at this URL. Raises Refusal `worker_exists`."""
        worker = self._health.add(url)
        self._decide(url, "added")
        return worker

    def remove(self, name: str) -> Worker:
        """Take a worker out; what it is serving finishes. Raises Refusal `worker_not_found`."""
        worker = self._health.remove(name)
        self._decide(worker.url, "removed")
        return worker

    def drain(self, name: str) -> Worker:
        """Send a worker no new requests. Raises Refusal `worker_not_found`."""
        worker = self._workers.get(name)
        self._workers.drain(worker)
        self._decide(worker.url, "drained")
        return worker

    def learn(self, decision: Decision) -> None:
        """Another gateway's operator decided this."""
        before = self._stands.get(decision.url)
        if before is not None and (decision.stamp, decision.by) <= (before.stamp, before.by):
            return
        self._note(decision)
        try:
            changed = self._follow(decision, before)
        except (ConfigError, Refusal) as error:
            _log.warning("replica %s: worker %s: %s", decision.by, decision.url, error)
        else:
            if changed:
                _log.info("worker %s was %s at replica %s", worker_id(decision.url), decision.standing, decision.by)

    def _follow(self, decision: Decision, before: Decision | None) -> bool:
        """Whether anything changed. Raises ConfigError for what is no URL of an engine."""
        url = check_engine_url(decision.url)
        worker = next((each for each in self._workers if each.url == url), None)
        if worker is None:
            if decision.standing == "added":
                self._health.add(url)
            return decision.standing == "added"
        if decision.standing == "removed":
            self._health.remove(worker.id)
        elif decision.standing == "drained":
            self._workers.drain(worker)
        elif before is not None and before.standing == "drained":
            self._workers.resume(worker)
        else:
            return False
        return True

    def _decide(self, url: str, standing: Standing) -> None:
        newest = max((each.stamp for each in self._stands.values()), default=0)
        decision = Decision(url, standing, max(time.time_ns() // 1_000_000, newest + 1), self._own)
        self._note(decision)
        self.tell(decision)

    def _note(self, decision: Decision) -> None:
        self._stands.pop(decision.url, None)
        self._stands[decision.url] = decision
        if len(self._stands) > MOST_DECISIONS:
            self._stands.popitem(last=False)
