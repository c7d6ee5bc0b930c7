"""Call sites that a project declares: calls of its own that hand a prompt to a model.

    [tool.prefixgate.lint]
    call-sites = ["ask_model(messages)", "gateway.complete(question=prompt, rules=system)"]

A site is the end of a dotted callee with its parameters in order, each with what it takes: `messages`, `input`,
`prompt`, `system`, `instructions` or `tools`; a parameter of that name needs no `=`, others are only counted.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from prefix.errors import ConfigError

TAKES: Final = ("messages", "input", "prompt", "system", "instructions", "tools")
_SITE: Final = re.compile(r"\s*([A-Za-z_][\w.]*)\s*\(([\w\s=,]*)\)\s*")


class CallSite(NamedTuple):
    """callee: its last words. parameters: in order; takes: some of them, with what it takes."""

    callee: str
    parameters: tuple[str, ...]
    takes: tuple[tuple[str, str], ...]

    def is_called(self, name: str) -> bool:
        """Whether a dotted callee is this one."""
        return name == self.callee or name.endswith(f".{self.callee}")


Sites = tuple[CallSite, ...]


def parse_call_sites(texts: Iterable[str]) -> Sites:
    """The sites that a list of texts declares. Raises ConfigError."""
    return tuple(_parsed(text) for text in texts)


@functools.cache
def _parsed(text: str) -> CallSite:
    match = _SITE.fullmatch(text)
    pairs = [part.strip().partition("=") for part in match[2].split(",") if part.strip()] if match else []
    takes = {name.strip(): (kind or name).strip() for name, _, kind in pairs if kind or name.strip() in TAKES}
    if match is None or not takes or not set(takes.values()) <= set(TAKES):
        raise ConfigError(f"call site {text!r}: write it as name(parameter=what), what being {', '.join(TAKES)}")
    return CallSite(match[1], tuple(name.strip() for name, _, _ in pairs), tuple(takes.items()))
