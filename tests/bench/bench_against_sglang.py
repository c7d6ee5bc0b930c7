"""Does `prefixgate bench` measure what SGLang's own bench_serving measures? Both by turns, on one engine, one run.

    python -m tests.bench.bench_against_sglang [--rounds 4] [--port 20710]

Each round: a fresh file of chat bodies of the same lengths for either tool, with texts of their own (so that no cache
of an earlier run helps); who starts alternates. Two loads: closed loop with six at a time, and Poisson arrivals:
bench_serving draws them, and ours replays the same draws as a capture's times. The target is the simulated engine in
a process of its own; `--url` takes another one.
Needs the real engines' environment (examples/real_sglang_cpu) for bench_serving and its tokenizer.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any, Final

from prefix.trace import block_text

ROOT: Final = Path(__file__).parents[2]
ENGINES: Final = Path(os.environ.get("PREFIXGATE_ENGINES", ROOT / ".engines"))
SHIM: Final = ROOT / "examples/real_sglang_cpu/shim"
AT_A_TIME, RATE = 6, 3
CLOSED, POISSON = f"closed loop, {AT_A_TIME} at a time", f"Poisson, {RATE} requests/s"
NUMBERS: Final = ("TTFT p50 ms", "TTFT p99 ms", "ITL p50 ms", "ITL p99 ms", "requests/s", "output tokens/s")


def bodies(count: int, shape: str, key: str, model: str) -> list[dict[str, Any]]:
    """So many chat bodies of 100 to 3,000 tokens, answers of 8 to 64. shape: of lengths; key: of texts."""
    draw = random.Random(shape)
    made = []
    for number in range(count):
        text = block_text(f"{key} {number}", 4 * draw.randrange(100, 3_000))
        messages = [{"role": "user", "content": text}]
        answer = {"max_tokens": draw.randrange(8, 64), "ignore_eos": True, "stream": True}
        made.append({"model": model, "messages": messages, **answer})
    return made


def drawn_gaps(count: int, seed: int) -> list[float]:
    """What bench_serving draws after this seed, in seconds."""
    draw = f"import numpy as n; n.random.seed({seed}); print(*n.random.exponential(1 / {RATE}, {count}))"
    ran = subprocess.run([ENGINES / "venv/bin/python", "-c", draw], check=True, capture_output=True, text=True)
    return [float(word) for word in ran.stdout.split()]


def as_captures(requests: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """The bodies as a capture of a gateway that got them at the drawn times."""
    ends = accumulate(drawn_gaps(len(requests), seed), initial=0.0)
    told = {
        "v": 1,
        "path": "/v1/chat/completions",
        "route": "default",
        "status": 200,
        "outcome": "ok",
        "stream": True,
    }
    told |= {"customer": "anonymous", "duration_s": 0.0, "redact": "none"}
    return [
        told
        | {"request_id": str(nth), "started": started, "model": body["model"], "session": str(nth), "request": body}
        for nth, (body, started) in enumerate(zip(requests, ends, strict=False))
    ]


def ours(url: str, prompts: Path, load: str, seed: int) -> list[float]:
    """The numbers by `prefixgate bench`."""
    source = ["--prompts", str(prompts), "--concurrency", str(AT_A_TIME)]
    if load == POISSON:
        lines = as_captures([json.loads(line) for line in prompts.read_text().splitlines()], seed)
        prompts.write_text("".join(json.dumps(line) + "\n" for line in lines))
        source = ["--trace", str(prompts)]
    command = [sys.executable, "-m", "gateway", "bench", "--url", url, *source]
    ran = subprocess.run(
        [*command, "--warmup", "0", "--json", "-", "--seed", str(seed)], check=True, capture_output=True, cwd=ROOT
    )
    side = json.loads(ran.stdout)["sides"][0]
    ttft, itl = side["total"]["ttft_s"], side["total"]["itl_s"]
    times = [1000 * each for each in (ttft["p50"], ttft["p99"], itl["p50"], itl["p99"])]
    return [*times, side["completed_per_s"], side["output_tokens_per_s"]]


def theirs(url: str, prompts: Path, load: str, seed: int, count: int, model: str) -> list[float]:
    """The numbers by SGLang's bench_serving."""
    output = prompts.with_suffix(".out")
    flags = {
        "--backend": "sglang-oai-chat",
        "--base-url": url,
        "--dataset-name": "openai",
        "--dataset-path": prompts,
        "--model": model,
        "--tokenizer": ENGINES / "tiny",
        "--num-prompts": count,
        "--output-file": output,
        "--warmup-requests": 0,
        "--seed": seed,
    }
    flags |= {"--request-rate": RATE} if load == POISSON else {"--max-concurrency": AT_A_TIME}
    words = [str(word) for flag in flags.items() for word in flag]
    (prompts.parent / "datasets.py").write_text("load_dataset = None\n")  # for data sets that are not used here
    path = f"{SHIM}{os.pathsep}{prompts.parent}"
    environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "SGLANG_USE_CPU_ENGINE": "1"}
    python = [str(ENGINES / "venv/bin/python"), "-W", "ignore", "-m", "sglang.bench_serving", "--disable-tqdm"]
    ran = subprocess.run([*python, *words], env=environment, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"bench_serving: {ran.stderr[-2000:]}")
    said: dict[str, Any] = json.loads(output.read_text().splitlines()[-1])
    assert said["completed"] == count, said["completed"]
    names = (
        "median_ttft_ms",
        "p99_ttft_ms",
        "median_itl_ms",
        "p99_itl_ms",
        "request_throughput",
        "output_throughput",
    )
    return [said[name] for name in names]


@contextmanager
def engine(port: int) -> Iterator[str]:
    """A simulated engine that answers, slow enough that neither client's own work matters."""
    shape = ["--prefill-tokens-per-s", "8000", "--decode-step-ms", "25", "--kv-capacity", "400000"]
    command = [sys.executable, "-m", "engine_adapter.simulated", "--port", str(port), *shape]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            time.sleep(0.1)
            try:
                urllib.request.urlopen(f"{url}/v1/models").read()
                break
            except OSError:
                continue
        yield url
    finally:
        process.terminate()
        process.wait()


def measure(url: str, model: str, rounds: int, count: int) -> None:
    """Every load, by turns, and a table of both tools' medians and ranges."""
    for title in (CLOSED, POISSON):
        found: dict[str, list[list[float]]] = {"prefixgate": [], "bench_serving": []}
        with tempfile.TemporaryDirectory() as folder:
            for nth in range(rounds):
                for tool in (("prefixgate", "bench_serving"), ("bench_serving", "prefixgate"))[nth % 2]:
                    prompts = Path(folder) / f"{tool}{nth}.jsonl"
                    made = bodies(count, f"{title} {nth}", f"{tool} {time.time_ns()}", model)
                    prompts.write_text("".join(json.dumps(body) + "\n" for body in made))
                    numbers = (
                        ours(url, prompts, title, nth)
                        if tool == "prefixgate"
                        else theirs(url, prompts, title, nth, count, model)
                    )
                    found[tool].append(numbers)
        print(f"\n{title}; {rounds} rounds of {count} requests each: median (least to most)")
        print(f"| {'':16} | {'prefixgate bench':>24} | {'bench_serving':>24} |")
        for column, name in enumerate(NUMBERS):
            cells = [[row[column] for row in found[tool]] for tool in found]
            spelled = [f"{median(cell):.1f} ({min(cell):.1f} to {max(cell):.1f})" for cell in cells]
            print(f"| {name:16} | {spelled[0]:>24} | {spelled[1]:>24} |")


def main() -> None:
    """As the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--requests", type=int, default=150)
    parser.add_argument("--port", type=int, default=20710)
    parser.add_argument("--url", help="of a running engine instead")
    parser.add_argument("--model", default="simulated")
    given = parser.parse_args()
    if given.url is not None:
        measure(given.url, given.model, given.rounds, given.requests)
        return
    with engine(given.port) as url:
        measure(url, given.model, given.rounds, given.requests)


if __name__ == "__main__":
    main()
