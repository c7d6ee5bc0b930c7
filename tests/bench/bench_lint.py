"""`prefixgate lint` beside three cache linters from PyPI, on one log, in one run: time, memory, and who is right.

    python -m tests.bench.bench_lint [--install] [--requests N]

The log is tests/bench/lint_log.py: ten routes, six with one known fault, four clean. Right: a finding that names the
fault of a route at requests of that route. Wrong: one that blames a clean route, or all of them together. Findings
on other matters (a prefix below a provider's minimum, blocks that straddle) are counted as neither. CPU is user and
system time of the process, memory its largest resident set. --install puts missing peers into virtual environments
of their own below $PEERS_HOME (~/.cache/gateway-peers); one that cannot be installed is said to be missing.
"""

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.lint_log import FAULTS, route_of

PEERS: Final = Path(os.environ.get("PEERS_HOME", "~/.cache/gateway-peers")).expanduser() / "venvs"
VERSIONS: Final = {"kvlint": "0.1.1", "cachelint": "0.1.0a2", "promptcachelint": "0.1.0"}
OURS: Final[dict[str, set[str]]] = {route: {code} for route, code in FAULTS.items()} | {"names": {"PC104", "PC201"}}
KVLINT: Final = {
    "dynamic_time": "clock",
    "dynamic_id": "ids",
    "user_in_system": "names",
    "key_order": "tools",
    "whitespace_drift": "line ends",
    "volatile_fewshot": "examples",
}
PROMPTCACHELINT: Final = {
    "CL012": {"clock", "ids"},
    "CL002": {"tools"},
    "CL001": {"clock", "ids", "names", "line ends", "examples"},
}
NO_CAUSE: Final = ("CL010", "CL011", "CL013", "block_straddle")
MOSTLY: Final = 0.9
PLAIN: Final = "prefixgate --no-cost"
CHAT: Final = (
    "{% if tools %}{{ tools | tojson }}\n{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
)


class Verdict(NamedTuple):
    """right: routes whose fault was named. wrong: what was blamed instead, with the finding."""

    right: set[str]
    wrong: set[str]


class Run(NamedTuple):
    """cpu: seconds. wall: seconds. peak: MB."""

    cpu: float
    wall: float
    peak: float
    output: str


def measured(command: Sequence[str], **environment: str) -> Run:
    """Run a command to its end."""
    with tempfile.TemporaryFile("w+") as output:
        start = os.times().elapsed
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.DEVNULL, env=os.environ | environment, cwd=Path.cwd()
        )
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        output.seek(0)
        wall = os.times().elapsed - start
        return Run(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, output.read())


def ours(log: Path, _: Path) -> list[str]:
    return [sys.executable, "-m", "gateway", *f"lint {log} --isolated --exit-zero --output-format json".split()]


def judge_ours(output: str, _: Path) -> Verdict:
    verdict = Verdict(set(), set())
    for finding in json.loads(output):
        route = route_of(finding["request"]) if finding["request"] is not None else "all"
        named = finding["code"] in OURS.get(route, ())
        (verdict.right if named else verdict.wrong).add(route if named else f"{finding['code']} on {route}")
    return verdict


def kvlint(log: Path, folder: Path) -> list[str]:
    """Its tokenizer: DeepSeek's, which litellm brings along, with a template that prints tools and messages."""
    spec = importlib.util.find_spec("litellm")  # not imported: it would ask the network for prices
    assert spec is not None
    assert spec.origin is not None
    tokenizers = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    model = folder / "tokenizer"
    model.mkdir(exist_ok=True)
    shutil.copy(tokenizers / "deepseek_tokenizer.json", model / "tokenizer.json")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": CHAT}
    (model / "tokenizer_config.json").write_text(json.dumps(config))
    return [str(PEERS / "kvlint/bin/kvlint"), *f"lint {log} --model {model} --json {folder}/kvlint.json".split()]


def judge_kvlint(_: str, folder: Path) -> Verdict:
    verdict = Verdict(set(), set())
    for finding in json.loads((folder / "kvlint.json").read_text())["findings"]:
        if finding["rule_id"] in NO_CAUSE:
            continue
        numbers = [int(name.rpartition("-")[2]) - 1 for name in finding["affected_request_ids"]]
        _add(verdict, finding["rule_id"], {KVLINT.get(finding["rule_id"], "")}, numbers)
    return verdict


def _add(verdict: Verdict, rule: str, meant: set[str], numbers: Sequence[int]) -> None:
    """A finding on these requests: right when nearly all are of one route and the rule names its fault."""
    routes = Counter(map(route_of, numbers))
    route, count = routes.most_common(1)[0]
    if count >= MOSTLY * len(numbers) and route in meant:
        verdict.right.add(route)
    else:
        verdict.wrong.add(f"{rule} on {route if len(routes) == 1 else f'{len(routes)} routes'}")


def cachelint(log: Path, _: Path) -> list[str]:
    return [str(PEERS / "cachelint/bin/cachelint"), "analyze", "--provider", "openai", str(log)]


def judge_cachelint(output: str, _: Path) -> Verdict:
    """It compares all requests with the first one and names one place for the whole log."""
    findings = [line for line in output.splitlines() if line.startswith("  - ")]
    return Verdict(set(), {f"{line[4:].partition(':')[0]} on all routes" for line in findings})


def promptcachelint(log: Path, folder: Path) -> list[str]:
    """Its own trace format, made of the same bodies."""
    trace = folder / "trace.jsonl"
    with log.open(encoding="utf-8") as lines, trace.open("w", encoding="utf-8") as out:
        for at, line in enumerate(lines):
            out.write(f'{{"provider": "openai", "id": "{at}", "at": {at}.0, "body": {line.strip()}}}\n')
    return [str(PEERS / "promptcachelint/bin/promptcachelint"), "report", "--json", str(trace)]


def judge_promptcachelint(output: str, _: Path) -> Verdict:
    verdict = Verdict(set(), set())
    places: dict[tuple[str, str], list[int]] = {}
    for session in json.loads(output)["sessions"]:
        for request in session["requests"]:
            for finding in request["findings"]:
                number = int(request["id"])
                places.setdefault((finding["code"], route_of(number)), []).append(number)
    for (code, _route), numbers in places.items():
        if code not in NO_CAUSE:
            _add(verdict, code, PROMPTCACHELINT.get(code, set()), numbers)
    return verdict


Command = Callable[[Path, Path], list[str]]
Judge = Callable[[str, Path], Verdict]
TOOLS: Final[dict[str, tuple[Command, Judge]]] = {
    "prefixgate": (ours, judge_ours),
    "kvlint": (kvlint, judge_kvlint),
    "cachelint": (cachelint, judge_cachelint),
    "promptcachelint": (promptcachelint, judge_promptcachelint),
}


def install(name: str) -> str | None:
    """Why a peer is not there, after an attempt to install it; None when it is."""
    home = PEERS / name
    if not (home / "bin" / name).exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        pip = [str(home / "bin/pip"), "install", "-q", "--disable-pip-version-check", f"{name}=={VERSIONS[name]}"]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["pip failed"])[-1]
    return None


def runs(log: Path, folder: Path, *, may_install: bool) -> Iterator[tuple[str, Run | str]]:
    """Each tool's name and run, or why there is none."""
    for name, (command, _) in TOOLS.items():
        if name in VERSIONS and not (PEERS / name / "bin" / name).exists():
            missing = install(name) if may_install else "not installed (--install)"
            if missing:
                yield name, missing
                continue
        line = command(log, folder)
        print("$", *line, flush=True)
        yield name, measured(line, HF_HUB_OFFLINE="1", PYTHONPATH=str(Path.cwd()) if name == "prefixgate" else "")
    plain = [*ours(log, folder), "--no-cost"]
    print("$", *plain, flush=True)
    yield PLAIN, measured(plain)


def judged(found: Sequence[tuple[str, Run | str]], folder: Path) -> Iterator[tuple[str, Run | str, Verdict]]:
    """The verdicts, behind all runs: a process that has grown makes its children look large."""
    for name, run in found:
        judge = TOOLS["prefixgate" if name == PLAIN else name][1]
        yield name, run, Verdict(set(), set()) if isinstance(run, str) else judge(run.output, folder)


def report(found: Sequence[tuple[str, Run | str, Verdict]]) -> None:
    """The table, and both sides of each ratio."""
    print(f"\n{'':<22}{'CPU s':>8}{'wall s':>8}{'RSS MB':>8}{'right':>7}{'wrong':>7}")
    base = next(run for name, run, _ in found if name == "prefixgate")
    assert isinstance(base, Run)
    for name, run, verdict in found:
        if isinstance(run, str):
            print(f"{name:<22} {run}")
            continue
        print(
            f"{name:<22}{run.cpu:>8.2f}{run.wall:>8.2f}{run.peak:>8.0f}"
            f"{f'{len(verdict.right)}/{len(FAULTS)}':>7}{len(verdict.wrong):>7}"
        )
    for name, run, verdict in found:
        if isinstance(run, Run):
            ratio = f"CPU {base.cpu:.2f} s / {run.cpu:.2f} s = {base.cpu / max(run.cpu, 0.01):.2f}x"
            memory = f"RSS {base.peak:.0f} / {run.peak:.0f} MB = {base.peak / run.peak:.2f}x"
            print(f"{name}: ours to it: {ratio}, {memory}")
            print(f"  named: {', '.join(sorted(verdict.right)) or 'nothing'}")
            print(f"  wrong: {', '.join(sorted(verdict.wrong)) or 'nothing'}")


def rates(found: Sequence[tuple[str, Run | str]], folder: Path) -> None:
    """The hit rate of the log as it is, by both simulations there are."""
    ours_run = next(run for name, run in found if name == "prefixgate")
    if isinstance(ours_run, Run):
        known = [one["cost"]["hit_rate_before"] for one in json.loads(ours_run.output) if one["cost"]]
        print(f"hit rate of the log, prefixgate's replay: {next(filter(None, known), None)}")
    theirs = folder / "kvlint.json"
    for sim in json.loads(theirs.read_text())["sims"] if theirs.exists() else ():
        print(f"hit rate of the log, kvlint's {sim['engine']}: {sim['hit_rate']:.4f}")


def main(arguments: Sequence[str]) -> None:
    """Run and print."""
    count = int(arguments[arguments.index("--requests") + 1]) if "--requests" in arguments else 5000
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log.jsonl"
        subprocess.run([sys.executable, "-m", "tests.bench.lint_log", str(log), str(count)], check=True)
        print(f"{count:,} requests, {log.stat().st_size / count / 1000:.1f} KB each; faults: {', '.join(FAULTS)}")
        found = list(runs(log, folder, may_install="--install" in arguments))
        report(list(judged(found, folder)))
        rates(found, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
