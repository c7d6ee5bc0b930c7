"""Functions and classes of the module: followed with the values they are called with, or with nothing known."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from lint.sources.python import guesses
from lint.sources.python.expressions import evaluate
from lint.sources.python.formats import known
from lint.sources.python.module import Function
from lint.sources.python.scope import MAX_DEPTH, SELF, Run, Scope, place
from lint.sources.python.values import (
    DYNAMIC,
    EMPTY,
    NOT_GIVEN,
    PARAM,
    UNKNOWN,
    Map,
    Part,
    Seq,
    Text,
    Value,
    join,
    parts_of,
    retag,
)

_ABSENT = Text((Part(DYNAMIC, NOT_GIVEN),))
_CONFIGURED = {"state": DYNAMIC}
"""A folder that an object was made in is its own for good."""


def start(function: Function, run: Run, owner: str | None, closures: Scope | None = None) -> None:
    """Follow a function with nothing known of its arguments."""
    scope = Scope(run, owner=owner, active=(*(closures.active if closures else ()), id(function)))
    if closures is not None:
        scope.env.update(closures.env)
        scope.closures.update(closures.closures)
    parameters = _parameters(function)
    row, column = place(function)
    for index, name in enumerate(parameters):
        scope.env[name] = SELF if owner and index == 0 else Text((Part(PARAM, name, row, column),))
    if owner:
        _give_instance(scope, owner, parameters[0] if parameters else "self")
    run.entered.add(id(function))
    scope.run.execute(function.body, scope)
    guesses.returned(function, _result(scope), scope)


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in named] + [
        extra.arg for extra in (arguments.vararg, arguments.kwarg) if extra
    ]


def _give_instance(scope: Scope, owner: str, me: str) -> None:
    for name, value in fields_of(scope.run, owner).items():
        scope.env[f"{me}.{name}"] = value


def fields_of(run: Run, owner: str) -> Mapping[str, Value]:
    """What the constructor of a class leaves in its fields; what it was given is configuration."""
    if owner in run.instances or owner not in run.module.classes:
        return run.instances.get(owner, {})
    fields = run.instances[owner] = {}
    inner = Scope(run, owner=owner)
    run.execute([s for s in run.module.classes[owner].body if isinstance(s, ast.Assign | ast.AnnAssign)], inner)
    fields.update(inner.env)
    constructor = run.module.functions.get(f"{owner}.__init__")
    if constructor is not None:
        names = _parameters(constructor)
        scope = Scope(run, owner=owner, active=(id(constructor),), env=dict.fromkeys(names, UNKNOWN))
        scope.env.update({name: _ABSENT for name, value in _defaults(constructor, scope).items() if value == EMPTY})
        run.execute(constructor.body, scope)
        me = f"{names[0]}." if names else "self."
        fields.update({key.removeprefix(me): value for key, value in scope.env.items() if key.startswith(me)})
    for key, value in fields.items():
        fields[key] = retag(value, _CONFIGURED) if parts_of(value) else UNKNOWN
    return fields


def call_function(
    function: Function, caller: Scope, positional: tuple[Value, ...], named: Mapping[str, Value]
) -> tuple[Value, Mapping[str, Value]]:
    """What a function of this module returns for these arguments, and what it leaves of those it changes in place."""
    if id(function) in caller.active or len(caller.active) >= MAX_DEPTH:
        return UNKNOWN, {}
    scope = Scope(caller.run, owner=caller.owner, active=(*caller.active, id(function)), seeded=caller.seeded)
    if function.name in caller.closures:
        scope.env.update(caller.env)
    scope.closures.update(caller.closures)
    names = _parameters(function)
    scope.env.update(dict.fromkeys(names, UNKNOWN))
    defaults = _defaults(function, scope)
    given_names = {*names[: len(positional)], *named}
    scope.fixed = {
        name: known(value) == "True"
        for name, value in defaults.items()
        if name not in given_names and known(value) in ("True", "False")
    }
    scope.env.update(defaults)
    scope.env.update(zip(names, positional, strict=False))
    scope.env.update({name: value for name, value in named.items() if name in names})
    if positional and positional[0] is SELF and names:
        scope.env.update({f"{names[0]}.{key}": value for key, value in _of_caller(caller).items()})
    caller.run.entered.add(id(function))
    given = {name: scope.env[name] for name in names}
    scope.run.execute(function.body, scope)
    result = _result(scope)
    guesses.returned(function, result, scope)
    if positional and positional[0] is SELF and names:
        _keep_fields(scope, f"{names[0]}.", caller)
    return result, _changed(function, scope, given)


def _keep_fields(scope: Scope, own: str, caller: Scope) -> None:
    """What a method leaves in the fields of its object, for the method of the same object that called it."""
    me = caller.me()
    if me is not None:
        held = {f"{me}.{key.removeprefix(own)}": value for key, value in scope.env.items() if key.startswith(own)}
        caller.env.update(held)


def _changed(function: Function, scope: Scope, given: Mapping[str, Value]) -> dict[str, Value]:
    """Parameters that were changed in place, not bound anew."""
    after = {name: scope.env[name] for name, value in given.items() if scope.env.get(name) not in (value, None)}
    bound = (
        {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if after
        else set()
    )
    return {name: value for name, value in after.items() if name not in bound and isinstance(value, Seq | Map)}


def _of_caller(caller: Scope) -> dict[str, Value]:
    me = f"{caller.me()}."
    own = {key.removeprefix(me): value for key, value in caller.env.items() if key.startswith(me)}
    return own or dict(fields_of(caller.run, caller.owner or ""))


def _defaults(function: Function, scope: Scope) -> dict[str, Value]:
    arguments = function.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    pairs: list[tuple[str, ast.expr | None]] = list(
        zip(reversed(positional), reversed(arguments.defaults), strict=False)
    )
    pairs += [
        (argument.arg, default) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return {name: evaluate(default, scope) for name, default in pairs if default is not None}


def _result(scope: Scope) -> Value:
    if not scope.returned:
        return UNKNOWN
    first, *others = scope.returned
    for other in others:
        first = join(first, other)
    return first
