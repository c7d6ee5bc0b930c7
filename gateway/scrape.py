"""What a scrape reads of the workers: their state and load at that moment. Safe from the exporters' threads."""

from gateway.models import Models
from gateway.ranks import split_rank
from gateway.workers import Workers
from telemetry.gauges import WorkerGauges

_BREAKER = {"closed": 0.0, "half_open": 0.5, "open": 1.0}


def worker_gauges(workers: Workers, models: Models) -> list[WorkerGauges]:
    """One for each worker; of one with several DP ranks all together."""
    blocks: dict[str, int] = {}
    for name, held in (item for group in models for item in group.router.holdings().items()):
        worker, _ = split_rank(name)
        blocks[worker] = blocks.get(worker, 0) + held
    return [
        WorkerGauges(
            worker=worker.id,
            up=worker.ready,
            active_requests=worker.in_flight,
            running=worker.load.running if worker.load else None,
            waiting=worker.load.waiting if worker.load else None,
            kv_usage=worker.kv_usage,
            index_blocks=blocks.get(worker.id),
            breaker=_BREAKER[workers.breakers.state(worker.id)],
        )
        for worker in workers
    ]
