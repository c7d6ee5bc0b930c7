"""Is an answer right? One function per kind of task; None: right, else in a few words what is wrong with it.

Running code is not among them: that takes a sandbox (gateway.quality.sandbox).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

from gateway.quality.answer import Answer, as_json
from gateway.quality.tasks import AnyTask, Exact, JsonSchema, Language, Numeric, Refusal, Regex, ToolCalls
from prefix.errors import ConfigError

_NUMBER: Final = re.compile(r"[-+−]?\d[\d,_  ]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_HELP: Final = (
    "help|assist|provide|comply|do that|share|give|support|create|write|explain|offer|fulfill|answer|discuss|do"
)
_DECLINES: Final = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able|not going to|afraid)"
    rf"|i (?:can(?:'t|not| not)|won't|will not|must decline|do not|don't) (?:\w+ ){{0,2}}?(?:{_HELP})"
    r"|can(?:'t|not) help|as an ai\b[^.]{0,80}\b(?:cannot|can't|not able)|against (?:my|our) (?:guidelines|polic)"
    r"|i (?:have to|must) (?:decline|refuse))",
    re.IGNORECASE,
)
_OPENING: Final = 400
"""Characters of an answer in which it declines, if it does."""

Check = Callable[[Any, Answer], str | None]


def judge(task: AnyTask, answer: Answer) -> str | None:
    """What is wrong with the answer; None when it is right. Not for code."""
    return _CHECKS[type(task)](task, answer)


def check_task(task: AnyTask) -> None:
    """Raises ConfigError for a task that no answer could be judged by."""
    if isinstance(task, Regex):
        try:
            re.compile(task.pattern)
        except re.error as error:
            raise ConfigError(f"task {task.id}: pattern: {error}") from None
    if isinstance(task, JsonSchema):
        _validator(msgspec.json.encode(task.schema), task.id)


def _exact(task: Exact, answer: Answer) -> str | None:
    fold = str.casefold if task.ignore_case else str
    wanted = {fold(each.strip()) for each in task.expected}
    return None if fold(answer.text.strip()) in wanted else f"said {_short(answer.text)}"


def _regex(task: Regex, answer: Answer) -> str | None:
    find = re.fullmatch if task.full else re.search
    return None if find(task.pattern, answer.text) else f"{task.pattern!r} is not in {_short(answer.text)}"


def _json_schema(task: JsonSchema, answer: Answer) -> str | None:
    try:
        value = as_json(answer.text)
    except msgspec.DecodeError as error:
        return f"not JSON: {error}"
    fault = next(iter(_validator(msgspec.json.encode(task.schema), task.id).iter_errors(value)), None)
    if fault is not None:
        return f"{fault.json_path}: {fault.message}"
    if task.equals is not msgspec.UNSET and value != task.equals:
        return f"said {_short(answer.text)}"
    return None


def _numeric(task: Numeric, answer: Answer) -> str | None:
    found = _NUMBER.findall(answer.text)
    if not found:
        return f"no number in {_short(answer.text)}"
    value = float(re.sub("[,_  ]", "", found[-1]).replace("−", "-"))
    off = abs(value - task.expected)
    return None if off <= max(task.tolerance, task.relative * abs(task.expected)) else f"said {value:g}"


def _tool_calls(task: ToolCalls, answer: Answer) -> str | None:
    made = Counter((call.name, _canonical(call.arguments)) for call in answer.tool_calls)
    wanted = Counter((call.name, _canonical(msgspec.json.encode(call.arguments))) for call in task.expected)
    if made == wanted:
        return None
    calls = ", ".join(f"{call.name}({call.arguments})" for call in answer.tool_calls)
    return f"called {_short(calls)}" if calls else "called nothing"


def _refusal(task: Refusal, answer: Answer) -> str | None:
    if declines(answer) == task.refuse:
        return None
    return "did not decline" if task.refuse else "declined"


def declines(answer: Answer) -> bool:
    """Says that it will not do it: by the API's own fields, or by the words that such answers open with (English)."""
    if answer.refusal or answer.finish_reason == "content_filter":
        return True
    return _DECLINES.search(answer.text[:_OPENING].replace("’", "'")) is not None


def _language(task: Language, answer: Answer) -> str | None:
    letters = [unicodedata.name(each, "").partition(" ")[0] for each in answer.text if each.isalpha()]
    share = letters.count(task.script) / len(letters) if letters else 0.0
    if share < task.share:
        return f"{share:.0%} of its letters are {task.script}"
    words = set(re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", answer.text.casefold()))
    found = len(words & {each.casefold() for each in task.words})
    if task.words and found < task.least:
        return f"{found} of the words of that language, not {task.least}"
    return None


def _canonical(arguments: str | bytes) -> bytes:
    """Arguments as bytes that are equal when their values are; those that are no JSON stay what they are."""
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments or b"{}"), order="deterministic")
    except msgspec.DecodeError:
        return arguments.encode() if isinstance(arguments, str) else arguments


@lru_cache(maxsize=4096)
def _validator(schema: bytes, task: str) -> Any:
    try:
        from jsonschema.validators import validator_for
    except ImportError:
        raise ConfigError("JSON schemas are checked with jsonschema: pip install 'prefixgate[eval]'") from None
    from jsonschema.exceptions import SchemaError

    value = msgspec.json.decode(schema)
    kind = validator_for(value)
    try:
        kind.check_schema(value)
    except SchemaError as error:
        raise ConfigError(f"task {task}: schema: {error.json_path}: {error.message}") from None
    return kind(value)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else line[:77] + "...")


_CHECKS: Final[dict[type, Check]] = {
    Exact: _exact,
    Regex: _regex,
    JsonSchema: _json_schema,
    Numeric: _numeric,
    ToolCalls: _tool_calls,
    Refusal: _refusal,
    Language: _language,
}
