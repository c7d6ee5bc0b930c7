"""`prefixgate eval` as its users run it, on servers that answer the built-in suite."""

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gateway.quality import sandbox
from gateway.quality.answer import Answer
from gateway.quality.checks import judge
from gateway.quality.command import evaluate
from gateway.quality.paired import Score, compare
from gateway.quality.tasks import Code, ToolCalls, parse_suite, read_suites
from prefix.errors import PrefixgateError
from tests.gateway.quality import builtin
from tests.gateway.quality.served import Wrong, dropped_keys, noise, serving

TASKS = read_suites(["builtin"])
RIGHT: Wrong = lambda _, reference: reference  # noqa: E731


@contextmanager
def servers(*wrongs: Wrong, seen: list[dict[str, Any]] | None = None) -> Iterator[list[str]]:
    """Their URLs; they run in a loop of their own, since the command has one."""
    urls: list[str] = []
    ready, end = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def main() -> None:
        async with AsyncExitStack() as stack:
            urls.extend([await stack.enter_async_context(serving(TASKS, wrong, seen)) for wrong in wrongs])
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
    thread.start()
    assert ready.wait(10)
    try:
        yield urls
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


def evaluated(urls: list[str], *words: str) -> Result:
    return CliRunner().invoke(evaluate, ["--before", urls[0], "--after", urls[1], *words])


def test_the_suite_is_what_its_script_writes() -> None:
    """Nobody edits it by hand, so it can be drawn again."""
    path = Path("gateway/quality/data/builtin.jsonl")
    assert path.read_text() == "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in builtin.tasks())


def test_a_key_that_is_dropped_in_one_answer_of_twenty_is_found() -> None:
    """Exit 1, the kind, and an answer that shows it; the other kinds are as they were."""
    with servers(RIGHT, dropped_keys(5, 0.05)) as urls:
        run = evaluated(urls, "--json", "--at-once", "64")
    found = json.loads(run.stdout)
    assert run.exit_code == 1
    assert [row["kind"] for row in found["rows"] if row["regressed"]] == ["json_schema"]
    assert all("is a required property" in each["reason"] for each in found["failures"])
    assert [each["kind"] for each in found["not_run"]] == ["code"]


def test_equal_targets_pass() -> None:
    """Exit 0, and code that was not run is said to be."""
    with servers(RIGHT, RIGHT) as urls:
        run = evaluated(urls, "--samples", "1", "--at-once", "64")
    assert run.exit_code == 0, run.output
    assert "no loss above 1.0%" in run.output
    assert "not run" in run.output
    assert "--allow-code" in run.output


def test_false_alarms_are_as_rare_as_said() -> None:
    """Two equal targets that err in one answer of ten: of 400 runs, no more alarms than 5 % and its chance allow."""
    alarms = sum(_alarm(seed, 0.1, 0.1) for seed in range(400))
    assert alarms <= 30  # 400 x 5 % = 20, and 2.3 standard deviations


def test_losses_of_one_answer_in_twenty_are_found_nearly_always() -> None:
    """With the suite's 120 JSON tasks and three answers each."""
    assert sum(_alarm(seed, 0.0, 0.05) for seed in range(100)) >= 97


def _alarm(seed: int, before: float, after: float) -> bool:
    """Whether a run is said to have regressed whose answers are wrong at these rates."""
    draw = random.Random(seed)

    def right(rate: float) -> int:
        return sum(draw.random() >= rate for _ in range(3))

    kinds = {"json_schema": 120, "numeric": 60, "language": 28, "refusal": 24, "tool_call": 20, "exact": 12}
    scores = {
        kind: [Score(str(n), right(before), right(after), 3) for n in range(size)] for kind, size in kinds.items()
    }
    return any(row.regressed for row in compare(scores, margin=0.01))


def test_texts_are_compared_one_by_one() -> None:
    """--equal: what differs is shown with its place, and every task with tools is sent in several orders."""
    seen: list[dict[str, Any]] = []
    with servers(RIGHT, lambda task, reference: reference.replace("Oslo", "Bergen"), seen=seen) as urls:
        run = evaluated(urls, "--equal", "--json", "--at-once", "64")
        clean = evaluated([urls[0], urls[0]], "--equal", "--kind", "tool_call")
    found = json.loads(run.stdout)
    assert run.exit_code == 1
    assert [each["task"] for each in found["differences"]] == ["exact-capital-norway"]
    assert (found["permuted"], found["alike"], found["unstable"]) == (20, 20, 0)
    assert {each["temperature"] for each in seen} == {0}
    assert clean.exit_code == 0, clean.output
    assert "20 of 20 are the same for every order of their tools" in clean.output


def test_an_engine_that_answers_in_two_ways_says_nothing() -> None:
    """Nothing stable to compare is not "equal"."""
    flips = iter(range(10**6))
    with servers(lambda *_: str(next(flips)), RIGHT) as urls:
        run = evaluated(urls, "--equal", "--kind", "exact")
    assert run.exit_code == 1
    assert "12 tasks are answered in two ways by `before` itself" in run.output


def test_a_target_that_answers_nothing() -> None:
    """Errors are a kind of loss; two targets that both give nothing are no pass."""

    def refuse(*_: object) -> str:
        raise RuntimeError

    with servers(RIGHT, refuse) as urls:
        lost = evaluated(urls, "--kind", "exact", "--json")
        nothing = evaluated([urls[1], urls[1]], "--kind", "exact")
    rows = {row["kind"]: row for row in json.loads(lost.stdout)["rows"]}
    assert rows["answered"]["regressed"]
    assert (lost.exit_code, nothing.exit_code) == (1, 1)
    assert "nothing was judged" in nothing.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--kind", "poetry"], "no such kind; there are exact"),
        (["--suite", "/nowhere.jsonl"], "No such file"),
        (["--suite", "builtin", "--suite", "builtin"], "two tasks are called"),
        ([], "cannot be reached"),
    ],
)
def test_usage_errors(words: list[str], says: str) -> None:
    """One line that says what is wrong."""
    run = evaluated(["http://127.0.0.1:1", "http://127.0.0.1:1"], *words)
    assert isinstance(run.exception, PrefixgateError)
    assert says in str(run.exception)


def test_noise_alone_is_judged_by_chance() -> None:
    """One noisy run of two equal targets over HTTP ends either way, with every answer counted."""
    with servers(noise(1, 0.1), noise(2, 0.1)) as urls:
        found = json.loads(
            evaluated(urls, "--json", "--kind", "numeric", "--kind", "exact", "--at-once", "64").stdout
        )
    rows = {row["kind"]: row for row in found["rows"]}
    assert (rows["numeric"]["answers"], rows["exact"]["answers"]) == (180, 36)
    assert 0.75 < rows["numeric"]["before"] < 1.0


@pytest.mark.slow
async def test_code_runs_in_the_sandbox_only() -> None:
    """References pass their tests; what fails, hangs, or reaches for files and the network does not get through."""
    assert await sandbox.works() is None
    code = [each for each in TASKS if isinstance(each, Code)]
    for each in code:
        assert await sandbox.judge_code(each, Answer(each.reference or "")) is None, each.id
    task = parse_suite(['{"id":"c","kind":"code","prompt":"p","tests":"assert f() == 1"}'], "s")[0]
    assert isinstance(task, Code)
    for body, says in _HOSTILE.items():
        said = await sandbox.judge_code(task, Answer(f"```python\ndef f():\n    {body}\n```"))
        assert says in str(said), (body, said)


_HOSTILE = {
    "return 2": "AssertionError",
    "import socket; socket.create_connection(('1.1.1.1', 53), 2)": "Network is unreachable",
    "open('/usr/x', 'w')": "Read-only file system",
    "return int(open('/etc/passwd').read()[0])": "No such file",
    "import os; return len(os.environ['PATH'])": "KeyError",
    "return len(bytearray(1 << 30))": "MemoryError",
}


def test_other_answers_are_not_code() -> None:
    """A tool call is no text."""
    call = next(each for each in TASKS if isinstance(each, ToolCalls))
    assert judge(call, Answer("f()")) == "called nothing"
