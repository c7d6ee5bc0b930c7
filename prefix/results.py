"""Results of one parallel tool call in the order of the calls, not of their arrival.

Each result names the call it answers, so their order says nothing. Only adjacent results move, each answering a
different call of the turn directly before them; what they say moves with them, whole. OpenAI chat: messages of role
`tool` behind the assistant's. Anthropic: the `tool_result` parts that begin the next user message. Responses:
`function_call_output` items behind their `function_call` items.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from prefix.body import Body
from prefix.place import Path, Places, Rewrite, pointer
from prefix.scan import Span
from prefix.system import turns
from prefix.tools import Change

_MARK = b'"cache_control"'


class _Run(NamedTuple):
    """Adjacent results: the array they stand in, the place of the first, and the order to put them in."""

    array: Path
    start: int
    order: list[int]


def result_order(body: Body, places: Places, *, keep_marked: bool) -> Rewrite:
    """What putting results in the order of their calls replaces.

    keep_marked: leave arrays that carry `cache_control` marks alone.
    """
    replacements: dict[Span, bytes] = {}
    changes: list[Change] = []
    marked: dict[Span, bool] = {}
    for run in _runs(body):
        array = places.find(run.array)
        if array is not None and array not in marked:
            marked[array] = keep_marked and body.raw.find(_MARK, array.start, array.end) >= 0
        if array is None or marked[array]:
            continue
        items = places.items(array)[run.start : run.start + len(run.order)]
        replacements |= {
            place: body.raw[items[source].start : items[source].end]
            for place, source in zip(items, run.order, strict=True)
            if place != items[source]
        }
        changes.append(Change(pointer((*run.array, run.start)), "result_order"))
    return Rewrite(replacements, tuple(changes))


def _runs(body: Body) -> Iterator[_Run]:
    """Every run of results that stands in another order than the calls it answers."""
    key, items = turns(body)
    calls: list[Any] = []
    for place, item in enumerate(items):
        made = _call_ids(item)
        if made is not None:
            if key == "input":
                calls += made
            else:
                calls = made
            continue
        if calls:
            array, start, results = _results_from(key, place, items)
            order = _call_order(calls, results, start)
            if order != sorted(order):
                yield _Run(array, start, order)
        calls = []


def _results_from(key: str, place: int, items: list[Any]) -> tuple[Path, int, list[Any]]:
    """Where results stand that begin at this turn: the turns themselves, or the parts of one user message."""
    item = items[place]
    content = item.get("content") if type(item) is dict and item.get("role") == "user" else None
    return ((key, place, "content"), 0, content) if type(content) is list else ((key,), place, items)


def _call_order(calls: Sequence[Any], items: Sequence[Any], start: int) -> list[int]:
    """The order that puts the results from `start` on in the order of their calls; empty when they do not fit."""
    rank = {call: place for place, call in enumerate(calls) if type(call) is str and call}
    answered = _answered(islice(items, start, None))
    if len(rank) != len(calls) or len(set(answered)) != len(answered) or not rank.keys() >= set(answered):
        return []
    return sorted(range(len(answered)), key=lambda place: rank[answered[place]])


def _answered(items: Iterable[Any]) -> list[str]:
    """The ids of the calls that leading results answer."""
    found: list[str] = []
    for item in items:
        named = _result_id(item)
        if named is None:
            break
        found.append(named)
    return found


def _call_ids(item: Any) -> list[Any] | None:
    """The ids of the calls a turn makes, in order; None when it is not one that makes calls."""
    if type(item) is not dict:
        return None
    if item.get("type") == "function_call":
        return [item.get("call_id")]
    if item.get("role") != "assistant":
        return None
    uses = [part for part in _list(item.get("content")) if type(part) is dict and part.get("type") == "tool_use"]
    return [call.get("id") for call in _list(item.get("tool_calls")) + uses if type(call) is dict]


def _result_id(item: Any) -> str | None:
    """The id of the call that a message, part or item answers ("" when it names none); None when it is no result."""
    if type(item) is not dict:
        return None
    if item.get("role") == "tool":
        named = item.get("tool_call_id")
    elif item.get("type") == "tool_result":
        named = item.get("tool_use_id")
    elif item.get("type") == "function_call_output":
        named = item.get("call_id")
    else:
        return None
    return named if type(named) is str else ""


def _list(value: Any) -> list[Any]:
    return value if type(value) is list else []
