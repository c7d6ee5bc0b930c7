"""Prompts that are handed over: the arguments of a call site, the body of an HTTP request, a framework's template."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from lint.sources.python import formats, sites
from lint.sources.python.call import Call, made_by
from lint.sources.python.module import chain
from lint.sources.python.scope import Hit, place
from lint.sources.python.values import EMPTY, UNKNOWN, Map, Seq, Value, concat, literal

_TEMPLATE = "<template>"
_FILLS = frozenset("partial format format_messages aformat_messages format_prompt invoke ainvoke".split())


def message(call: Call, role: str) -> Value:
    """A message that a class of a framework makes; "" is a role that an argument says."""
    content = call.named.get("content", call.positional[-1] if call.positional else EMPTY)
    spoken = literal(role or _member(call)) if role or _member(call) else call.named.get("role", EMPTY)
    made = Map((("role", spoken), ("content", content)))
    if formats.known(spoken) == "system":
        _hit(call, {"system": content})
    return made


def _member(call: Call) -> str:
    """The role that a member of an enumeration names: `role=MessageRole.SYSTEM`."""
    node = next((keyword.value for keyword in call.node.keywords if keyword.arg == "role"), None)
    name = node.attr if isinstance(node, ast.Attribute) and node.attr.isupper() else ""
    return name.lower()


def _hit(call: Call, arguments: dict[str, Value]) -> None:
    row, column = place(call.node)
    name = chain(call.node.func).removeprefix("().")
    call.scope.run.hits.append(Hit(name, row, column, arguments, dict(call.places)))


def hand_over(call: Call) -> Value | None:
    """Record a call site. Returns what it returns, None for a call that is none."""
    node = call.node
    if _declared(call):
        return UNKNOWN
    names = sites.arguments_of(node, call.scope)
    if names is None:
        return UNKNOWN if _post(call) else _template(call)
    given = {**dict(zip(names, call.positional, strict=False)), **{k: v for k, v in call.named.items() if k in names}}
    if names == ("messages",):
        given = {"messages": call.named.get("messages", call.first())}
        if not sites.looks_like_messages(given["messages"]):
            return None
    _hit(call, given)
    return UNKNOWN


def _declared(call: Call) -> bool:
    """Record a call site of the project's own."""
    name = chain(call.node.func)
    site = next((site for site in call.scope.run.module.sites if site.is_called(name)), None)
    if site is None:
        return False
    given = {**dict(zip(site.parameters, call.positional, strict=False)), **call.named}
    _hit(call, {kind: given[name] for name, kind in site.takes if name in given})
    return True


def _post(call: Call) -> bool:
    body = next((call.named[key] for key in ("json", "data", "content", "body") if key in call.named), None)
    if body is None or not sites.is_post(call.node):
        return False
    url = call.named.get("url") or concat(*call.positional[:2])
    if sites.is_body(url, body) and isinstance(body, Map):
        _hit(call, dict(body.entries))
        return True
    return False


def _template(call: Call) -> Value | None:
    if chain(call.node.func).rpartition(".")[2] not in ("from_messages", "from_template"):
        return None
    row, column = place(call.node)
    first = call.first()
    role = sites.template_role(call.node)
    if role:
        return _turn(call, role, formats.prompt_template(first, row, column))
    if not isinstance(first, Seq):
        return _written(call, "prompt", formats.prompt_template(first, row, column))
    messages = [sites.as_message(item) for item in first.items]
    held = tuple(
        Map(
            (
                ("role", m.get("role") or EMPTY),
                ("content", formats.prompt_template(m.get("content") or EMPTY, row, column)),
            )
        )
        if isinstance(m, Map) and not m.made
        else m
        for m in messages
    )
    _retract(call, [m.get("content") for m in messages if isinstance(m, Map) and m.made])
    return _written(call, "messages", Seq(held, first.marks))


def _turn(call: Call, role: str, content: Value) -> Map:
    """A template of one message; where it stands, the template that it is put into says."""
    if role == "system":
        _hit(call, {"system": content})
    return Map((("role", literal(role)), ("content", content)), made=True)


def _written(call: Call, kind: str, prompt: Value) -> Map:
    """A template that was handed over, as an object that may be filled in later."""
    _hit(call, {kind: prompt})
    return Map(((f"{_TEMPLATE}{kind}", prompt),), made=True)


def _retract(call: Call, prompts: Sequence[Value | None]) -> None:
    """Forget prompts that are part of what is handed over now."""
    hits = call.scope.run.hits
    hits[:] = [hit for hit in hits if not any(given in prompts for given in hit.arguments.values())]


def filled(call: Call, method: str, template: Value) -> Value | None:
    """A template of a framework, filled in; it counts then, and not as it was before."""
    held = template.entries[0] if isinstance(template, Map) and len(template.entries) == 1 else ("", EMPTY)
    if method not in _FILLS or not held[0].startswith(_TEMPLATE):
        return None
    first = call.first()
    given = {
        **(dict(first.entries) if isinstance(first, Map) else {}),
        **{name: made_by(call, name) for name in call.named},
    }
    _retract(call, [held[1]])
    return _written(call, held[0].removeprefix(_TEMPLATE), formats.holes(held[1], given))
