"""A suite: tasks in JSON lines, each with what to ask and what a right answer is.

`{"id": "sum-1", "kind": "numeric", "prompt": "What is 17 + 4?", "expected": 21}`: `kind` says how the answer is
judged (gateway.quality.checks), `prompt` is one user message, or `messages` holds all of them; `body` adds members
to the request (tools, response_format). A `reference` is an answer that passes: a suite tests itself with them.
"""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec

from prefix.errors import ConfigError

BUILTIN: Final = "builtin"


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    """id: unique in its suite. prompt or messages: what is asked. body: more members of the request."""

    id: str
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    system: str | None = None
    body: dict[str, Any] = {}
    reference: str | None = None

    @property
    def kind(self) -> str:
        """The word that its line has for it."""
        return str(self.__struct_config__.tag)


class Exact(Task, frozen=True, tag="exact", kw_only=True):
    """The whole answer is one of `expected`."""

    expected: list[str]
    ignore_case: bool = False


class Regex(Task, frozen=True, tag="regex", kw_only=True):
    """`pattern` is found in the answer, or is all of it when `full`."""

    pattern: str
    full: bool = False


class JsonSchema(Task, frozen=True, tag="json_schema", kw_only=True):
    """The answer is JSON that `schema` allows, and equal to `equals` when that is given."""

    schema: dict[str, Any]
    equals: Any = msgspec.UNSET


class Numeric(Task, frozen=True, tag="numeric", kw_only=True):
    """The last number of the answer is `expected`, as far as `tolerance` (absolute) or `relative` allow."""

    expected: float
    tolerance: float = 1e-9
    relative: float = 0.0


class Code(Task, frozen=True, tag="code", kw_only=True):
    """`tests`, Python behind the Python of the answer, run without an error."""

    tests: str


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that is expected. arguments: their value, whatever the order of its members."""

    name: str
    arguments: dict[str, Any] = {}


class ToolCalls(Task, frozen=True, tag="tool_call", kw_only=True):
    """The answer makes these calls, in any order, and no others."""

    expected: list[Call]


class Refusal(Task, frozen=True, tag="refusal", kw_only=True):
    """The answer declines when `refuse`, and does not decline otherwise."""

    refuse: bool


class Language(Task, frozen=True, tag="language", kw_only=True):
    """Of the letters, at least `share` are of `script` (the first word of their Unicode names); of `words`, at least
    `least` stand in it."""

    script: str = "LATIN"
    share: float = 0.6
    words: list[str] = []
    least: int = 2


AnyTask = Exact | Regex | JsonSchema | Numeric | Code | ToolCalls | Refusal | Language
KINDS: Final = tuple(str(each.__struct_config__.tag) for each in AnyTask.__args__)
_TASK: Final = msgspec.json.Decoder(AnyTask)


def request_body(task: AnyTask, model: str, seed: int | None = None, **members: Any) -> dict[str, Any]:
    """The chat completion that asks it. members: of the request, where the task's own body does not set them."""
    system = [{"role": "system", "content": task.system}] if task.system is not None else []
    messages = task.messages or [{"role": "user", "content": task.prompt}]
    seeded = {} if seed is None else {"seed": seed}
    return {"model": model, "messages": system + messages, **members, **seeded, **task.body}


def read_suites(names: Sequence[str]) -> list[AnyTask]:
    """The tasks of these files; `builtin` is the suite that comes with prefixgate. Raises ConfigError."""
    tasks: list[AnyTask] = []
    for name in names:
        try:
            text = _builtin() if name == BUILTIN else Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"--suite {name}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise ConfigError(f"--suite {name}: not UTF-8 at byte {error.start}") from None
        tasks += parse_suite(text.splitlines(), name)
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise ConfigError(f"two tasks are called {task.id!r}: rename one of them")
        seen.add(task.id)
    return tasks


def parse_suite(lines: Iterable[str], name: str) -> list[AnyTask]:
    """The tasks of a suite's lines; empty ones are left out. Raises ConfigError that names file and line."""
    tasks = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                task = _TASK.decode(line)
            except msgspec.DecodeError as error:
                raise ConfigError(f"{name}:{number}: not a task: {error}") from None
            if (task.prompt is None) == (task.messages is None):
                raise ConfigError(f"{name}:{number}: a task has either a prompt or messages")
            tasks.append(task)
    if not tasks:
        raise ConfigError(f"{name}: holds no task")
    return tasks


def _builtin() -> str:
    return files("gateway.quality").joinpath("data/builtin.jsonl").read_text(encoding="utf-8")
