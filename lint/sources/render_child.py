"""Renders chat templates, in a process of its own that `lint.sources.rendering` starts, limits and kills.

Only what transformers gives to a template is there (transformers/utils/chat_template_utils.py: an immutable sandbox,
`tojson` that keeps Unicode and key order, `raise_exception`, `strftime_now`, loop controls, `{% generation %}`); the
clock is an argument. Imports nothing of the project, so that what a template breaks is this process alone.

One JSON object a line comes in, `{"template", "cases": [{"clock", ...variables}]}`; one list of `{"text"}` or
`{"error"}` goes out.
"""

import functools
import json
import resource
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from jinja2 import Template, TemplateError
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

MEMORY: Final = 512 * 1024 * 1024
SECONDS: Final = 4
MAX_CHARS: Final = 200_000
_FAILURES: Final = (
    TemplateError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    AssertionError,
)
"""What running a template may raise."""


class Generation(Extension):
    """`{% generation %}…{% endgeneration %}`, which marks what an assistant wrote and prints it as it is."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> list[Node]:
        """The statements inside."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


EXTENSIONS: Final = ("jinja2.ext.loopcontrols", Generation)


def environment() -> ImmutableSandboxedEnvironment:
    """What transformers compiles chat templates in."""
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=EXTENSIONS, autoescape=False
    )
    made.filters["tojson"] = _to_json
    made.globals["raise_exception"] = _raise
    return made


def render(template: str, cases: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """The text of each case, or why there is none."""
    try:
        compiled = _compiled(template)
    except _FAILURES as error:
        return [{"error": _words(error)} for _ in cases]
    return [_one(compiled, case) for case in cases]


@functools.lru_cache(maxsize=1)
def _compiled(template: str) -> Template:
    return environment().from_string(template)


def _one(template: Template, case: dict[str, Any]) -> dict[str, str]:
    clock = datetime.fromisoformat(case["clock"])
    written: list[str] = []
    size = 0
    try:
        for piece in template.generate(**case, strftime_now=clock.strftime):
            size += len(piece)
            if size > MAX_CHARS:
                return {"error": f"writes more than {MAX_CHARS:,} characters"}
            written.append(piece)
    except _FAILURES as error:
        return {"error": _words(error)}
    return {"text": "".join(written)}


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: str) -> None:
    raise TemplateError(message)


def _words(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return f"needs more than {MEMORY // (1024 * 1024)} MiB of memory"
    return (f"{type(error).__name__}: {error}").split("\n")[0][:200]


def _limit_memory() -> None:
    for kind, limit in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (limit, limit))


def _limit_time() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS + 1, hard))


def main() -> None:
    """Answer line by line until nothing more comes in."""
    _limit_memory()
    for line in sys.stdin:
        _limit_time()
        job = json.loads(line)
        sys.stdout.write(json.dumps(render(job["template"], job["cases"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
