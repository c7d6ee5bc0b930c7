"""Plain prompt files: `.prompt`, and `.txt` whose name, or folder's name, says prompt. Others are no prompts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

from lint.documents import NotInspected, Unreadable
from lint.rule import Check, Document, Edit, Fix, Location, Sighting
from lint.source import Source

MAX_BYTES = 4_000_000
_BLANKS = re.compile(r"[ \t\r]+(?=\n|\Z)|\A\ufeff")


@dataclass(frozen=True, slots=True)
class PromptText:
    """A plain prompt, as it is in the file."""

    filename: str
    text: str


def read(filename: str, file: BinaryIO) -> Iterator[Document]:
    """The prompt in a file, or why it could not be read; nothing for a text file that is not named as one."""
    if not _is_prompt(filename):
        return
    raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield NotInspected(filename, "a prompt of more than 4 MB")
        return
    try:
        yield PromptText(filename, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        yield Unreadable(
            filename, f"no UTF-8 at byte {error.start}", Location(raw.count(b"\n", 0, error.start) + 1, 1)
        )


def _is_prompt(filename: str) -> bool:
    path = PurePath(filename.lower())
    return (
        path.suffix == ".prompt" or "prompt" in path.name or any("prompt" in folder for folder in path.parts[-3:-1])
    )


def _white_space(document: PromptText) -> Iterator[Sighting]:
    found = list(_BLANKS.finditer(document.text))
    if not found:
        return
    edits = tuple(Edit(match.start(), match.end(), "") for match in found)
    mixed = 0 < document.text.count("\r\n") < document.text.count("\n")
    first = next((match for match in found if "\r" in match[0]), found[0])
    ends = "\r" in first[0]
    yield Sighting(
        message=("two kinds of line ends" if mixed else "line ends other than LF") + ", which a checkout may change"
        if ends
        else "trailing blanks or a byte order mark, which an editor may take away",
        values=(first[0],),
        severity=None if ends and mixed else "info",
        location=_place(document.text, first.start()),
        start=first.start(),
        end=first.end(),
        occurrences=len(found),
        fix=Fix("safe", edits),
    )


def _unicode_form(document: PromptText) -> Iterator[Sighting]:
    if unicodedata.is_normalized("NFC", document.text):
        return
    composed = unicodedata.normalize("NFC", document.text)
    at = next((i for i, (a, b) in enumerate(zip(document.text, composed, strict=False)) if a != b), len(composed))
    yield Sighting(
        message="text that is not in Unicode form NFC: the same letters typed elsewhere are other bytes",
        values=(document.text[max(at - 1, 0) : at + 2],),
        location=_place(document.text, at),
        start=at,
        end=at + 1,
        fix=Fix("safe", (Edit(0, len(document.text), composed),)),
    )


def _place(text: str, index: int) -> Location:
    return Location(text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))


WHITE_SPACE = Check(PromptText, _white_space)
UNICODE_FORM = Check(PromptText, _unicode_form)
SOURCE = Source("prompt_text", (".txt", ".prompt"), read)
