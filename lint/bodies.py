"""One request body, judged by itself: where the text of its prefix is, and what in it will be another next time.

Without a second request nothing is known to vary; so only volatile spans that are certain to move (prefix.volatile)
are mentioned, and only in tools and system text, where everything behind them is lost with them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lint.breakpoints import blocks, faults
from lint.rule import Check, Location, Severity, Sighting
from prefix.system import SYSTEM_ROLES
from prefix.volatile import Kind, find_volatile

_DEEPEST: Final = 64
_NAMES: Final[dict[str, str]] = {
    "clock_second": "a clock",
    "clock_minute": "a clock",
    "epoch": "a clock",
    "date": "a date",
    "uuid": "an id",
    "hex_id": "an id",
    "attribution": "an accounting line of the client",
    "cwd": "a working directory",
    "git_state": "the state of a repository",
    "hostname": "a host name",
    "signed_url": "the signature of a URL",
    "counter": "a counter",
}


class Text(NamedTuple):
    """A text of a body. pointer: JSON pointer. prefix: it stands in tools or leading system text."""

    pointer: str
    text: str
    prefix: bool


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A request body alone. request, location: its index and place in a log, None when it is a file of its own."""

    filename: str
    body: Mapping[str, Any]
    request: int | None = None
    location: Location | None = None

    @property
    def is_constant(self) -> bool:
        """Whether it is no request that was sent, but a file that goes into all of them as it is."""
        return False

    def texts(self) -> Iterator[Text]:
        """All its texts, in the order templates render them."""
        for name in ("tools", "functions", "system", "instructions"):
            yield from _texts(self.body.get(name), f"/{name}", True)
        for name in ("messages", "input"):
            turns = self.body.get(name)
            leading = True
            for at, turn in enumerate(turns if isinstance(turns, list) else ()):
                leading = leading and isinstance(turn, dict) and turn.get("role") in SYSTEM_ROLES
                yield from _texts(turn, f"/{name}/{at}", leading)


def _texts(value: Any, pointer: str, prefix: bool) -> Iterator[Text]:
    if pointer.count("/") > _DEEPEST:
        return
    if isinstance(value, str):
        yield Text(pointer, value, prefix)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _texts(item, f"{pointer}/{at}", prefix)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", prefix)


def volatile(
    *kinds: Kind, severity: Severity | None = None, in_files: Severity | None = None, everywhere: bool = False
) -> Check[RequestBody]:
    """The check that these kinds of volatile text are in no prefix; `everywhere`: in no message either. in_files: the
    severity where a file has them, which stays as it is."""

    def find(document: RequestBody) -> Iterator[Sighting]:
        for text in document.texts():
            spans = [span for span in find_volatile(text.text, kinds) if span.certain]
            if spans and (text.prefix or everywhere):
                span = spans[0]
                yield Sighting(
                    message=f"{_NAMES[span.kind]} in {text.pointer} at {span.start:,}",
                    values=(text.text[span.start : span.end],),
                    severity=in_files if in_files and document.is_constant else severity,
                    location=document.location,
                    request=document.request,
                    pointer=text.pointer,
                    start=span.start,
                    end=span.end,
                    occurrences=len(spans),
                )

    return Check(RequestBody, find)


def breakpoint_faults(kind: str) -> Check[RequestBody]:
    """The check for one kind of fault of breakpoints (lint.breakpoints)."""

    def find(document: RequestBody) -> Iterator[Sighting]:
        for fault in faults(document.body, blocks(document.body)):
            if fault.kind == kind:
                yield Sighting(
                    message=fault.message,
                    location=document.location,
                    request=document.request,
                    pointer=fault.pointer,
                )

    return Check(RequestBody, find)
