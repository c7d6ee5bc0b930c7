"""What a source is: it makes documents of files with certain suffixes. Each is one module of lint/sources."""

from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from lint.call_sites import Sites
from lint.costing import Costing
from lint.rule import Document


class Source(NamedTuple):
    """name: for messages. suffixes: of the files it reads, lower case, with the dot, as in lint.sources.SUFFIXES.
    read: the documents of a file, given its name and its bytes; it raises no error for what the file contains, but
    yields `lint.documents.Unreadable` or `NotInspected`. price: what its documents are worth, given the file once
    more; None when that is not known. follow: read with the call sites that a project declares; None for files
    that call nothing."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[str, BinaryIO], Iterator[Document]]
    price: Callable[[Document, BinaryIO, Costing], Document] | None = None
    follow: Callable[[str, BinaryIO, Sites], Iterator[Document]] | None = None
