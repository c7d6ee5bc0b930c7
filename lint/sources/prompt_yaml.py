"""YAML prompt files: messages or single texts with `{holes}`. Only composed, so no tag is ever constructed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import yaml

from lint.documents import NotInspected, Unreadable
from lint.fixes.lines import in_block
from lint.rule import Document, Fix, Location
from lint.source import Source
from lint.sources.flow import Flow, FlowDocument
from lint.sources.template import Piece, flows_of

MAX_BYTES = 1_000_000
MAX_NODES = 20_000
_NAME = r"([A-Za-z_][\w.]*)"
_JINJA_HOLE = rf"\{{\{{-?\s*{_NAME}[^{{}}]*\}}\}}"
_JINJA = re.compile(_JINJA_HOLE)
_ANY = re.compile(rf"{_JINJA_HOLE}|\$?\{{{_NAME}\}}")
_STATEMENT = "{%"
"""Of Jinja: where there are any, single braces are text."""
_TEXT_KEYS = frozenset("system prompt template instructions system_prompt system_message prompt_template".split())


class PromptFile(FlowDocument):
    """A prompt file that was read."""

    def candidates(self, flow: Flow) -> Iterable[Fix]:
        """Its line to the end of the block it stands in."""
        return in_block(self.text, flow.row)

    def reread(self, text: str) -> tuple[Flow, ...] | None:
        """The flows of another file."""
        documents = list(read(self.filename, io.BytesIO(text.encode("utf-8", "surrogatepass"))))
        return documents[0].flows if documents and isinstance(documents[0], PromptFile) else None


def read(filename: str, file: BinaryIO) -> Iterator[Document]:
    """The prompts in a file, or why it could not be read."""
    raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield NotInspected(filename, "YAML of more than 1 MB")
        return
    try:
        text = raw.decode("utf-8-sig")
        found = (flow for node in yaml.compose_all(text, yaml.SafeLoader) for flow in _Prompts(text).flows(node))
        yield PromptFile(filename, text, tuple(dict.fromkeys(found)))
    except UnicodeDecodeError as error:
        yield Unreadable(
            filename, f"no UTF-8 at byte {error.start}", Location(raw.count(b"\n", 0, error.start) + 1, 1)
        )
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        yield Unreadable(
            filename, f"no YAML: {error.problem}", Location(mark.line + 1, mark.column + 1) if mark else None
        )
    except yaml.YAMLError:
        yield Unreadable(filename, "no YAML: a character that YAML does not allow", Location(1, 1))
    except RecursionError:
        yield NotInspected(filename, "nested too deeply to follow")


class _Prompts:
    """Finds prompts in the node graph of one document; every node is looked at once, so aliases cost nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._seen: set[int] = set()

    def flows(self, root: yaml.Node | None) -> Iterator[Flow]:
        """What changes ahead of static text in any prompt of the document."""
        waiting = [root] if root is not None else []
        while waiting and len(self._seen) < MAX_NODES:
            node = waiting.pop()
            if id(node) in self._seen:
                continue
            self._seen.add(id(node))
            if isinstance(node, yaml.SequenceNode):
                yield from self._messages(node)
                waiting.extend(node.value)
            elif isinstance(node, yaml.MappingNode):
                yield from self._texts(node)
                waiting.extend(value for _, value in node.value)

    def _messages(self, node: yaml.SequenceNode) -> Iterator[Flow]:
        messages = [_fields(item) for item in node.value if isinstance(item, yaml.MappingNode)]
        spoken = [(m.get("role"), m.get("content")) for m in messages]
        behind = 0
        for index, (role, content) in enumerate(reversed(spoken)):
            if role is None or not isinstance(content, yaml.ScalarNode):
                continue
            pieces = self._pieces(content)
            where = "last" if index == 0 and role.value == "user" else "system"
            yield from flows_of(pieces, where, behind)
            behind += sum(piece.chars for piece in pieces)

    def _texts(self, node: yaml.MappingNode) -> Iterator[Flow]:
        for key, value in _fields(node).items():
            if key in _TEXT_KEYS and isinstance(value, yaml.ScalarNode):
                yield from flows_of(self._pieces(value))

    def _pieces(self, node: yaml.ScalarNode) -> list[Piece]:
        pieces: list[Piece] = []
        end, at = 0, node.start_mark.index
        holes = _JINJA if _STATEMENT in node.value else _ANY
        for match in holes.finditer(node.value):
            pieces.append(Piece(chars=match.start() - end))
            found = self._text.find(match[0], at, node.end_mark.index)
            at = found + len(match[0]) if found >= 0 else at
            row, column = self._place(max(found, node.start_mark.index))
            pieces.append(Piece("variable", match[match.lastindex or 1], row, column))
            end = match.end()
        return [*pieces, Piece(chars=len(node.value) - end)]

    def _place(self, index: int) -> tuple[int, int]:
        return self._text.count("\n", 0, index) + 1, index - self._text.rfind("\n", 0, index)


def _fields(node: yaml.MappingNode) -> dict[str, yaml.Node]:
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


SOURCE = Source("prompt_yaml", (".yaml", ".yml"), read)
