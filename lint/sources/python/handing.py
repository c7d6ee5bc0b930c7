"""Prompts that are handed over: the arguments of a call site, the body of an HTTP request, a framework's template."""

from __future__ import annotations

from lint.sources.python import formats, sites
from lint.sources.python.call import Call
from lint.sources.python.module import chain
from lint.sources.python.scope import Hit, place
from lint.sources.python.values import EMPTY, Map, Seq, Value, concat, literal


def message(call: Call, role: str) -> Value:
    """A message that a class of a framework makes; "" is a role that an argument says."""
    content = call.named.get("content", call.positional[-1] if call.positional else EMPTY)
    spoken = literal(role) if role else call.named.get("role", EMPTY)
    made = Map((("role", spoken), ("content", content)))
    if role == "system":
        _hit(call, {"system": content})
    return made


def _hit(call: Call, arguments: dict[str, Value]) -> None:
    row, column = place(call.node)
    name = chain(call.node.func).removeprefix("().")
    call.scope.run.hits.append(Hit(name, row, column, arguments, dict(call.places)))


def hand_over(call: Call) -> bool:
    """Record a call site. Returns whether the call is one."""
    node = call.node
    if _declared(call):
        return True
    names = sites.arguments_of(node, call.scope)
    if names is None:
        return _post(call) or _template(call)
    given = {**dict(zip(names, call.positional, strict=False)), **{k: v for k, v in call.named.items() if k in names}}
    if names == ("messages",):
        given = {"messages": call.named.get("messages", call.first())}
        if not sites.looks_like_messages(given["messages"]):
            return False
    _hit(call, given)
    return True


def _declared(call: Call) -> bool:
    """Record a call site of the project's own."""
    name = chain(call.node.func)
    site = next((site for site in call.scope.run.module.sites if site.is_called(name)), None)
    if site is None:
        return False
    given = {**dict(zip(site.parameters, call.positional, strict=False)), **call.named}
    _hit(call, {kind: given[name] for name, kind in site.takes.items() if name in given})
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


def _template(call: Call) -> bool:
    if chain(call.node.func).rpartition(".")[2] not in ("from_messages", "from_template"):
        return False
    row, column = place(call.node)
    first = call.first()
    if isinstance(first, Seq):
        messages = [sites.as_message(item) for item in first.items]
        filled = tuple(
            Map(
                (
                    ("role", m.get("role") or EMPTY),
                    ("content", formats.prompt_template(m.get("content") or EMPTY, row, column)),
                )
            )
            if isinstance(m, Map)
            else m
            for m in messages
        )
        _hit(call, {"messages": Seq(filled, first.marks)})
    else:
        _hit(call, {"prompt": formats.prompt_template(first, row, column)})
    return True
