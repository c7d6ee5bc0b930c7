"""How much one customer may ask for: requests a second, tokens a minute, requests at a time. Pure.

Token buckets: a bucket fills at its rate up to its capacity, and whoever finds enough in it takes it. Tokens are
taken at admission as an estimate and corrected by what the engine reports, so a bucket may owe; a request larger than
the bucket is admitted when the bucket is full. `now` is seconds of any monotonic clock.
"""

from collections import OrderedDict
from collections.abc import Mapping
from math import ceil
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

Kind = Literal["requests", "tokens", "concurrency"]

MOST_ACCOUNTS: Final = 10_000
"""Customers remembered; beyond, the one not seen for the longest time starts anew."""

_Count = Annotated[int, msgspec.Meta(ge=1)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one customer may do; None: no limit.

    burst: requests that may come at once after a pause (None: one second's worth). tokens_per_min: prompt (cached
    tokens too) and answer. max_concurrent: requests open at a time.
    """

    requests_per_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    burst: _Count | None = None
    tokens_per_min: _Count | None = None
    max_concurrent: _Count | None = None

    def requests(self) -> "Bucket | None":
        """The bucket of requests, full."""
        if self.requests_per_s is None:
            return None
        return Bucket(float(self.burst or max(1, ceil(self.requests_per_s))), self.requests_per_s)

    def tokens(self) -> "Bucket | None":
        """The bucket of tokens, full: one minute's worth."""
        return None if self.tokens_per_min is None else Bucket(float(self.tokens_per_min), self.tokens_per_min / 60)


NO_LIMITS: Final = Limits()


class Standing(NamedTuple):
    """Where a customer stands with one limit. window_s: from empty to full. reset_s: from now to full."""

    kind: Kind
    limit: int
    remaining: int
    window_s: float
    reset_s: float


class Refused(NamedTuple):
    """A limit was reached; after `retry_after_s` seconds it may go through. limit: in words."""

    kind: Kind
    limit: str
    retry_after_s: float


class Bucket:
    """Fills at `rate` a second up to `capacity`; `level` may be negative."""

    __slots__ = ("_at", "capacity", "level", "rate")

    def __init__(self, capacity: float, rate: float) -> None:
        self.capacity = capacity
        self.rate = rate
        self.level = capacity
        self._at: float | None = None

    def fill(self, now: float) -> None:
        """Bring the level up to date. A clock that goes back adds nothing."""
        if self._at is not None and now > self._at:
            self.level = min(self.capacity, self.level + (now - self._at) * self.rate)
        self._at = now

    def wait_s(self, amount: float) -> float:
        """Seconds until `amount` (or a full bucket, where that is less) is there; 0: now."""
        return max(0.0, (min(amount, self.capacity) - self.level) / self.rate)

    def give(self, amount: float) -> None:
        """Put back what was not used, or take (negative) what was used beyond the estimate."""
        self.level = min(self.capacity, self.level + amount)

    def standing(self, kind: Kind) -> Standing:
        """As of the last `fill`."""
        full_s = (self.capacity - self.level) / self.rate
        return Standing(kind, int(self.capacity), max(0, int(self.level)), self.capacity / self.rate, full_s)


class Account:
    """One customer's buckets, and how many of its requests are open."""

    __slots__ = ("limits", "open", "requests", "tokens")

    def __init__(self, limits: Limits) -> None:
        self.open = 0
        self._set(limits)

    def _set(self, limits: Limits) -> None:
        self.limits = limits
        self.requests = limits.requests()
        self.tokens = limits.tokens()

    def relimit(self, limits: Limits) -> None:
        """Other limits from now on: what is open stays counted, the buckets start full."""
        if limits != self.limits:
            self._set(limits)


class Lease:
    """One request's share of its customer's limits; over by `leave`, which counts once.

    refused: why it may not go on, None when it may.
    """

    __slots__ = ("_account", "_held", "_reserved", "refused")

    def __init__(self, account: Account, now: float) -> None:
        self._account = account
        self._reserved = 0
        self._held = False
        self.refused = self._enter(now)

    def _enter(self, now: float) -> Refused | None:
        account, limits = self._account, self._account.limits
        if account.tokens is not None:
            account.tokens.fill(now)
        if account.requests is not None:
            account.requests.fill(now)
            wait = account.requests.wait_s(1)
            if wait:
                return Refused("requests", f"{limits.requests_per_s:g} requests/s", wait)
        if limits.max_concurrent is not None and account.open >= limits.max_concurrent:
            return Refused("concurrency", f"{limits.max_concurrent} requests at a time", 1.0)
        if account.requests is not None:
            account.requests.give(-1)
        account.open += 1
        self._held = True
        return None

    def charge(self, tokens: int, now: float) -> Refused | None:
        """Take the tokens the request is expected to need; the reason when they are not there."""
        bucket = self._account.tokens
        if bucket is None:
            return None
        bucket.fill(now)
        wait = bucket.wait_s(tokens)
        if wait:
            self.refused = Refused("tokens", f"{self._account.limits.tokens_per_min} tokens/min", wait)
            return self.refused
        bucket.give(-tokens)
        self._reserved = tokens
        return None

    def leave(self, used: int, now: float) -> None:
        """The request is over and took `used` tokens; the first call counts."""
        if not self._held:
            return
        self._held = False
        account = self._account
        account.open -= 1
        if account.tokens is not None:
            account.tokens.fill(now)
            account.tokens.give(self._reserved - used)

    def standings(self) -> list[Standing]:
        """Requests and tokens, those that are limited, as of the last enter or charge."""
        account = self._account
        named: tuple[tuple[Kind, Bucket | None], ...] = (("requests", account.requests), ("tokens", account.tokens))
        return [bucket.standing(kind) for kind, bucket in named if bucket is not None]


class Limiter:
    """The accounts of all customers. default: of those not in `customers`."""

    def __init__(self, most: int = MOST_ACCOUNTS) -> None:
        self._most = most
        self._default = NO_LIMITS
        self._customers: Mapping[str, Limits] = {}
        self._accounts: OrderedDict[str, Account] = OrderedDict()

    def __len__(self) -> int:
        return len(self._accounts)

    def configure(self, default: Limits, customers: Mapping[str, Limits]) -> None:
        """Other limits from the next request on."""
        self._default, self._customers = default, customers
        for name, account in self._accounts.items():
            account.relimit(customers.get(name, default))

    def enter(self, customer: str, now: float) -> Lease | None:
        """A request of this customer came in; None when nothing limits it."""
        limits = self._customers.get(customer, self._default)
        if limits == NO_LIMITS:
            return None
        account = self._accounts.get(customer)
        if account is None:
            account = self._accounts[customer] = Account(limits)
            if len(self._accounts) > self._most:
                self._accounts.popitem(last=False)
        else:
            self._accounts.move_to_end(customer)
        return Lease(account, now)
