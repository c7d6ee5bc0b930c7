"""The greedy mode: at temperature 0, are the answers the very same?

Exact where the gateway's level `safe` changes nothing, and between permutations of one request's tools, which it
brings into one order. An engine need not be deterministic itself (batching changes the order of float additions), so
A is asked twice, and a task on which A differs from itself says nothing about B.
"""

import random
from asyncio import TaskGroup
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from gateway.quality.answer import Answer
from gateway.quality.target import Target
from gateway.quality.tasks import AnyTask, request_body

ORDERS: Final = 3
"""Further orders of its tools in which a task is sent to B."""


class Difference(msgspec.Struct, frozen=True):
    """Two answers that should be one. at: the first character that differs. what: which two."""

    task: str
    what: str
    at: int
    one: str
    other: str


class Equality(msgspec.Struct, frozen=True):
    """Of a whole run. compared: tasks whose answers A and B had to agree on; equal: on how many they did.

    unstable: tasks on which A differs from itself. rewritten: tasks that the gateway changed, so that A and B were
    not asked the same. permuted, alike: tasks sent with several orders of tools, and those answered alike.
    """

    compared: int
    equal: int
    unstable: int
    rewritten: int
    permuted: int
    alike: int
    errors: list[str]
    differences: list[Difference]

    @property
    def held(self) -> bool:
        """Nothing differed, and something was compared."""
        return not self.differences and not self.errors and self.compared + self.permuted > 0


class _Asked(msgspec.Struct, frozen=True):
    task: AnyTask
    first: Answer
    again: Answer
    after: Answer
    permuted: list[Answer]

    @property
    def errors(self) -> list[str]:
        every = (self.first, self.again, self.after, *self.permuted)
        return [f"{self.task.id}: {each.error}" for each in every if each.error is not None]


async def run(
    tasks: Sequence[AnyTask],
    before: Target,
    after: Target,
    *,
    members: dict[str, Any],
    seed: int,
    done: Callable[[], None],
) -> Equality:
    """Ask A twice and B once, and B again with other orders of tools."""
    members = {**members, "temperature": 0}

    async def one(task: AnyTask) -> _Asked:
        body = request_body(task, "", 0, **members)
        first = await before.ask(body)
        again = await before.ask(body)
        seen = await after.ask(body)
        permuted = [await after.ask({**body, "tools": tools}) for tools in _orders(task, seed)]
        done()
        return _Asked(task, first, again, seen, permuted)

    async with TaskGroup() as group:
        running = [group.create_task(one(task)) for task in tasks]
    return _judged([each.result() for each in running])


def _orders(task: AnyTask, seed: int) -> list[list[Any]]:
    """Other orders of its tools."""
    tools = task.body.get("tools")
    if not isinstance(tools, list) or len(tools) < 2:
        return []
    draw = random.Random(f"{seed}{task.id}")  # noqa: S311 - orders, not secrets
    return [draw.sample(tools, len(tools)) for _ in range(ORDERS)]


def _judged(asked: Sequence[_Asked]) -> Equality:
    errors = [error for each in asked for error in each.errors]
    whole = [each for each in asked if not each.errors]
    stable = [each for each in whole if each.first.said == each.again.said]
    compared = [each for each in stable if not each.after.rewritten]
    permuted = [each for each in stable if each.permuted]
    apart = [_difference(each.task.id, "A and B", each.first, each.after) for each in compared]
    orders = [
        next(
            filter(None, (_difference(each.task.id, "orders of tools at B", each.after, x) for x in each.permuted)),
            None,
        )
        for each in permuted
    ]
    return Equality(
        compared=len(compared),
        equal=apart.count(None),
        unstable=len(whole) - len(stable),
        rewritten=len(stable) - len(compared),
        permuted=len(permuted),
        alike=orders.count(None),
        errors=errors,
        differences=[each for each in (*apart, *orders) if each is not None],
    )


def _difference(task: str, what: str, one: Answer, other: Answer) -> Difference | None:
    if one.said == other.said:
        return None
    first, second = (
        f"{each.text}{each.refusal or ''}{[(c.name, c.arguments) for c in each.tool_calls]}" for each in (one, other)
    )
    pairs = zip(first, second, strict=False)
    at = next((place for place, (x, y) in enumerate(pairs) if x != y), min(len(first), len(second)))
    return Difference(task, what, at, first[at : at + 80], second[at : at + 80])
