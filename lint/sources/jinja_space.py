"""White space of Jinja blocks: without `-` a block leaves its own line ends in the text, often nothing else.

Two things make one template two prompts. A block of which every case writes the same words, and only other blanks
(`blank`): what stands behind it is cold for nothing. And an optional block on lines of its own (`trim`): where it is
left out a blank line stays, or none, by the `trim_blocks` of who renders it (Jinja's default is off, transformers and
vLLM switch it on). https://jinja.palletsprojects.com/en/stable/templates/#whitespace-control
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jinja2 import nodes

from lint.sources.flow import CHARS_PER_TOKEN, PAGE_TOKENS, Flow

_SILENT: Final = (nodes.Assign, nodes.AssignBlock, nodes.Macro, nodes.Import, nodes.FromImport, nodes.ExprStmt)
_TAG: Final = re.compile(r"\{%[-+]?\s*(?:if|for)\b")
_OWN_LINE: Final = re.compile(r"(?:\A|\n)[ \t]*\Z")
_LINE_LEFT: Final = re.compile(r"[ \t]*\n")


def space_flows(tree: nodes.Template, text: str) -> tuple[Flow, ...]:
    """Every block that writes blanks alone, and the first optional one whose blank line depends on who renders it."""
    found: list[tuple[str, nodes.If | nodes.For, int]] = []
    total = _walk(tree.body, 0, found)
    lines = text.split("\n")
    flows = [_flow(kind, node, (total - before) // CHARS_PER_TOKEN, lines) for kind, node, before in found]
    costly = [flow for flow in flows if flow.tokens >= PAGE_TOKENS]
    trims = [flow for flow in costly if flow.kind == "trim"][:1]
    return (*(flow for flow in costly if flow.kind == "blank"), *trims)


def _flow(kind: str, node: nodes.If | nodes.For, tokens: int, lines: Sequence[str]) -> Flow:
    line = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
    tag = _TAG.search(line)
    label = "{% for %}" if isinstance(node, nodes.For) else "{% if %}"
    return Flow(kind, label, node.lineno, tag.start() + 1 if tag else 1, "", 0, "prompt", tokens, more=False)


def _walk(body: Sequence[nodes.Node], chars: int, found: list[tuple[str, nodes.If | nodes.For, int]]) -> int:
    """Note the blocks in a body, each with the characters of static text up to its end. Returns those of all."""
    for at, node in enumerate(body):
        if isinstance(node, nodes.TemplateData):
            chars += len(node.data.strip())
            continue
        chars = _walk(list(node.iter_child_nodes()), chars, found)
        if isinstance(node, nodes.If | nodes.For):
            kind = _judged(node, body[at - 1] if at else None, body[at + 1] if at + 1 < len(body) else None)
            found += [(kind, node, chars)] if kind else []
    return chars


def _judged(node: nodes.If | nodes.For, before: nodes.Node | None, behind: nodes.Node | None) -> str:
    cases = _cases(node)
    if len(set(cases)) > 1 and None not in cases and len({"".join((case or "").split()) for case in cases}) == 1:
        return "blank"
    optional = isinstance(node, nodes.If) and not node.else_ and not node.elif_
    head, inside, tail = _data(before, -1), _data(node.body[0] if node.body else None, 0), _data(behind, 0)
    alone = before is None or _OWN_LINE.search(head or "-")
    return "trim" if optional and alone and _LINE_LEFT.match(inside or "") and _LINE_LEFT.match(tail or "") else ""


def _cases(node: nodes.If | nodes.For) -> list[str | None]:
    """What a block writes in each case; None is not known."""
    if isinstance(node, nodes.For):
        return [_written(node.body), _written(node.else_)]
    return [_written(node.body), *(_written(other.body) for other in node.elif_), _written(node.else_)]


def _written(body: Sequence[nodes.Node]) -> str | None:
    out = ""
    for node in body:
        if isinstance(node, nodes.Output) and all(isinstance(part, nodes.TemplateData) for part in node.nodes):
            out += "".join(part.data for part in node.nodes if isinstance(part, nodes.TemplateData))
        elif not isinstance(node, _SILENT):
            return None
    return out


def _data(node: nodes.Node | None, at: int) -> str | None:
    """The static text at an end of what is written beside a block."""
    part = node.nodes[at] if isinstance(node, nodes.Output) and node.nodes else None
    return part.data if isinstance(part, nodes.TemplateData) else None
