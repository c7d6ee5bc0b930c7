"""Tools that are sent with every request and that nobody calls.

Calls are looked for in logged responses and in the newest messages of each conversation. Where too few calls are seen
for the number of tools, nothing is said: a tool that was not needed in ten calls may be needed in the next.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lint.rule import Location, Sighting
from lint.traffic.answers import answered, sent_back
from lint.traffic.losses import Loss
from lint.traffic.seen import Request
from lint.traffic.watcher import Exchange, Note
from prefix.causes import tool_names
from prefix.divergence import compact_json
from prefix.tokens import BYTES_PER_TOKEN

_NEWEST: Final = 6
_SETS: Final = 256
_REQUESTS: Final = 24
_CALLS_PER_TOOL: Final = 4


class _ToolSet:
    """Requests that send the same tools."""

    def __init__(self, request: Request, names: list[str]) -> None:
        self.first = request
        self.names = names
        self.requests = 0
        self.calls = 0
        self.called: set[str] = set()


class DeadTools:
    """Calls by the set of tools."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, ...], _ToolSet] = {}

    def see(self, exchange: Exchange) -> None:
        """Nothing for a request without tools."""
        body = exchange.request.body
        tools = body.get("tools") or body.get("functions")
        if not isinstance(tools, list):
            return
        names = tool_names(tools)
        key = tuple(sorted(names))
        if key not in self._sets and len(self._sets) >= _SETS:
            return
        known = self._sets.setdefault(key, _ToolSet(exchange.request, names))
        known.requests += 1
        for name in _called(exchange):
            known.calls += 1
            known.called.add(name)

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One per set of tools."""
        for known in self._sets.values():
            dead = [name for name in known.names if name not in known.called]
            enough = known.requests >= _REQUESTS and known.calls >= _CALLS_PER_TOOL * len(known.names)
            if dead and enough:
                yield _note(known, dead)


def _called(exchange: Exchange) -> Iterator[str]:
    """The names of the tools called in the response, or else in the newest answers that came back."""
    said = answered(exchange.reply.answer) if exchange.reply.answer is not None else None
    if said is not None:
        yield from (call.name for call in said.calls)
        return
    body = exchange.request.body
    turns = body.get("messages", body.get("input"))
    if not isinstance(turns, list):
        return
    for at in range(max(0, len(turns) - _NEWEST), len(turns)):
        back = sent_back(turns[: at + 1], at)
        yield from (call.name for call in back.calls) if back else ()


def _note(known: _ToolSet, dead: list[str]) -> Note:
    tools: list[Any] = known.first.body.get("tools") or known.first.body.get("functions") or []
    unused = [tool for tool, name in zip(tools, known.names, strict=True) if name in dead]
    tokens = round(len(compact_json(unused)) / BYTES_PER_TOKEN)
    return Note(
        "dead_tool",
        Sighting(
            message=(
                f"{len(dead)} of {len(known.names)} tools are never called: about {tokens:,} tokens in each of"
                f" {known.requests:,} requests ({known.calls:,} calls seen)"
            ),
            values=(", ".join(dead),),
            location=Location(known.first.row, 1),
            request=known.first.number,
            pointer="/tools" if "tools" in known.first.body else "/functions",
            occurrences=known.requests,
        ),
    )
