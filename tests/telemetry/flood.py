"""A client that makes every label up anew, and what is left of it in the aggregates."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from prefix.record import RequestRecord
from telemetry.aggregate import Aggregate
from telemetry.points import Distribution

Make = Callable[..., RequestRecord]


_FILLING: Final = 2_500
"""So many requests use 50 customers and 50 versions in every combination; after them all names are new."""


def names(number: int) -> tuple[str, str]:
    """Customer and prompt version of a request."""
    customer, version = (number % 50, number // 50) if number < _FILLING else (number, number)
    return f"customer-{customer}", f"version-{version}"


def flood(make_record: Make, start: int, count: int) -> Iterator[RequestRecord]:
    """Requests with a customer, prompt version, model, path, worker, error and everything else of their own.

    Half of the new versions are declared, half derived; three in four requests succeed.
    """
    for number in range(start, start + count):
        customer, version = names(number)
        failed = {name: f"{name}-{number}" for name in ("outcome", "error_type", "reason")}
        yield make_record(
            **{name: f"{name}-{number}" for name in ("model", "worker", "policy")},
            **({} if number % 4 else {"status": number % 1000, **failed}),
            customer=customer,
            prompt_version=version,
            prompt_version_declared=number < _FILLING or number % 2 == 0,
            route="chat" if number < _FILLING else f"route-{number}",
            path="/v1/chat/completions" if number % 3 else f"/v1/{number}",
            uncached_by_reason={"new": 260, "page": 100},
            retries=1,
            changes=1,
            limit=("requests", "tokens", "concurrency", None)[number % 4],
        )


@dataclass(frozen=True, slots=True)
class Size:
    """What an aggregate holds: label sets, of them histograms, and samples of a scrape without their headers."""

    label_sets: int
    histograms: int
    samples: int


def size(aggregate: Aggregate) -> Size:
    """How large an aggregate is."""
    points = [(family.metric, value) for family in aggregate.snapshot() for _, value in family.points]
    histograms = [metric for metric, value in points if isinstance(value, Distribution)]
    # Each bucket, the infinite one, sum and count.
    samples = sum(len(metric.buckets) + 3 if isinstance(value, Distribution) else 1 for metric, value in points)
    return Size(len(points), len(histograms), samples)
