"""Placement, measured in virtual time: every policy and the formula it began with, on the traces you name.

    python -m tests.bench.bench_placement --half second --pages docs TRACE...
    python -m tests.bench.bench_placement --show --out placement.jsonl

Load 1.0 is the rate at which the engines' time would be used up if every hit of one pooled LRU were a hit and decode
batches were of 64: at 0.7 and 0.9 queues come and go, at 1.05 they grow for as long as the trace lasts. Results are
added to the file of --out as they come; scenarios that are there already are not run again. Weights are chosen on the
first half of each trace, and shown is the second (tests.bench.placement_page).
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from math import ceil
from pathlib import Path

import msgspec

from gateway.percentile import nearest_rank
from gateway.policies import POLICIES
from gateway.router import Router
from gateway.simulate.fleet import Placing
from gateway.simulate.measure import first_measured
from gateway.simulate.study import Setting, bounds, play
from gateway.simulate.workload import SimulatedRequest, simulated_requests
from gateway.trace_file import read_trace
from prefix.radix import RadixCache, cacheable_tokens
from prefix.trace import infer_block_tokens
from tests.bench.placement_page import BOUND, FORMULA, all_numbers, summary
from tests.bench.reference_formula import ReferenceFormula

BATCH = 64
SHORT, LONG = (50_000, 100_000, 300_000), (300_000, 1_000_000, 3_000_000)
CAPACITIES = {
    "gsp": SHORT,
    "sharegpt": SHORT,
    "mooncake": LONG,
    "weka": (1_000_000, 2_000_000, 3_000_000),
}
"""KV tokens of an engine by the first word of a trace's name."""


def prefills(requests: Sequence[SimulatedRequest], setting: Setting) -> list[float]:
    """Seconds of each request's prefill if every hit of one pooled LRU were a hit."""
    engine = setting.engine
    timing = engine.timing
    cache = RadixCache(setting.engines * engine.pool_tokens, engine.page_tokens, page_bytes=engine.page_bytes)
    seconds = [0.0] * len(requests)
    for number in sorted(range(len(requests)), key=lambda number: requests[number].arrival_s):
        request = requests[number]
        prompt = request.prompt_tokens
        hit = cache.peek(request.key, cacheable_tokens(prompt, engine.page_tokens))
        cache.serve(request.key, prompt + request.output_tokens)
        chunks = ceil((prompt - hit) / engine.chunk_tokens)
        seconds[number] = chunks * timing.prefill_step_s + timing.prefill_s(hit, prompt)
    return seconds


def full_load(requests: Sequence[SimulatedRequest], setting: Setting, prefill_s: Sequence[float]) -> float:
    """The rate at which prefill and decode would need all of the engines' time."""
    timing = setting.engine.timing
    decode_s = sum(r.output_tokens * timing.decode_s(BATCH, BATCH * r.prompt_tokens) / BATCH for r in requests)
    return setting.engines * max(request.arrival_s for request in requests) / (sum(prefill_s) + decode_s)


def one_queue(
    requests: Sequence[SimulatedRequest], setting: Setting, prefill_s: Sequence[float], rate: float
) -> dict[str, float]:
    """TTFT if all engines shared one cache and one queue, memory had no end and decoding cost prefill nothing.

    No placement at arrival can do as well, except that turns of sessions come sooner here.
    """
    free = [0.0] * setting.engines
    followers = {request.after: number for number, request in enumerate(requests) if request.after is not None}
    coming = [(request.arrival_s / rate, number) for number, request in enumerate(requests) if request.after is None]
    heapify(coming)
    ttft_s = [0.0] * len(requests)
    while coming:
        arrival_s, number = heappop(coming)
        first_s = max(arrival_s, free[0]) + prefill_s[number]
        heapreplace(free, first_s)
        ttft_s[number] = first_s - arrival_s
        if number in followers:
            request, then = requests[number], followers[number]
            ends_s = first_s + setting.engine.timing.decode_s(1, request.prompt_tokens, request.output_tokens)
            heappush(coming, (max(ends_s, requests[then].arrival_s / rate), then))
    times = sorted(ttft_s[first_measured(len(ttft_s)) :])
    shares = {f"ttft_p{share}_s": nearest_rank(times, share / 100) for share in (50, 90, 99)}
    return {"ttft_mean_s": sum(times) / len(times), **shares}


def router(name: str, setting: Setting) -> Placing:
    """A policy's router, or the formula."""
    if name == FORMULA:
        rate = setting.engine.timing.prefill_tokens_per_s
        return ReferenceFormula(block_tokens=setting.block_tokens, prefill_rate=rate, seed=setting.seed)
    return Router(name, block_tokens=setting.block_tokens, seed=setting.seed)


def scenarios(options: argparse.Namespace) -> Iterator[tuple[str, list[SimulatedRequest], Setting]]:
    """Name, requests and fleet of each trace, number of engines and capacity that has room for its prompts."""
    for path in options.traces:
        trace = read_trace(path)
        block = infer_block_tokens(trace)
        middle = len(trace) // 2
        part = {"first": trace[:middle], "second": trace[middle:], "all": trace}[options.half]
        requests = simulated_requests(part, block)
        for engines in options.engines:
            for capacity in options.kv or CAPACITIES[path.name.split("_")[0]]:
                setting = Setting(engines, capacity, block, options.profile, options.seed)
                if max(request.prompt_tokens for request in requests) < setting.engine.input_limit:
                    yield path.name.split(".")[0], requests, setting


def measure(options: argparse.Namespace, done: dict[str, dict[str, float]]) -> Iterator[dict[str, object]]:
    """A record for each scenario, load and policy that is not in `done`."""
    for trace, requests, setting in scenarios(options):
        where = f"{trace} {options.half} {setting.profile} {setting.engines}x{setting.kv_capacity_tokens}"
        wanted = [(load, name) for load in options.loads for name in options.policies]
        wanted = [(load, name) for load, name in wanted if f"{where} {load:g} {name}" not in done]
        if not wanted:
            continue
        prefill_s = prefills(requests, setting)
        full = full_load(requests, setting, prefill_s)
        infinite, pooled = bounds(requests, setting)
        for load, name in wanted:
            common = {"scenario": f"{where} {load:g}", "trace": trace, "policy": name, "load": load}
            if name == BOUND:
                yield {**common, **one_queue(requests, setting, prefill_s, load * full)}
                continue
            row = play(requests, setting, name, router(name, setting), load * full, lambda _ended: None)
            numbers = {key: n for key, n in msgspec.to_builtins(row.measured).items() if key != "reasons"}
            shares = {"of_infinite": row.measured.hit_rate / infinite, "of_pooled": row.measured.hit_rate / pooled}
            yield {**common, **numbers, **shares, "rate": row.rate, "per_s": row.simulated_per_s}


def main() -> None:
    """Measure what is asked for, then show all that is in the file."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("traces", nargs="*", type=Path)
    args.add_argument("--engines", type=lambda text: [int(word) for word in text.split(",")], default=[4, 8])
    args.add_argument("--kv", type=lambda text: [int(word) for word in text.split(",")], help="default: by trace")
    args.add_argument(
        "--loads", type=lambda text: [float(word) for word in text.split(",")], default=[0.7, 0.9, 1.05]
    )
    args.add_argument("--policies", type=lambda text: text.split(","), default=[*POLICIES, FORMULA, BOUND])
    args.add_argument("--profile", default="70b")
    args.add_argument("--half", choices=["first", "second", "all"], default="all")
    args.add_argument("--seed", type=int, default=0)
    args.add_argument("--out", type=Path, default=Path("placement.jsonl"))
    args.add_argument("--show", action="store_true", help="only show what is in the file")
    args.add_argument("--pages", type=Path, help="also write placement.md and placement-scenarios.md to this folder")
    options = args.parse_args()
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    records = [json.loads(line) for line in lines]
    if not options.show:
        done = {f"{r['scenario']} {r['policy']}": r for r in records}
        with options.out.open("a", encoding="utf-8") as out:
            for record in measure(options, done):
                records.append(record)
                print(json.dumps(record), file=out, flush=True)
    page = summary(records, "python -m tests.bench.bench_placement --half second --pages docs TRACE...")
    print(page)
    if options.pages:
        (options.pages / "placement.md").write_text(page, encoding="utf-8")
        (options.pages / "placement-scenarios.md").write_text(all_numbers(records), encoding="utf-8")


if __name__ == "__main__":
    main()
