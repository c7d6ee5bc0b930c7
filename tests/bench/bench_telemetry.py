"""What telemetry costs: microseconds per recorded request, milliseconds per scrape.

Run in the repository: `.venv/bin/python -m tests.bench.bench_telemetry`. The best of several rounds is printed,
since the machine is shared; machine and versions are part of the result.
"""

import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from prefix.record import RequestRecord
from telemetry.aggregate import Aggregate
from telemetry.board import Board
from telemetry.catalog import CATALOG
from telemetry.labels import Labels
from telemetry.setup import create_exporters

ROUNDS = 7
RECORDS = 5000
ROUTES, CUSTOMERS, VERSIONS, WORKERS = 3, 6, 5, 4


def record(n: int) -> RequestRecord:
    """The n-th request of an ordinary mix: streamed, successful, every count known."""
    return RequestRecord(
        request_id=f"r{n}",
        started=float(n),
        path="/v1/chat/completions",
        route=f"route{n % ROUTES}",
        customer=f"customer{n // ROUTES % CUSTOMERS}",
        prompt_version=f"v{n // ROUTES // CUSTOMERS % VERSIONS}",
        prompt_version_declared=True,
        model="m",
        worker=f"w{n % WORKERS}",
        policy="expected-ttft",
        reason="overlap",
        stream=True,
        status=200,
        outcome="ok",
        error_type=None,
        input_tokens=2000 + n % 1000,
        cached_tokens=1000 + n % 1000,
        output_tokens=100,
        expected_cached_tokens=1000,
        best_fleet_tokens=1000,
        prompt_bytes=8000,
        changes=1,
        retries=0,
        ttft_s=0.1,
        duration_s=1.5,
        overhead_s=0.0004,
    )


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of the fastest of ROUNDS calls."""

    def once() -> float:
        started = time.process_time()
        call()
        return time.process_time() - started

    return min(once() for _ in range(ROUNDS))


def cpu() -> str:
    """The processor's name, where Linux tells it."""
    facts = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    names = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


def main() -> None:
    """Measures and prints."""
    labels = Labels([f"route{n}" for n in range(ROUTES)], models=["m"])
    aggregate = Aggregate(labels)
    records = [record(n) for n in range(RECORDS)]

    def record_all() -> None:
        for each in records:
            aggregate.record(each)

    board = Board(0.0)
    keys = [aggregate.record(each) for each in records]

    def show_all() -> None:
        for number, (key, each) in enumerate(zip(keys, records, strict=True)):
            board.record(key, each, number / 100)

    per_record, shown = seconds(record_all) / RECORDS, seconds(show_all) / RECORDS
    exporters = create_exporters(aggregate, tuple)
    points = {family.metric.name: len(family.points) for family in aggregate.snapshot()}
    histograms = sum(points.get(metric.name, 0) for metric in CATALOG if metric.kind == "histogram")
    body, _ = exporters.prometheus()
    lines = sum(not line.startswith(b"#") for line in body.splitlines())
    out = sys.stdout.write
    out(f"command     {Path(sys.executable).name} -m tests.bench.bench_telemetry\n")
    out(f"machine     {cpu()}, Python {platform.python_version()}")
    out(f", opentelemetry-sdk {version('opentelemetry-sdk')}, prometheus-client {version('prometheus-client')}\n")
    out(f"record      {per_record * 1e6:.2f} us per request\n")
    out(f"dashboard   {shown * 1e6:.2f} us per request more\n")
    out(f"series      {sum(points.values())} label sets, {histograms} of them histograms; {lines} sample lines\n")
    out(f"snapshot    {seconds(aggregate.snapshot) * 1e3:.2f} ms\n")
    out(f"scrape      {seconds(exporters.prometheus) * 1e3:.1f} ms, {len(body) / 1024:.0f} KiB\n")


if __name__ == "__main__":
    main()
