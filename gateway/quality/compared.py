"""The quality mode: every task to both targets, several times, and what became of it."""

from asyncio import TaskGroup
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from gateway.quality import sandbox
from gateway.quality.answer import Answer
from gateway.quality.checks import judge
from gateway.quality.paired import Compared, Score, compare
from gateway.quality.target import Target
from gateway.quality.tasks import AnyTask, Code, request_body

ANSWERED: Final = "answered"
"""The kind that all tasks belong to besides their own: whether there was an answer at all."""


class Failure(msgspec.Struct, frozen=True):
    """A task that B did worse than A. reason: what was wrong with B's answer. said: by A when right, and by B."""

    task: str
    kind: str
    before: int
    after: int
    samples: int
    reason: str
    said_before: str
    said_after: str


class NotRun(msgspec.Struct, frozen=True):
    """Tasks that were left out."""

    kind: str
    tasks: int
    reason: str


class Outcome(msgspec.Struct, frozen=True):
    """Of a whole run."""

    rows: list[Compared]
    failures: list[Failure]
    not_run: list[NotRun]

    @property
    def regressed(self) -> bool:
        """Some kind has."""
        return any(row.regressed for row in self.rows)

    @property
    def inspected(self) -> bool:
        """Some task was answered by one of them."""
        return any(row.kind == ANSWERED and row.before + row.after > 0 for row in self.rows)


class _Judged(msgspec.Struct, frozen=True):
    answer: Answer
    fault: str | None


class _Both(msgspec.Struct, frozen=True):
    task: AnyTask
    before: list[_Judged]
    after: list[_Judged]


async def run(
    tasks: Sequence[AnyTask],
    before: Target,
    after: Target,
    *,
    samples: int,
    margin: float,
    alpha: float,
    members: dict[str, Any],
    allow_code: bool,
    done: Callable[[], None],
) -> Outcome:
    """Ask and judge. members: of every request (temperature, max_tokens). done: called after each answer."""
    tasks, not_run = await _runnable(tasks, allow_code)

    async def ask(target: Target, task: AnyTask, seed: int) -> _Judged:
        answer = await target.ask(request_body(task, "", seed, **members))
        fault = answer.error
        if fault is None:
            fault = await sandbox.judge_code(task, answer) if isinstance(task, Code) else judge(task, answer)
        done()
        return _Judged(answer, fault)

    async def both(task: AnyTask) -> _Both:
        async with TaskGroup() as group:
            sides = [[group.create_task(ask(side, task, n)) for n in range(samples)] for side in (before, after)]
        return _Both(task, *([each.result() for each in side] for side in sides))

    async with TaskGroup() as group:
        asked = [group.create_task(both(task)) for task in tasks]
    results = [each.result() for each in asked]
    return Outcome(compare(_scores(results), margin=margin, alpha=alpha), list(_failures(results)), not_run)


async def _runnable(tasks: Sequence[AnyTask], allow_code: bool) -> tuple[list[AnyTask], list[NotRun]]:
    """The tasks that can be judged here; for the others, why not."""
    code = [task for task in tasks if isinstance(task, Code)]
    if not code:
        return list(tasks), []
    reason = await sandbox.works() if allow_code else "code of a model is run with --allow-code only"
    if reason is None:
        return list(tasks), []
    return [task for task in tasks if not isinstance(task, Code)], [NotRun("code", len(code), reason)]


def _scores(results: Sequence[_Both]) -> dict[str, list[Score]]:
    """By kind. A task that only one side answered counts as answered wrongly by the other."""
    scores: dict[str, list[Score]] = {ANSWERED: []}
    for both in results:
        answered = [sum(each.answer.error is None for each in side) for side in (both.before, both.after)]
        right = [sum(each.fault is None for each in side) for side in (both.before, both.after)]
        samples = len(both.before)
        scores[ANSWERED].append(Score(both.task.id, answered[0], answered[1], samples))
        scores.setdefault(both.task.kind, []).append(Score(both.task.id, right[0], right[1], samples))
    return scores


def _failures(results: Sequence[_Both]) -> list[Failure]:
    """What B did worse, the greatest losses first."""
    found = []
    for both in results:
        right_before = [each for each in both.before if each.fault is None]
        wrong_after = [each for each in both.after if each.fault is not None]
        right_after = len(both.after) - len(wrong_after)
        if right_after < len(right_before):
            wrong = wrong_after[0]
            found.append(
                Failure(
                    both.task.id,
                    both.task.kind,
                    len(right_before),
                    right_after,
                    len(both.before),
                    wrong.fault or "",
                    _said(right_before[0].answer),
                    _said(wrong.answer),
                )
            )
    return sorted(found, key=lambda each: each.after - each.before)


def _said(answer: Answer) -> str:
    calls = "; ".join(f"{call.name}({call.arguments})" for call in answer.tool_calls)
    return answer.text or calls or answer.refusal or ""
