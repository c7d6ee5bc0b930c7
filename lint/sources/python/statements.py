"""Follows the statements of a function in order; both branches are followed, a loop's body once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace

from lint.call_sites import Sites
from lint.sources.python import guesses
from lint.sources.python.binding import bind, element_of, part_at
from lint.sources.python.expressions import add, evaluate
from lint.sources.python.formats import integer
from lint.sources.python.functions import call_function, fields_of, start
from lint.sources.python.module import Module
from lint.sources.python.mutations import changes, delete, edit_walked, key_of, set_item, shuffle
from lint.sources.python.scope import MAX_DEPTH, Hit, Run, Scope
from lint.sources.python.shapes import by_age, fills_gaps, measures, numbered
from lint.sources.python.values import DYNAMIC, INDEX, ORDER, Seq, Text, Value, concat, join, mapped, order_of, param


def follow(tree: ast.Module, text: str, sites: Sites = ()) -> list[Hit]:
    """Every prompt that a module hands to a call site; sites: more of them. Raises OutOfSteps, RecursionError."""
    module = Module.of(tree, text, sites)
    run = Run(module, call_function, execute, evaluate, fields_of)
    top = Scope(run, env=run.globals, top=True)
    execute(tree.body, top)
    for name in module.roots():
        function = module.functions[name]
        if id(function) not in run.entered:
            start(function, run, name.rpartition(".")[0] or None)
    return run.hits


def execute(body: Iterable[ast.stmt], scope: Scope) -> None:
    """Follow statements one by one."""
    for statement in body:
        if scope.left:
            return
        scope.run.step()
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            handler(statement, scope)


def _assign(node: ast.Assign, scope: Scope) -> None:
    value = evaluate(node.value, scope)
    for target in node.targets:
        _set(target, value, scope, node)


def _annotated(node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        _set(node.target, evaluate(node.value, scope), scope, node)


def _set(target: ast.expr, value: Value, scope: Scope, node: ast.stmt) -> None:
    if isinstance(target, ast.Subscript):
        set_item(target, value, scope, node)
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in scope.walks:
        edit_walked(target.value.id, target, value, scope, node)
    else:
        bind(target, value, scope)
        scope.born[key_of(target)] = len(scope.orders)
        _name_it(target, value, scope)


def _name_it(target: ast.expr, value: Value, scope: Scope) -> None:
    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    guesses.named(name, value, target, scope)


def _augment(node: ast.AugAssign, scope: Scope) -> None:
    value = evaluate(node.value, scope)
    if isinstance(node.target, ast.Subscript):
        set_item(node.target, concat(evaluate(node.target, scope), value), scope, node)
        return
    held = evaluate(node.target, scope)
    if isinstance(node.op, ast.Add):
        if isinstance(node.target, ast.Attribute) and integer(node.value) is not None:
            bind(node.target, Text((part_at("counter", node.target),)), scope)
            return
        total = scope.collected(add(held, value), key_of(node.target))
        bind(node.target, total, scope)
        _name_it(node.target, total, scope)
    elif isinstance(node.op, ast.BitOr):
        bind(node.target, concat(held, value), scope)


def _expression(node: ast.Expr, scope: Scope) -> None:
    call = node.value.value if isinstance(node.value, ast.Await) else node.value
    if isinstance(call, ast.Yield) and call.value is not None:
        scope.returned.append(scope.collected(Seq((evaluate(call.value, scope),))))
    elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and changes(call, call.func, scope):
        return
    elif isinstance(call, ast.Call) and call.args and scope.resolve(call.func) == "random.shuffle":
        shuffle(call, scope)
    else:
        evaluate(node.value, scope)


def _return(node: ast.Return, scope: Scope) -> None:
    if node.value is not None:
        scope.returned.append(evaluate(node.value, scope))


def _branch(node: ast.If, scope: Scope) -> None:
    """The whole chain of `elif` at once, so that a long one is not nested."""
    bodies: list[list[ast.stmt]] = []
    otherwise: list[ast.stmt] = [node]
    outer = scope.bounded
    leaves = scope.decides(node.test) and isinstance(node.body[-1], ast.Return | ast.Raise)
    while len(otherwise) == 1 and isinstance(otherwise[0], ast.If):
        link = otherwise[0]
        evaluate(link.test, scope)
        scope.bounded = scope.bounded or measures(link.test)
        decided = scope.decides(link.test)
        otherwise = [] if decided else link.orelse
        if decided is not False:
            bodies.append(link.body)
    _both([*bodies, otherwise], scope)
    scope.bounded, scope.left = outer, scope.left or bool(leaves)


def _both(bodies: Iterable[list[ast.stmt]], scope: Scope) -> None:
    before = dict(scope.env)
    after: list[dict[str, Value]] = []
    for body in bodies:
        inner = scope.branch()
        execute(body, inner)
        scope.seeded = scope.seeded or inner.seeded
        after.append(inner.env)
    for env in after:
        for name, value in env.items():
            if value is not before.get(name):
                held = scope.env.get(name)
                scope.env[name] = value if held is None or held is before.get(name) else join(held, value)


def _loop(node: ast.For | ast.AsyncFor, scope: Scope) -> None:
    walked = evaluate(node.iter, scope)
    over, target = _walked(node, scope)
    bind(node.target, element_of(walked), scope)
    if over and target and not fills_gaps(node):
        scope.walks[target] = over
        if by_age(node):
            scope.aged.add(target)
    outer, scope.orders = scope.orders, (*scope.orders, *(part for part in order_of(walked) if part.kind in ORDER))
    _counted(node, scope)
    scope.orders = outer
    execute(node.orelse, scope)
    if target:
        scope.walks.pop(target, None)


def _counted(node: ast.For | ast.AsyncFor, scope: Scope) -> None:
    """Follow the body of a loop; what it hands over by itself has the loop's number as a counter."""
    number = numbered(node)
    if number is None:
        execute(node.body, scope)
        return
    hits, part = scope.run.hits, part_at(INDEX, number)
    before, count = len(hits), replace(part, kind="counter")
    bind(number, Text((part,)), scope)
    execute(node.body, scope)
    for at, hit in enumerate(hits[before:], before):
        if not hit.guessed:
            given = {key: mapped(value, lambda p: count if p == part else p) for key, value in hit.arguments.items()}
            hits[at] = replace(hit, arguments=given)


def _walked(node: ast.For | ast.AsyncFor, scope: Scope) -> tuple[str, str]:
    """The list that a loop walks over, and the loop's variable for its items."""
    iterated, target = node.iter, node.target
    if isinstance(iterated, ast.Call) and iterated.args and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        iterated, target = iterated.args[0], target.elts[1]
    elif isinstance(iterated, ast.Call) and iterated.args:
        iterated = iterated.args[0]
    if isinstance(iterated, ast.Subscript):
        if (
            isinstance(iterated.slice, ast.Slice)
            and iterated.slice.lower is not None
            and iterated.slice.upper is None
        ):
            return "", ""
        iterated = iterated.value
    name = key_of(iterated)
    held = scope.env.get(name)
    history = held is not None and (param(held) is not None or isinstance(held, Seq) or _is_unknown(held))
    return (name if history else "", target.id if isinstance(target, ast.Name) else "")


def _is_unknown(value: Value) -> bool:
    return isinstance(value, Text) and all(part.kind == DYNAMIC for part in value.parts)


def _while(node: ast.While, scope: Scope) -> None:
    evaluate(node.test, scope)
    outer, scope.bounded = scope.bounded, not isinstance(node.test, ast.Constant)
    execute(node.body, scope)
    scope.bounded = outer


def _with(node: ast.With | ast.AsyncWith, scope: Scope) -> None:
    for item in node.items:
        value = evaluate(item.context_expr, scope)
        if item.optional_vars is not None:
            bind(item.optional_vars, value, scope)
    execute(node.body, scope)


def _try(node: ast.Try, scope: Scope) -> None:
    execute(node.body, scope)
    outer, scope.failed = scope.failed, True
    _both([handler.body for handler in node.handlers], scope)
    scope.failed = outer
    execute(node.orelse, scope)
    execute(node.finalbody, scope)


def _match(node: ast.Match, scope: Scope) -> None:
    evaluate(node.subject, scope)
    _both([case.body for case in node.cases], scope)


def _define(node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
    if scope.top:
        return
    scope.closures[node.name] = node
    if len(scope.active) < MAX_DEPTH and id(node) not in scope.active:
        start(node, scope.run, None, scope)


_HANDLERS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augment,
    ast.Expr: _expression,
    ast.Delete: delete,
    ast.Return: _return,
    ast.If: _branch,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
}
