"""Tools that are sent with every request and that nobody calls.

Calls are looked for in logged responses and in the newest messages of each conversation. Where too few calls are seen
for the number of tools, nothing is said: a tool that was not needed in ten calls may be needed in the next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

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
    """Requests that send the same tools. sizes: bytes of each, by name."""

    def __init__(self, request: Request, member: str, sizes: dict[str, int]) -> None:
        self.where = Sighting(
            message="", location=Location(request.row, 1), request=request.number, pointer=f"/{member}"
        )
        self.sizes = sizes
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
        member = "tools" if body.get("tools") else "functions"
        tools = body.get(member)
        if not isinstance(tools, list):
            return
        names = tool_names(tools)
        key = tuple(sorted(names))
        known = self._sets.get(key)
        if known is None:
            if len(self._sets) >= _SETS:
                return
            sizes = {name: len(compact_json(tool)) for name, tool in zip(names, tools, strict=True)}
            known = self._sets[key] = _ToolSet(exchange.request, member, sizes)
        known.requests += 1
        for name in _called(exchange):
            known.calls += 1
            known.called.add(name)

    def notes(self, _losses: Sequence[Loss]) -> Iterator[Note]:
        """One per set of tools."""
        for known in self._sets.values():
            dead = [name for name in known.sizes if name not in known.called]
            enough = known.requests >= _REQUESTS and known.calls >= _CALLS_PER_TOOL * len(known.sizes)
            if dead and enough:
                yield _note(known, dead)


def _called(exchange: Exchange) -> Iterator[str]:
    """The names of the tools called in the response, or else in the newest answers that came back."""
    said = answered(exchange.logged.answer) if exchange.logged.answer is not None else None
    if said is not None:
        yield from (call.name for call in said.calls)
        return
    body = exchange.request.body
    turns = body.get("messages", body.get("input"))
    if not isinstance(turns, list):
        return
    before = exchange.before.body.get("messages", exchange.before.body.get("input")) if exchange.before else None
    seen = len(before) if isinstance(before, list) else 0
    for at in range(max(seen, len(turns) - _NEWEST), len(turns)):
        back = sent_back(turns[: at + 1], at)
        yield from (call.name for call in back.calls) if back else ()


def _note(known: _ToolSet, dead: list[str]) -> Note:
    tokens = round(sum(known.sizes[name] for name in dead) / BYTES_PER_TOKEN)
    message = (
        f"{len(dead)} of {len(known.sizes)} tools are never called: about {tokens:,} tokens in each of"
        f" {known.requests:,} requests ({known.calls:,} calls seen)"
    )
    return Note(
        "dead_tool",
        replace(known.where, message=message, values=(", ".join(dead),), occurrences=known.requests),
    )
