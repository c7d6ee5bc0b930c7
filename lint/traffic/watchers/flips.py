"""Parameters that change what the template prints, and so part single requests that begin alike.

Of conversations that go on the engine tells (a loss); this is for requests that are no turns of one conversation.
A route that uses two settings pays once for each; only where new ones keep coming is it worth a word.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from lint.traffic.losses import Loss
from lint.traffic.watcher import Exchange, Note
from lint.traffic.watchers.values import Values
from prefix.parameters import parameter_changes

_KINDS: Final = frozenset(("tool_choice", "template_arguments"))
_NAMES: Final = {
    "tool_choice": "tool_choice",
    "function_call": "tool_choice",
    "chat_template_kwargs": "chat_template_kwargs",
    "chat_template": "chat_template",
    "reasoning_effort": "reasoning_effort",
}
"""By what they may be called: what prefix.parameters calls them."""
_SAME: Final = ("model", "tools", "functions", "lora_path", "cache_salt", "extra_key")
_OFTEN: Final = 0.25
"""Of the requests of the template: that many bring a new value."""


class Flips:
    """What each new value found cold."""

    def __init__(self) -> None:
        self._values = Values()

    def see(self, exchange: Exchange) -> None:
        """A request that sets none of them counts for all that others set."""
        body = exchange.request.body
        named = [name for name, _ in self._values.partings()] + [
            new for name, new in _NAMES.items() if body.get(name)
        ]
        if not named:
            return
        plain = {name: body.get(name) for name in _SAME}
        values = {change.name: change.b or "" for change in parameter_changes(plain, body) if change.kind in _KINDS}
        for name in dict.fromkeys(named):
            self._values.see(name, values.get(name, ""), exchange.request)

    def notes(self, losses: Sequence[Loss]) -> Iterator[Note]:
        """One per parameter, unless a conversation told it already."""
        if any(loss.kind in _KINDS for loss in losses):
            return
        for _, parting in self._values.partings():
            if parting.where is not None and parting.times >= _OFTEN * parting.requests:
                yield Note.counted("param_flip", parting.where, parting.times, parting.lost, parting.bytes)
