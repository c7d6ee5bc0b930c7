"""Python source: what changes between two requests, followed through one module to the calls that hand over a prompt.

The module is parsed, never imported or run: `statements.follow` is the data flow, `weigh.flows` judges it.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from typing import BinaryIO

from lint.documents import NotInspected, Unreadable
from lint.rule import Document, Location
from lint.source import Source
from lint.sources.flow import FlowDocument
from lint.sources.python.scope import OutOfSteps
from lint.sources.python.statements import follow
from lint.sources.python.weigh import flows

MAX_BYTES = 1_000_000


class PythonModule(FlowDocument):
    """A module that was read."""


def read(filename: str, file: BinaryIO) -> Iterator[Document]:
    """The module in a file, or why it could not be read."""
    raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield NotInspected(filename, f"more than {MAX_BYTES // 1_000_000} MB of Python")
        return
    try:
        text = raw.decode(tokenize.detect_encoding(io.BytesIO(raw).readline)[0])
        yield PythonModule(filename, text, tuple(flows(follow(_parse(text), text))))
    except SyntaxError as error:
        yield Unreadable(filename, f"no Python: {error.msg}", Location(error.lineno or 1, error.offset or 1))
    except UnicodeDecodeError as error:
        yield Unreadable(
            filename, f"no UTF-8 at byte {error.start}", Location(raw.count(b"\n", 0, error.start) + 1, 1)
        )
    except ValueError as error:
        yield Unreadable(filename, f"no Python: {error}", Location(1, 1))
    except (RecursionError, MemoryError):
        yield NotInspected(filename, "nested too deeply to follow")
    except OutOfSteps:
        yield NotInspected(filename, "too large to follow every path")


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.parse(text)


SOURCE = Source("python", (".py", ".pyi"), read)
