"""Python source: what changes between two requests, followed through one module to the calls that hand over a prompt.

The module is parsed, never imported or run: `statements.follow` is the data flow, `weigh.flows` judges it.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

from lint.call_sites import Sites
from lint.documents import NotInspected, Unreadable
from lint.fixes.form import one_form
from lint.fixes.move import move_behind
from lint.fixes.order import sort_iteration, sort_keys
from lint.fixes.strip import strip_signature
from lint.fixes.tools import sort_tools
from lint.fixes.tree import Lines, Tree, parsed, tree_of
from lint.rule import Document, Fix, Location
from lint.source import Source
from lint.sources.flow import Flow, FlowDocument
from lint.sources.python.around import blanked
from lint.sources.python.scope import OutOfSteps
from lint.sources.python.statements import follow
from lint.sources.python.weigh import flows

MAX_BYTES = 1_000_000


_FIXES: Final[dict[str, Callable[[Tree, int, int], Iterable[Fix]]]] = {
    "json_order": sort_keys,
    "json_format": one_form,
    "unordered": sort_iteration,
    "signed": strip_signature,
    "shuffled": sort_tools,
    **dict.fromkeys("clock date id counter state user docs variable".split(), move_behind),
}


@dataclass(frozen=True, slots=True)
class PythonModule(FlowDocument):
    """A module that was read. sites: call sites that its project declares."""

    sites: Sites = ()

    def candidates(self, flow: Flow) -> Iterable[Fix]:
        """Edits by the kind of the flow."""
        find = _FIXES.get(flow.kind)
        return find(tree_of(self.text), flow.row, flow.column) if find else ()

    def reread(self, text: str) -> tuple[Flow, ...] | None:
        """The flows of another module."""
        try:
            return _flows(text, self.sites)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OutOfSteps):
            return None

    def less(self, flows: Sequence[Flow]) -> FlowDocument:
        """With blanks for what has nothing to do with those of these flows that could be mended."""
        rows = {row for flow in flows if flow.kind in _FIXES for row in (flow.row, flow.site_row)}
        return replace(self, text=blanked(self.text, rows))

    def around(self, flows: Sequence[Flow]) -> FlowDocument:
        """With blanks for the rest, where that is found to change none of these flows."""
        part = self.less(flows)
        found = self.reread(part.text) if part.text != self.text else None
        if found is None or not set(flows) <= set(found) <= set(self.flows):
            return self
        return replace(part, flows=found)


def read(filename: str, file: BinaryIO, sites: Sites = ()) -> Iterator[Document]:
    """The module in a file, or why it could not be read."""
    raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield NotInspected(filename, f"more than {MAX_BYTES // 1_000_000} MB of Python")
        return
    try:
        text = raw.decode(tokenize.detect_encoding(io.BytesIO(raw).readline)[0])
        yield PythonModule(filename, text, _flows(text, sites), sites)
    except SyntaxError as error:
        yield Unreadable(filename, f"no Python: {error.msg}", Location(error.lineno or 1, error.offset or 1))
    except UnicodeDecodeError as error:
        yield Unreadable(
            filename, f"no UTF-8 at byte {error.start}", Location(raw.count(b"\n", 0, error.start) + 1, 1)
        )
    except (ValueError, LookupError) as error:
        yield Unreadable(filename, f"no Python: {error}", Location(1, 1))
    except (RecursionError, MemoryError):
        yield NotInspected(filename, "nested too deeply to follow")
    except OutOfSteps:
        yield NotInspected(filename, "too large to follow every path")


def _flows(text: str, sites: Sites) -> tuple[Flow, ...]:
    found = flows(follow(parsed(text), text, sites))
    if text.isascii():
        return tuple(found)
    lines = Lines(text)
    return tuple(replace(flow, column=lines.column(flow.row, flow.column - 1)) for flow in found)


SOURCE = Source("python", (".py", ".pyi"), read, follow=read)
