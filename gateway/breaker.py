"""Which workers fail requests: a circuit breaker each, and outliers against the fleet. Pure.

Health checks (gateway.health) say whether a worker lives; this says whether what it is given goes wrong. Only worker
faults count: connect errors, resets, silence, garbage, and the statuses 500, 502, 503, 504. A 4xx is the request's
own and neither counts nor clears (case 44), and so is a client that leaves.

    closed --(faults in a row, or an error rate far above the others')--> open --(time)--> half-open
    half-open: one request at a time; its first byte closes, its fault opens again, for twice as long

A worker that is open gets nothing unless all are; then the least bad get everything, so that one client whose
requests break every engine cannot shut the fleet. Sources: Envoy's outlier detection (share of the fleet, growing
ejections), sgl-project/sglang#25811.
"""

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import Final, Literal

Verdict = Literal["ok", "fault", "neither"]
State = Literal["closed", "open", "half_open"]

FAULT_STATUSES: Final = frozenset((500, 502, 503, 504))
OPEN_MOST_S: Final = 60.0
"""How long a worker is left alone at most; a probe costs a request."""

FORGIVEN_S: Final = 300.0
"""After so long without opening the next time is a first one."""

WINDOW_S: Final = 30.0
"""Error rates are over the last one to two windows."""

UNSETTLED: Final = 0.2
"""Faults end sooner than answers. So faults in a row open a breaker only when they are this many of the requests that
are still open at the worker, too: a burst in which one in twenty fails has its faults first."""

LEAST_REQUESTS: Final = 20
"""Requests in the window below which a rate says nothing."""

OUTLIER_RATE: Final = 0.2
OUTLIER_FACTOR: Final = 3.0
"""An outlier fails this share of its requests, and so many times the share that the others fail."""

EJECTED_SHARE: Final = 1 / 3
"""Of the fleet, by error rate; one at least."""


def judge(status: int) -> Verdict:
    """What an answer's status says of the worker."""
    if status in FAULT_STATUSES:
        return "fault"
    return "ok" if status < 400 else "neither"


class Breaker:
    """One worker's. state: whether it may get requests. probing: a half-open one has its request."""

    __slots__ = (
        *("_bad", "_bad_before", "_good", "_good_before", "_opened", "_times", "_until", "_window"),
        *("probing", "run", "state"),
    )

    def __init__(self) -> None:
        self._times = 0
        self._opened = 0.0
        self.renew()

    def renew(self) -> None:
        """Another process is there: what the last one did does not count, but how often it was open does."""
        self.state: State = "closed"
        self.probing = False
        self.run = 0
        self._until = self._window = 0.0
        self._good = self._bad = self._good_before = self._bad_before = 0

    def count(self, verdict: Verdict, now: float) -> None:
        """One more request ended like this."""
        if now - self._window >= WINDOW_S:
            recent = now - self._window < 2 * WINDOW_S
            self._good_before, self._bad_before = (self._good, self._bad) if recent else (0, 0)
            self._good = self._bad = 0
            self._window = now
        if verdict == "ok":
            self._good += 1
            self.run = 0
        else:
            self._bad += 1
            self.run += 1

    @property
    def requests(self) -> int:
        """Requests in the window."""
        return self._good + self._good_before + self.faults

    @property
    def faults(self) -> int:
        """Of them, those that were its fault."""
        return self._bad + self._bad_before

    @property
    def badness(self) -> float:
        """Share of requests that it failed, 0 to 1; a few unknown ones count as good."""
        return self.faults / (self.requests + 2)

    def open(self, now: float, base_s: float) -> None:
        """Leave it alone: the n-th time in a row for 2^(n-1) times `base_s` seconds."""
        self._times = self._times + 1 if now - self._opened < FORGIVEN_S else 1
        self.state, self.probing, self._opened = "open", False, now
        self._until = now + min(OPEN_MOST_S, base_s * 2.0 ** min(self._times - 1, 16))

    def may(self, now: float) -> bool:
        """Whether it may get a request; turns half-open when its time has come."""
        if self.state == "open" and now >= self._until:
            self.state = "half_open"
        return self.state == "closed" or (self.state == "half_open" and not self.probing)

    def try_now(self, now: float) -> None:
        """It may be tried without waiting longer."""
        self._until = now

    def close(self, run: int) -> None:
        """It works again. run: faults in a row that still count."""
        self.state, self.probing, self.run = "closed", False, run


class Breakers:
    """Those of a fleet. failures: faults in a row that open one; open_s: for how many seconds the first time."""

    __slots__ = ("_by_worker", "_open", "failures", "open_s")

    def __init__(self, failures: int = 5, open_s: float = 5.0) -> None:
        self.failures = failures
        self.open_s = open_s
        self._by_worker: dict[str, Breaker] = {}
        self._open: dict[str, Breaker] = {}

    def state(self, worker: str) -> State:
        """How it stands with this worker."""
        breaker = self._open.get(worker)
        return breaker.state if breaker is not None else "closed"

    def usable(self, workers: AbstractSet[str], now: float) -> AbstractSet[str]:
        """Those that may get a request now; when none of them may, the least bad ones."""
        if not self._open:
            return workers
        usable = {name for name in workers if name not in self._open or self._open[name].may(now)}
        if usable or not workers:
            return usable
        least = min(self._open[name].badness for name in workers)
        return {name for name in workers if self._open[name].badness == least}

    def began(self, worker: str) -> None:
        """A request is placed there."""
        breaker = self._open.get(worker)
        if breaker is not None and breaker.state == "half_open":
            breaker.probing = True

    def answered(self, worker: str) -> None:
        """The first byte of an answer that is no fault; half as many faults in a row as usual open it again."""
        breaker = self._open.get(worker)
        if breaker is not None and breaker.state == "half_open":
            breaker.close(self.failures // 2)
            del self._open[worker]

    def ended(
        self, worker: str, verdict: Verdict, now: float, fleet: Collection[str] = (), *, in_flight: int = 0
    ) -> State | None:
        """A request ended there. fleet: the workers it is compared with. in_flight: requests still open there.

        The state, when this changed it.
        """
        breaker = self._by_worker.get(worker)
        if breaker is None:
            breaker = self._by_worker[worker] = Breaker()
        if verdict != "neither":
            breaker.count(verdict, now)
        if breaker.state == "closed":
            if verdict != "fault" or not self._too_bad(worker, breaker, fleet, in_flight):
                return None
            return self._opened(worker, breaker, now)
        return self._after_open(worker, breaker, verdict, now)

    def renew(self, worker: str) -> None:
        """Its process is another one now."""
        self._open.pop(worker, None)
        if worker in self._by_worker:
            self._by_worker[worker].renew()

    def forget(self, worker: str) -> None:
        """It was taken out."""
        self._open.pop(worker, None)
        self._by_worker.pop(worker, None)

    def _after_open(self, worker: str, breaker: Breaker, verdict: Verdict, now: float) -> State | None:
        breaker.probing = False
        if verdict == "fault" and breaker.state == "half_open":
            return self._opened(worker, breaker, now)
        if verdict == "ok" and breaker.state == "half_open":
            breaker.close(0)
            del self._open[worker]
            return "closed"
        if verdict == "ok":
            breaker.try_now(now)
        return None

    def _opened(self, worker: str, breaker: Breaker, now: float) -> State:
        breaker.open(now, self.open_s)
        self._open[worker] = breaker
        return breaker.state

    def _too_bad(self, worker: str, breaker: Breaker, fleet: Collection[str], in_flight: int) -> bool:
        if breaker.run >= max(self.failures, UNSETTLED * in_flight):
            return True
        if breaker.requests < LEAST_REQUESTS or breaker.faults < OUTLIER_RATE * breaker.requests:
            return False
        others = [self._by_worker[name] for name in fleet if name != worker and name in self._by_worker]
        requests, faults = _sums(others)
        if requests < LEAST_REQUESTS or breaker.faults * requests < OUTLIER_FACTOR * faults * breaker.requests:
            return False
        ejected = sum(name in self._open for name in fleet)
        return ejected < max(1, int(len(fleet) * EJECTED_SHARE))


def _sums(breakers: Iterable[Breaker]) -> tuple[int, int]:
    """Requests and faults of all of them."""
    requests = faults = 0
    for each in breakers:
        requests, faults = requests + each.requests, faults + each.faults
    return requests, faults
