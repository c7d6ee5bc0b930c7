"""gateway.bench.run: a run that is stopped reports what it had measured, and leaves nothing behind."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from gateway.bench.outcome import Outcome
from gateway.bench.prepare import Prepared, read
from gateway.bench.run import run
from tests.gateway.bench.target import STREAM, streaming, target
from tests.gateway.bench.test_command import MODEL
from tests.gateway.bench.test_options import options
from tests.gateway.bench.test_source import turn, written


async def test_a_run_that_is_stopped_reports_what_it_had(tmp_path: Path) -> None:
    """As Ctrl-C does: by cancelling. What was in flight is in no number."""
    path = written(tmp_path / "t", *(turn(10 * nth, nth) for nth in range(1, 500)))
    ended: list[Outcome] = []

    def begun(prepared: Prepared) -> Callable[[Outcome], None]:
        assert prepared.planned is not None
        assert len(prepared.planned) == 499

        def hear(outcome: Outcome) -> None:
            ended.append(outcome)
            if len(ended) == 5:
                running.cancel()

        return hear

    async with asyncio.timeout(10), target(streaming(*STREAM), v1_models=MODEL) as asked:
        given = options(url=asked.url, trace=path, warmup="0", block_tokens=16)
        running = asyncio.create_task(run(given, read(given), begun))
        report = await running
    assert report.interrupted
    assert report.sides[0].total.completed == len(report.outcomes) == len(ended) >= 5
    assert len(ended) < 499
