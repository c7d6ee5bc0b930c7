"""Who may go on, and what its limits say: the edge between the proxy and `gateway.limits`.

A customer is its API key's. Without configured customers it is what the x-prefixgate-customer header says (set it in
the proxy in front that knows), and everybody else shares the limits of `anonymous`. Requests and concurrency are
checked before the body is read, tokens once they are estimated. Headers: OpenAI's x-ratelimit-* and the IETF draft
(draft-ietf-httpapi-ratelimit-headers-10), on successes too.
"""

from math import ceil

from gateway.buckets import Standing
from gateway.config import Config
from gateway.errors import Refusal
from gateway.exchange import Exchange
from gateway.guard import check_headers
from gateway.identity import Caller, named_customer
from gateway.incoming import Incoming
from gateway.limits import Lease, Limiter, Refused
from gateway.prepared import Prepared


class Admission:
    """Admits requests, and settles with their customers when they are over. limiter: their accounts."""

    def __init__(self) -> None:
        self.limiter = Limiter()

    def configure(self, config: Config) -> None:
        """Other limits from the next request on."""
        own = {name: customer.limits for name, customer in config.customers.items() if customer.limits is not None}
        self.limiter.configure(config.limits, own)

    def enter(self, exchange: Exchange, caller: Caller, incoming: Incoming, now: float) -> None:
        """Raises Refusal `field_not_allowed` (a header) or `rate_limited`."""
        exchange.customer = named_customer(caller, incoming.own)
        if caller.config is not None:
            check_headers(incoming.headers, caller.config.allow_fields)
        exchange.lease = self.limiter.enter(exchange.customer, now)
        if exchange.lease is not None:
            _refuse(exchange.customer, exchange.lease.refused)

    def charge(self, exchange: Exchange, prepared: Prepared, now: float) -> None:
        """Raises Refusal `rate_limited` when the customer has not got the tokens this request is expected to need."""
        if exchange.lease is not None:
            needed = prepared.prompt_tokens + (prepared.max_output_tokens or 0)
            _refuse(exchange.customer, exchange.lease.charge(needed, now))

    def leave(self, exchange: Exchange, now: float) -> None:
        """The request is over, however it ended."""
        if exchange.lease is not None:
            exchange.lease.leave(exchange.used_tokens, now)


def limit_headers(lease: Lease) -> list[tuple[bytes, bytes]]:
    """Where the customer stands, for the response."""
    standings = lease.standings()
    headers: list[tuple[bytes, bytes]] = []
    for kind, limit, remaining, _, reset_s in standings:
        headers.append((b"x-ratelimit-limit-" + kind.encode(), b"%d" % limit))
        headers.append((b"x-ratelimit-remaining-" + kind.encode(), b"%d" % remaining))
        headers.append((b"x-ratelimit-reset-" + kind.encode(), duration(reset_s).encode()))
    if standings:
        headers.append((b"ratelimit-policy", ", ".join(map(_policy, standings)).encode()))
        headers.append((b"ratelimit", ", ".join(map(_state, standings)).encode()))
    return headers


def duration(seconds: float) -> str:
    """As OpenAI writes it: 250ms, 8.64s, 6m0s, 1h0m5s."""
    if seconds < 1:
        return f"{ceil(seconds * 1000)}ms"
    if seconds < 60:
        return f"{round(seconds, 3):g}s"
    minutes, rest = divmod(ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s"


def _policy(standing: Standing) -> str:
    return f'"{standing.kind}";q={standing.limit};w={max(1, round(standing.window_s))}'


def _state(standing: Standing) -> str:
    return f'"{standing.kind}";r={standing.remaining};t={ceil(standing.reset_s)}'


def _refuse(customer: str | None, refused: Refused | None) -> None:
    if refused is not None:
        wait = max(1, ceil(refused.retry_after_s))
        message = f"customer {customer!r} is over its limit of {refused.limit}: try again in {wait} s"
        raise Refusal("rate_limited", message, retry_after=wait)
