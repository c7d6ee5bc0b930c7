"""String formatting on values: `%`, `str.format`, `replace`, `*`, and templates with named holes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence

from lint.sources.python.values import (
    MAX_TEXT,
    PARAM,
    STATIC,
    UNKNOWN,
    Map,
    Part,
    Seq,
    Text,
    Value,
    concat,
    literal,
    parts_of,
)

_PERCENT = re.compile(r"%(?:\((\w+)\))?[-#0 +]*[\d.*]*[a-zA-Z%]")
_BRACES = re.compile(r"\{\{|\}\}|\{([\w.\[\]]*)(?:![rsa])?(?::[^{}]*)?\}")
_JINJA = re.compile(r"\{\{-?\s*([\w.]+)[^}]*\}\}")
_DOLLAR = re.compile(r"\$\{?(\w+)\}?")

Fill = Callable[[re.Match[str]], Value]


def known(value: Value) -> str | None:
    """The characters of a value that is wholly known."""
    if not isinstance(value, Text):
        return None
    if len(value.parts) == 1:
        return value.parts[0].text
    texts = [part.text for part in value.parts]
    return None if any(text is None for text in texts) else "".join(text for text in texts if text is not None)


def constant_text(node: ast.expr | None) -> str | None:
    """The literal characters of a string, or of an f-string without holes."""
    if isinstance(node, ast.JoinedStr):
        texts = [part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return "".join(texts)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def integer(node: ast.expr) -> int | None:
    """The value of a literal count."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def shown(node: ast.AST, limit: int = 60) -> str:
    """The source of an expression in short: its callee and nothing of its text."""
    if isinstance(node, ast.Call):
        return f"{shown(node.func)}()"
    if isinstance(node, ast.Attribute):
        inner = shown(node.value)
        return f"{inner}.{node.attr}"[-limit:]
    if isinstance(node, ast.Name):
        return node.id[:limit]
    if isinstance(node, ast.Subscript):
        bounds = "[-n:]" if isinstance(node.slice, ast.Slice) else "[…]"
        return f"{shown(node.value)}{bounds}"
    return {"Set": "a set", "SetComp": "a set", "ListComp": "a list", "BinOp": "a set"}.get(
        type(node).__name__, "a value"
    )


def repeat(value: Value, times: int | None) -> Value:
    """`text * n`."""
    if times is None:
        return value
    text = known(value)
    if text is None:
        return value
    chars = min(len(text) * max(times, 0), 100_000_000)
    return Text((Part(STATIC, chars=chars, text=text * times if chars <= MAX_TEXT else None),)) if chars else Text()


def fill(value: Value, pattern: re.Pattern[str], hole: Fill) -> Text:
    """The value with every match of the pattern in its known text replaced by what hole gives for it."""
    out: list[Value] = []
    for part in parts_of(value):
        if part.text is None:
            out.append(Text((part,)))
            continue
        end = 0
        for match in pattern.finditer(part.text):
            out += [literal(part.text[end : match.start()]), hole(match)]
            end = match.end()
        out.append(literal(part.text[end:]))
    return concat(*out)


def percent(template: Value, arguments: Value) -> Value:
    """`template % arguments`."""
    if isinstance(arguments, Map):
        return fill(template, _PERCENT, lambda match: arguments.get(match[1] or "") or UNKNOWN)
    rest = iter(arguments.items if isinstance(arguments, Seq) else (arguments,))
    return fill(template, _PERCENT, lambda match: literal("%") if match[0] == "%%" else next(rest, UNKNOWN))


def braces(template: Value, positional: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`template.format(*positional, **named)`. What fits no hole (the template is unknown) stands behind it."""
    rest = iter(positional)

    def hole(match: re.Match[str]) -> Value:
        if match[1] is None:
            return literal(match[0][0])
        base = re.split(r"[.\[]", match[1])[0]
        if base.isdigit():
            return positional[int(base)] if int(base) < len(positional) else UNKNOWN
        return named.get(base, UNKNOWN) if base else next(rest, UNKNOWN)

    return fill(template, _BRACES, hole)


def named_holes(template: Value, named: Mapping[str, Value], *, jinja: bool) -> Value:
    """A `string.Template` or a Jinja template with its variables put in."""
    return fill(template, _JINJA if jinja else _DOLLAR, lambda match: named.get(match[1].split(".")[0], UNKNOWN))


def swap(value: Value, old: str | None, new: Value) -> Value:
    """`value.replace(old, new)`."""
    if not old:
        return concat(value, new)
    return fill(value, re.compile(re.escape(old)), lambda _match: new)


def prompt_template(value: Value, row: int, column: int) -> Value:
    """A template of a framework: its `{holes}` stay, as variables."""

    def hole(match: re.Match[str]) -> Value:
        return Text((Part(PARAM, match[1], row, column),)) if match[1] else literal(match[0][0])

    return fill(value, _BRACES, hole)


def holes(value: Value, given: Mapping[str, Value]) -> Value:
    """A template of a framework with some of its variables put in."""
    if isinstance(value, Seq):
        return Seq(tuple(holes(item, given) for item in value.items), value.marks)
    if isinstance(value, Map):
        return Map(tuple((key, holes(inner, given)) for key, inner in value.entries), value.made)
    return concat(
        *(given.get(part.label, UNKNOWN) if _is_given(part, given) else Text((part,)) for part in parts_of(value))
    )


def _is_given(part: Part, given: Mapping[str, Value]) -> bool:
    return part.kind == PARAM and part.label in given
