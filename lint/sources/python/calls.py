"""Evaluates calls: sources of volatile text, string and list methods, helpers of the same module, and call sites."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from lint.sources.python import formats, guesses, handing, sites
from lint.sources.python.binding import INSTANCE, element_of, instance, item_of, marks_of, path_of, written
from lint.sources.python.call import Call, carried, made_by, origin
from lint.sources.python.methods import method_of
from lint.sources.python.module import Function, chain
from lint.sources.python.origins import of_call
from lint.sources.python.scope import SELF, Scope, place
from lint.sources.python.values import (
    DYNAMIC,
    EMPTY,
    FILE,
    NOT_GIVEN,
    ORDER,
    PARAM,
    UNKNOWN,
    Map,
    Part,
    Seq,
    Spread,
    Text,
    Value,
    concat,
    items_of,
    mapped,
    marked,
    order_of,
    param,
    parts_of,
    volatile,
    without,
)

OF_CLASS = "<class>"
_OF_RECORD = frozenset({"clock", "date", "id", "counter"})
Evaluate = Callable[[ast.expr, Scope], Value]
_GENERATORS = frozenset({"random.Random", "numpy.random.default_rng", "random.SystemRandom"})
_SAME = frozenset(
    "list tuple iter reversed enumerate str next deepcopy copy dedent cast escape repr format int round".split()
)
_MEASURES = frozenset(
    "len sum min max any all bool hash id isinstance issubclass hasattr type numpy.unique numpy.argmax".split()
)
_PASSES = frozenset("map filter zip chain islice from_iterable fromkeys".split())
_LOADS = frozenset({"open", "json.load", "yaml.safe_load", "json.loads", "yaml.load", "tomllib.load"})


def evaluate_call(node: ast.Call, scope: Scope, evaluate: Evaluate) -> Value:
    """What a call returns, as far as a prompt is concerned."""
    call = _with_arguments(node, scope, evaluate)
    role = sites.message_role(node, scope)
    if role is not None:
        return handing.message(call, role)
    handed = handing.hand_over(call)
    if handed is not None:
        return handed
    value = _known_name(call)
    if value is None and isinstance(node.func, ast.Attribute):
        receiver = evaluate(node.func.value, scope)
        value = handing.filled(call, node.func.attr, receiver)
        value = _of_object(call, node.func.attr, receiver) if value is None else value
        value = method_of(call, node.func.attr, receiver) if value is None else value
    if value is None:
        value = _helper(call)
    if value is None:
        guesses.handed(call)
        value = Text((*carried(call), Part(DYNAMIC)))
    return value


def _with_arguments(node: ast.Call, scope: Scope, evaluate: Evaluate) -> Call:
    positional: list[Value] = []
    named: dict[str, Value] = {}
    places: dict[str, tuple[int, int]] = {}
    for argument in node.args:
        value = evaluate(argument, scope)
        positional.extend(items_of(value) if isinstance(argument, ast.Starred) else [value])
    for keyword in node.keywords:
        value = evaluate(keyword.value, scope)
        if keyword.arg is not None:
            named[keyword.arg] = value
            places[keyword.arg] = place(keyword.value)
        elif isinstance(value, Map):
            named.update(value.entries)
    return Call(node, scope, tuple(positional), named, places)


def _known_name(call: Call) -> Value | None:
    name = call.scope.resolve(call.node.func)
    if not name:
        return None
    kind = of_call(name)
    if kind is not None:
        return origin(call, name, kind)
    if name == "sorted":
        return without(call.first(), ORDER)
    if name == "json.dumps":
        return _dumps(call)
    if name in _LOADS:
        return FILE
    if name in _MEASURES:
        return UNKNOWN
    if name in _GENERATORS:
        return Text((Part(DYNAMIC, label="generator"),)) if _is_unseeded(call) else UNKNOWN
    return _collection(call, name)


def _is_unseeded(call: Call) -> bool:
    """Whether a generator gets no seed, or one that is None unless someone gives it."""
    nodes = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    plain = all(isinstance(node, ast.Name | ast.Attribute | ast.Constant) for node in nodes)
    return plain and all(part.label == NOT_GIVEN for value in call.everything for part in parts_of(value))


def _collection(call: Call, name: str) -> Value | None:
    """Calls that make a list or mapping of their arguments, or give one of them back."""
    last = name.rpartition(".")[2]
    if last in ("field", "Field") and "default_factory" in call.named:
        return made_by(call, "default_factory")
    if name == "dict":
        return _mapping(call)
    if name == "os.path.join":
        return path_of(*call.positional)
    if name == "collections.deque" and ("maxlen" in call.named or len(call.positional) > 1):
        return Seq(items_of(call.first()), (call.part("window"),))
    if last == "trim_messages":
        return marked(Seq(items_of(call.first())), call.part("window"))
    if last in _PASSES and call.positional:
        return _passed(call, last)
    if last == "enumerate" and item_of(call.first()):
        return _side_by_side(call, UNKNOWN, *call.positional[:1])
    if last in _SAME and call.positional:
        held = call.positional[-1] if last == "cast" else call.first()
        return written(held, call.node) if last in ("str", "repr", "format") else held
    return None


def _side_by_side(call: Call, *columns: Value) -> Value:
    """Pairs of the items of lists of objects."""
    row = Seq(tuple(element_of(column) for column in columns))
    return Seq((row,), tuple(mark for column in call.positional for mark in marks_of(column)))


def _passed(call: Call, last: str) -> Value:
    """What goes through the items of lists: their order stays."""
    marks = tuple(mark for value in call.everything for mark in order_of(value) if mark.kind in ORDER)
    objects = [item for item in map(item_of, call.positional) if item is not None]
    if objects and last == "zip":
        return _side_by_side(call, *call.positional)
    if objects and last != "map":
        return Seq(tuple(objects), marks)
    return Seq((Spread(concat(*(without(value, ORDER) for value in call.everything))),), marks)


def _mapping(call: Call) -> Value:
    first = call.first()
    if isinstance(first, Map) or not call.positional:
        return Map((*(first.entries if isinstance(first, Map) else ()), *call.named.items()))
    return Text((*parts_of(first), *carried(call)))


def _dumps(call: Call) -> Value:
    value = call.first()
    ordered = formats.known(call.named.get("sort_keys", EMPTY)) == "True"
    drifts = Text(tuple(_form(call)))
    if ordered:
        plain = without(value, ORDER)
        return Text((*drifts.parts, *volatile(plain), Part(DYNAMIC))) if param(value) else _headed(drifts, plain)
    found = param(value)
    if found:
        return Text((*drifts.parts, call.part("json_order", f"json.dumps of {found.label}")))
    return _headed(drifts, _record(value))


def _record(value: Value) -> Value:
    """JSON of what nobody knows is one record of many: when it was made, and its id, are as much its own."""
    known = all(part.kind not in (PARAM, DYNAMIC) for part in parts_of(value))
    return value if known else mapped(value, lambda part: replace(part, loose=part.loose or part.kind in _OF_RECORD))


def _headed(parts: Text, value: Value) -> Value:
    return concat(parts, value) if parts.parts else value


def _form(call: Call) -> Iterator[Part]:
    """Arguments by which the same value is spelled in another way, when they are not always the same."""
    for keyword in call.node.keywords:
        if keyword.arg in ("indent", "separators", "ensure_ascii"):
            given = call.named[keyword.arg]
            found = param(given)
            if found or isinstance(keyword.value, ast.IfExp):
                yield Part("json_format", f"{keyword.arg} of json.dumps", *place(keyword.value))


def _write_back(call: Call, function: Function, changed: Mapping[str, Value], skipped: int) -> None:
    """Give the caller's variables what a helper changed in place."""
    parameters = [argument.arg for argument in function.args.args][skipped:]
    for name, argument in zip(parameters, call.node.args, strict=False):
        if name in changed and isinstance(argument, ast.Name):
            call.scope.env[argument.id] = changed[name]


def _helper(call: Call) -> Value | None:
    function = call.scope.function(call.node.func)
    if function is not None:
        is_method = isinstance(call.node.func, ast.Attribute)
        own = (SELF,) if is_method else ()
        value, changed = call.scope.run.call(function, call.scope, (*own, *call.positional), call.named)
        _write_back(call, function, changed, len(own))
        return value
    if _is_class(chain(call.node.func)):
        guesses.handed(call)
        fields = (*((f"#{at}", value) for at, value in enumerate(call.positional)), *call.named.items())
        return Map((*_of_class(chain(call.node.func), call.scope), *fields), made=True)
    return None


def _of_class(name: str, scope: Scope) -> Iterator[tuple[str, Value]]:
    """What an object of a class of the module has besides what it is given: what changes in its fields."""
    if name in scope.run.module.classes:
        yield OF_CLASS, Text((Part(INSTANCE, name),))
        yield from ((key, value) for key, value in scope.run.fields(scope.run, name).items() if volatile(value))
        if scope.run.module.is_plain(name):
            yield instance(name)


def _of_object(call: Call, method: str, receiver: Value) -> Value | None:
    """What a method of an object of a class of the module returns; None for other objects."""
    mark = receiver.get(OF_CLASS) if isinstance(receiver, Map) else None
    owner = parts_of(mark)[0].label if mark is not None else ""
    function = call.scope.run.module.functions.get(f"{owner}.{method}")
    if function is None:
        return None
    inside = Scope(call.scope.run, owner=owner, active=call.scope.active, seeded=call.scope.seeded)
    return call.scope.run.call(function, inside, (SELF, *call.positional), call.named)[0]


def _is_class(name: str) -> bool:
    """Whether a callee is called as classes are: what it makes has fields, and is no text."""
    last = name.rpartition(".")[2].lstrip("_")
    return last[:1].isupper() and not last.isupper()
