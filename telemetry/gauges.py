"""How the workers are doing right now: read when somebody scrapes, never counted on the request path."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from telemetry.catalog import (
    INDEX_BLOCKS,
    QUEUED,
    WORKER_ACTIVE,
    WORKER_BREAKER,
    WORKER_KV_USAGE,
    WORKER_QUEUED,
    WORKER_RUNNING,
    WORKER_UP,
    Metric,
)
from telemetry.points import Family


@dataclass(frozen=True, slots=True)
class WorkerGauges:
    """One worker at one moment; None where the engine has not reported (unknown is not zero).

    running, waiting: requests in the engine. kv_usage: 0 to 1. active_requests: open from this gateway.
    index_blocks: blocks the prefix index believes it holds. breaker: 1 while it gets no requests because it fails
    them, 0.5 while it gets one at a time, else 0.
    """

    worker: str
    up: bool
    running: int | None
    waiting: int | None
    kv_usage: float | None
    active_requests: int
    index_blocks: int | None
    breaker: float = 0.0


_READINGS: Final[tuple[tuple[Metric, Callable[[WorkerGauges], float | None]], ...]] = (
    (WORKER_UP, lambda gauge: int(gauge.up)),
    (WORKER_BREAKER, lambda gauge: gauge.breaker),
    (WORKER_RUNNING, lambda gauge: gauge.running),
    (WORKER_QUEUED, lambda gauge: gauge.waiting),
    (WORKER_KV_USAGE, lambda gauge: gauge.kv_usage),
    (WORKER_ACTIVE, lambda gauge: gauge.active_requests),
    (INDEX_BLOCKS, lambda gauge: gauge.index_blocks),
)


def families(gauges: Sequence[WorkerGauges], queued: Mapping[str, int]) -> tuple[Family, ...]:
    """The gauges as points; a worker without a value has no point, workers past the metric's limit have none.

    queued: requests waiting in the gateway, by base model.
    """
    workers = (Family(metric, tuple(_points(gauges[: metric.limit], reading))) for metric, reading in _READINGS)
    waiting = tuple(((model,), count) for model, count in queued.items())
    return (Family(QUEUED, waiting[: QUEUED.limit]), *workers)


def _points(
    gauges: Sequence[WorkerGauges], reading: Callable[[WorkerGauges], float | None]
) -> Iterator[tuple[tuple[str], float]]:
    for gauge in gauges:
        value = reading(gauge)
        if value is not None:
            yield (gauge.worker,), value
