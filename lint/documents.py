"""The documents any source may yield: what it could not read, and what it did not look at. Neither is a pass."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from lint.costing import Summary
from lint.rule import Location
from lint.sources.flow import FlowDocument


class Unreadable(NamedTuple):
    """A file, or lines of one, that does not parse. occurrences: how many lines; reason, location: of the first."""

    filename: str
    reason: str
    location: Location | None = None
    occurrences: int = 1


class NotInspected(NamedTuple):
    """Something that was asked for and not looked at. occurrences: how many lines or files. nothing: in the whole run
    nothing was looked at."""

    filename: str
    reason: str
    occurrences: int = 1
    nothing: bool = False


@runtime_checkable
class Linkable(Protocol):
    """A document whose causes are made by source that may be in the same run."""

    filename: str

    def linked(self, origins: Sequence[FlowDocument]) -> "Linkable": ...


@runtime_checkable
class Summarised(Protocol):
    """A document that says what mending all that is wrong with it is worth."""

    @property
    def summary(self) -> Summary | None: ...
