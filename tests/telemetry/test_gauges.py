"""Worker gauges as points."""

from telemetry import catalog
from telemetry.gauges import WorkerGauges, families


def by_name(*gauges: WorkerGauges, **queued: int) -> dict[str, dict[tuple[str, ...], object]]:
    """Metric name to points."""
    return {family.metric.name: dict(family.points) for family in families(gauges, queued)}


def test_every_reading_becomes_a_point() -> None:
    """Each field has its metric, labelled by worker; what waits in the gateway is labelled by model."""
    one, two = WorkerGauges("w1", True, 3, 2, 0.5, 4, 900, breaker=0.5), WorkerGauges("w2", False, 0, 0, 0.0, 0, 0)
    assert by_name(one, two, m=7) == {
        "prefixgate.queue.requests": {("m",): 7},
        "prefixgate.worker.breaker_open": {("w1",): 0.5, ("w2",): 0},
        "prefixgate.worker.up": {("w1",): 1, ("w2",): 0},
        "prefixgate.worker.running_requests": {("w1",): 3, ("w2",): 0},
        "prefixgate.worker.queued_requests": {("w1",): 2, ("w2",): 0},
        "prefixgate.worker.kv_usage": {("w1",): 0.5, ("w2",): 0.0},
        "prefixgate.worker.active_requests": {("w1",): 4, ("w2",): 0},
        "prefixgate.prefix.tree_blocks": {("w1",): 900, ("w2",): 0},
    }


def test_unknown_is_not_zero() -> None:
    """What an engine has not reported has no point."""
    found = by_name(WorkerGauges("w1", True, None, None, None, 0, None))
    assert {name for name, points in found.items() if points} == {
        "prefixgate.worker.up",
        "prefixgate.worker.breaker_open",
        "prefixgate.worker.active_requests",
    }


def test_workers_are_bounded() -> None:
    """More workers than the limit make no more points."""
    many = [WorkerGauges(f"w{n}", True, 0, 0, 0.0, 0, 0) for n in range(1500)]
    queued = {f"m{n}": 1 for n in range(1500)}
    assert all(len(family.points) == family.metric.limit for family in families(many, queued))


def test_all_gauges_of_the_catalog_are_read() -> None:
    """A gauge in the catalog that nobody reads would be an empty panel."""
    assert {family.metric for family in families((), {})} == {
        metric
        for metric in catalog.CATALOG
        if metric.kind == "gauge"
        and metric is not catalog.HIT_RATE_CHANGE
        and not any(part in metric.name for part in (".shared.", ".kv_events."))
    }  # which are the board's, the replica's and the feeds' (tests/gateway/test_app.py scrapes all of the catalog)
