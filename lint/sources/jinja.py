"""Jinja templates: what changes, in the order in which the template writes it. Parsed only, never rendered.

Those that make prompts of messages go to lint.sources.chat_template.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import BinaryIO

from jinja2 import Environment, TemplateSyntaxError, nodes

from lint.documents import NotInspected, Unreadable
from lint.fixes.lines import in_template
from lint.rule import Document, Fix, Location
from lint.source import Source
from lint.sources import chat_template
from lint.sources.flow import Flow, FlowDocument
from lint.sources.jinja_space import space_flows
from lint.sources.render_child import EXTENSIONS
from lint.sources.template import Piece, flows_of

MAX_BYTES = 1_000_000
MAX_PIECES = 64
_CLOCKS = frozenset({"now", "utcnow", "strftime_now", "time"})
_SUB_DAY = re.compile(r"%-?[HIMSfsXcpTRr]")
_VIEWS = frozenset({"items", "keys", "values"})
_PROMPT = re.compile(r"prompt|instruction|system")
_MARKUP = re.compile(r"<(?:!doctype|html|head|body|div|script|table)\b", re.IGNORECASE)
_CODE = re.compile(
    r"\s*(?:import \w|from [\w.]+ import |(?:async )?def \w+\(|class \w+[(:{]|@\w+|#include\b|#!/|package \w+"
    r"|(?:export|public|private|const|let|var|function|return|await|async) "
    r"|\w+ = |apiVersion:|FROM \S+$|[}\])]+[,;]?$)"
)
_LEAST_CODE = 5
"""Part of the lines, one in so many, that makes a template one of code: a prompt may quote some."""
_FRONT_MATTER = "---\n"


class JinjaTemplate(FlowDocument):
    """A template that was parsed."""

    def candidates(self, flow: Flow) -> Iterable[Fix]:
        """Its line to the end, in a template for one text: one that writes a conversation has its own order."""
        return in_template(self.text, _parse(self.text), flow.row)

    def reread(self, text: str) -> tuple[Flow, ...] | None:
        """The flows of another template."""
        document = _document(self.filename, text.encode("utf-8", "surrogatepass"))
        return document.flows if isinstance(document, JinjaTemplate) else None


def read(filename: str, file: BinaryIO) -> Iterator[Document]:
    """The template in a file, or why it could not be read."""
    raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield NotInspected(filename, "a template of more than 1 MB")
        return
    yield _document(filename, raw)


def _document(filename: str, raw: bytes) -> Document:
    try:
        text = raw.decode("utf-8-sig")
        tree = _parse(text)
        if chat_template.is_chat_template(filename, tree):
            return chat_template.judged(filename, text, text)
        if not _is_prompt(filename, text):
            return NotInspected(filename, "a template of something else than a prompt")
        flows = (*flows_of(list(_Walk(text).pieces(tree))), *space_flows(tree, text))
        return JinjaTemplate(filename, text, tuple(sorted(flows, key=lambda flow: (flow.row, flow.column))))
    except UnicodeDecodeError as error:
        return Unreadable(
            filename, f"no UTF-8 at byte {error.start}", Location(raw.count(b"\n", 0, error.start) + 1, 1)
        )
    except TemplateSyntaxError as error:
        return Unreadable(filename, f"no Jinja template: {error.message}", Location(error.lineno, 1))
    except RecursionError:
        return NotInspected(filename, "nested too deeply to follow")


def _parse(text: str) -> nodes.Template:
    return Environment(autoescape=False, extensions=[*EXTENSIONS, "jinja2.ext.do"]).parse(text)  # noqa: S701


def _is_prompt(filename: str, text: str) -> bool:
    """Whether a template may be one of prompts: not when it makes HTML, code or a page of a site, or has another kind
    of file in its name."""
    path = PurePath(filename.lower())
    if _PROMPT.search("/".join(path.parts[-3:])):
        return True
    kinds = path.suffixes[:-1]
    other = _MARKUP.search(text) or text.startswith(_FRONT_MATTER) or _is_code(text)
    return not other and (not kinds or kinds[-1] in (".txt", ".prompt"))


def _is_code(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("{%")]
    code = sum(_CODE.match(line) is not None for line in lines)
    return code > 1 and code * _LEAST_CODE > len(lines)


class _Walk:
    """Writes a tree as pieces. names: what `{% set %}` gave a name."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._names: dict[str, tuple[Piece, ...]] = {}

    def pieces(self, node: nodes.Node) -> Iterator[Piece]:
        """What a node writes, in order."""
        if isinstance(node, nodes.TemplateData):
            yield Piece(chars=len(node.data.strip()))
        elif isinstance(node, nodes.Output):
            for inner in node.nodes:
                yield from self.pieces(inner)
        elif isinstance(node, nodes.Assign):
            if isinstance(node.target, nodes.Name):
                self._names[node.target.name] = self._kept(node.node)
        elif isinstance(node, nodes.Expr):
            yield from self.expression(node)
        elif isinstance(node, nodes.For):
            yield from self._loop(node)
        elif isinstance(node, nodes.If):
            for branch in (*node.body, *node.elif_, *node.else_):
                yield from self.pieces(branch)
        else:
            for child in node.iter_child_nodes():
                if isinstance(child, nodes.Stmt | nodes.Output | nodes.TemplateData):
                    yield from self.pieces(child)

    def _loop(self, node: nodes.For) -> Iterator[Piece]:
        yield from (piece for piece in self.expression(node.iter) if piece.kind not in ("", "variable"))
        mapping = list(self._unordered(node.iter))
        yield from mapping
        items = (Piece(),) if mapping else self._kept(node.iter)
        for target in node.target.find_all(nodes.Name) if not isinstance(node.target, nodes.Name) else [node.target]:
            self._names[target.name] = items
        for inner in node.body:
            yield from self.pieces(inner)

    def _unordered(self, walked: nodes.Node) -> Iterator[Piece]:
        """A mapping that is walked as it is."""
        callee = walked.node if isinstance(walked, nodes.Call) else None
        if isinstance(callee, nodes.Getattr) and callee.attr in _VIEWS and isinstance(callee.node, nodes.Name):
            label = f"{callee.node.name}.{callee.attr}()"
            yield self._piece("mapping", label, callee.node.name, walked)

    def expression(self, node: nodes.Node) -> Iterator[Piece]:
        """The changing parts of an expression."""
        if isinstance(node, nodes.Const):
            yield Piece(chars=len(str(node.value)))
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in _CLOCKS:
            yield self._piece(_clock(node), f"{node.node.name}()", node.node.name, node)
        elif isinstance(node, nodes.Filter) and node.name in ("random", "shuffle"):
            yield self._piece("sampled" if node.name == "random" else "shuffled", f"|{node.name}", node.name, node)
        elif isinstance(node, nodes.Name):
            yield from self._names.get(node.name) or [self._piece("variable", node.name, node.name, node)]
        elif isinstance(node, nodes.Getattr | nodes.Getitem):
            yield from self._member(node)
        elif isinstance(node, nodes.CondExpr):
            yield from self.expression(node.expr1)
            if node.expr2 is not None:
                yield from self.expression(node.expr2)
        elif isinstance(node, nodes.Test | nodes.Compare | nodes.Not):
            return
        else:
            for child in node.iter_child_nodes():
                if isinstance(child, nodes.Expr):
                    yield from self.expression(child)

    def _member(self, node: nodes.Getattr | nodes.Getitem) -> Iterator[Piece]:
        key = node.attr if isinstance(node, nodes.Getattr) else ""
        for piece in self.expression(node.node):
            label = f"{piece.label}.{key}" if key and piece.kind == "variable" else piece.label
            column = self._column(label, piece.row) if piece.kind == "variable" else 0
            yield Piece(piece.kind, label, piece.row, column or piece.column, piece.chars)

    def _kept(self, node: nodes.Node) -> tuple[Piece, ...]:
        return tuple(itertools.islice(self.expression(node), MAX_PIECES))

    def _piece(self, kind: str, label: str, word: str, node: nodes.Node) -> Piece:
        return Piece(kind, label, node.lineno, self._column(word, node.lineno) or 1)

    def _column(self, word: str, row: int) -> int:
        line = self._lines[row - 1] if 0 < row <= len(self._lines) else ""
        found = re.search(rf"(?<![\w.]){re.escape(word)}\b", line)
        return found.start() + 1 if found else 0


def _clock(node: nodes.Call) -> str:
    spec = node.args[0].value if node.args and isinstance(node.args[0], nodes.Const) else None
    return "date" if isinstance(spec, str) and "%" in spec and not _SUB_DAY.search(spec) else "clock"


SOURCE = Source("jinja", (".j2", ".jinja", ".jinja2"), read)
