"""How much one customer may ask for: requests a second, tokens a minute, requests at a time. Pure.

Tokens are taken from their bucket (gateway.buckets) at admission as an estimate and corrected by what the engine
reports, so a bucket may owe; a request larger than the bucket is admitted when the bucket is full.
"""

from collections import OrderedDict
from collections.abc import Mapping
from math import ceil
from typing import Annotated, Final, NamedTuple

import msgspec

from gateway.buckets import Bucket, Kind, Standing

MOST_ACCOUNTS: Final = 10_000
"""Customers remembered; beyond, the one not seen for the longest time starts anew."""

LATE_S: Final = 1.0
"""How much later than it takes to fill a bucket the news of another gateway's spending still counts."""

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

    def requests(self) -> Bucket | None:
        """The bucket of requests, full."""
        if self.requests_per_s is None:
            return None
        return Bucket(float(self.burst or max(1, ceil(self.requests_per_s))), self.requests_per_s)

    def tokens(self) -> Bucket | None:
        """The bucket of tokens, full: one minute's worth."""
        return None if self.tokens_per_min is None else Bucket(float(self.tokens_per_min), self.tokens_per_min / 60)


NO_LIMITS: Final = Limits()


class Refused(NamedTuple):
    """A limit was reached; after `retry_after_s` seconds it may go through. limit: in words."""

    kind: Kind
    limit: str
    retry_after_s: float


class Spending(NamedTuple):
    """What a customer took here since it was last told (tokens may be given back), and its open requests now."""

    customer: str
    requests: int
    tokens: int
    open: int


class Account:
    """One customer's buckets, and how many of its requests are open: here, and elsewhere (at other gateways).

    told: accounts whose spending other gateways do not know yet, None: there are no others.
    """

    __slots__ = ("_name", "_told", "_untold", "elsewhere", "limits", "open", "requests", "tokens")

    def __init__(self, name: str, limits: Limits, told: "dict[str, Account] | None" = None) -> None:
        self.open = 0
        self.elsewhere = 0
        self._name = name
        self._told = told
        self._untold = (0, 0)
        self._set(limits)

    def spend(self, requests: int, tokens: int) -> None:
        """Take so much out of the buckets; what is negative is given back."""
        if self.requests is not None:
            self.requests.give(-requests)
        if self.tokens is not None:
            self.tokens.give(-tokens)
        if self._told is not None:
            self._untold = self._untold[0] + requests, self._untold[1] + tokens
            self._told[self._name] = self

    def untold(self) -> Spending:
        """What was spent since this was last asked."""
        (requests, tokens), self._untold = self._untold, (0, 0)
        return Spending(self._name, requests, tokens, self.open)

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
        if limits.max_concurrent is not None and account.open + account.elsewhere >= limits.max_concurrent:
            return Refused("concurrency", f"{limits.max_concurrent} requests at a time", 1.0)
        account.open += 1
        account.spend(1, 0)
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
        self._account.spend(0, tokens)
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
        account.spend(0, used - self._reserved)

    def standings(self) -> list[Standing]:
        """Requests and tokens, those that are limited, as of the last enter or charge."""
        account = self._account
        named: tuple[tuple[Kind, Bucket | None], ...] = (("requests", account.requests), ("tokens", account.tokens))
        return [bucket.standing(kind) for kind, bucket in named if bucket is not None]


class Limiter:
    """The accounts of all customers. default: of those not in `customers`.

    With other gateways (`share`) each spends at once what it has in its own copy of a customer's buckets, tells what
    it took, and takes out what the others tell. So n gateways admit at most what one would, and once, while they have
    not heard of each other, (n - 1) times a full bucket more; that is owed afterwards.
    """

    def __init__(self, most: int = MOST_ACCOUNTS) -> None:
        self._most = most
        self._told: dict[str, Account] | None = None
        self._elsewhere: dict[str, dict[str, int]] = {}  # gateway -> customer -> open requests
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

    def share(self) -> None:
        """There are other gateways: keep account of what they should know."""
        self._told = {}

    def enter(self, customer: str, now: float) -> Lease | None:
        """A request of this customer came in; None when nothing limits it."""
        account = self._account(customer)
        return None if account is None else Lease(account, now)

    def spending(self) -> list[Spending]:
        """What customers took since this was last asked, for the other gateways."""
        if not self._told:
            return []
        spent = [account.untold() for account in self._told.values()]
        self._told.clear()
        return spent

    def tell_open(self) -> None:
        """The other gateways should hear once more how many requests each customer has open."""
        if self._told is not None:
            self._told |= {name: account for name, account in self._accounts.items() if account.open}

    def spent_elsewhere(self, customer: str, requests: int, tokens: int, now: float, age_s: float) -> None:
        """Another gateway took this `age_s` ago; longer ago than a bucket takes to fill, it does not matter."""
        account = self._account(customer)
        if account is None:
            return
        for bucket, amount in ((account.requests, requests), (account.tokens, tokens)):
            if bucket is not None and age_s <= bucket.capacity / bucket.rate + LATE_S:
                bucket.fill(now)
                bucket.give(-amount)

    def open_elsewhere(self, gateway: str, customer: str, count: int) -> None:
        """How many requests the customer has open at another gateway."""
        customers = self._elsewhere.setdefault(gateway, {})
        customers[customer] = count
        if not count:
            del customers[customer]
        self._recount(customer)

    def gone_elsewhere(self, gateway: str) -> None:
        """Another gateway has ended, with all that was open there."""
        for customer in self._elsewhere.pop(gateway, {}):
            self._recount(customer)

    def _recount(self, customer: str) -> None:
        if (account := self._account(customer)) is not None:
            account.elsewhere = sum(customers.get(customer, 0) for customers in self._elsewhere.values())

    def _account(self, customer: str) -> Account | None:
        """None when nothing limits this customer."""
        limits = self._customers.get(customer, self._default)
        if limits == NO_LIMITS:
            return None
        account = self._accounts.get(customer)
        if account is not None:
            self._accounts.move_to_end(customer)
            return account
        account = self._accounts[customer] = Account(customer, limits, self._told)
        if len(self._accounts) > self._most:
            dropped, _ = self._accounts.popitem(last=False)
            if self._told is not None:
                self._told.pop(dropped, None)
        return account
