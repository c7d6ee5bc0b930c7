"""What a loss is worth: in tokens always, in money or seconds of a GPU when their price is given.

Every figure comes from a replay (lint.traffic.replay) and carries what it assumed; what could not be replayed says
why instead. A day is told only at a rate that the log's own times show.
"""

from typing import Final, NamedTuple

import msgspec

from prefix.errors import ConfigError

DAY: Final = 86_400.0
DEFAULT_CAPACITY: Final = 1_000_000
DEFAULT_PAGE: Final = 16


class Costing(NamedTuple):
    """kv_capacity: tokens of a worker's cache. price: money per million (uncached, cached) input tokens.
    prefill_speed: tokens a second of one GPU. replay: False asks for no figures at all."""

    kv_capacity: int = DEFAULT_CAPACITY
    page_tokens: int = DEFAULT_PAGE
    price: tuple[float, float] | None = None
    prefill_speed: float | None = None
    replay: bool = True

    def money(self, tokens: float) -> float | None:
        """What it is worth that so many tokens are cached."""
        return None if self.price is None else tokens * (self.price[0] - self.price[1]) / 1e6

    def gpu_seconds(self, tokens: float) -> float | None:
        """How long one GPU computes so many tokens."""
        return None if self.prefill_speed is None else tokens / self.prefill_speed


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What mending one cause is worth.

    per: what the figures are for, `day` at the rate of the log or `1,000 requests` (of the whole log) when it has no
    times. tokens: that become cached, money and gpu_seconds: for them. tokens_per_request, share: of the requests of
    its template and of their input. hit_rates: of the whole log as it is, with this cause mended, with all mended.
    All are None when it was not replayed: reason. assumed: what the replay took for granted.
    """

    per: str
    tokens: int | None = None
    tokens_per_request: float | None = None
    share: float | None = None
    hit_rate_before: float | None = None
    hit_rate_after: float | None = None
    hit_rate_all: float | None = None
    money: float | None = None
    gpu_seconds: float | None = None
    assumed: str = ""
    reason: str | None = None


class Summary(NamedTuple):
    """What mending all causes of a log is worth. causes: how many were mended, of how many. reported_hit_rate: the
    log's own, over the requests that say so. Rates are shares of all prompt tokens; tokens as in Cost."""

    filename: str
    causes: tuple[int, int]
    hit_rate_before: float
    hit_rate_after: float
    reported_hit_rate: float | None
    per: str
    tokens: int
    money: float | None
    gpu_seconds: float | None
    assumed: str
    unmended: tuple[str, ...]


def parse_price(text: str) -> tuple[float, float]:
    """`2.5/0.25`: money per million uncached and cached input tokens; one number means that cached ones are free.

    Raises ConfigError when it is something else.
    """
    parts = text.split("/")
    try:
        prices = [float(part) for part in parts]
    except ValueError:
        prices = []
    if not 1 <= len(prices) <= 2 or min(prices) < 0 or not all(price < 1e9 for price in prices):
        raise ConfigError(f"price is UNCACHED/CACHED, money per million input tokens, as in 2.5/0.25, not {text!r}")
    return prices[0], prices[1] if len(prices) == 2 else 0.0
