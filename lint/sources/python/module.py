"""One parsed module as the data flow sees it: what its names import, its functions and classes, who calls whom."""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass, field
from typing import Any

from lint.call_sites import Sites
from lint.fixes.tree import NODE_FIELDS
from lint.sources.python.origins import CALLS, METHODS, RETRIEVES

Function = ast.FunctionDef | ast.AsyncFunctionDef

SITE_WORDS = frozenset(
    """create parse stream completion acompletion completions responses generate_content invoke ainvoke
    astream batch abatch post request SystemMessage ChatMessage from_messages from_template from_string
    system gen chat achat complete acomplete stream_chat""".split()
)
"""Last words of the calls that may hand over a prompt; a function without one of them is not looked into."""

_PROMPTS = re.compile(r"prompt|instruction|system_|preamble|['\"]role['\"]|\brole=", re.IGNORECASE)
_SPEAKS = re.compile(r"prompt|instructions|messages|system|\binput\b", re.IGNORECASE)
"""A module without any of these hands no prompt to anyone."""
_A_SET, _A_TAIL = "{a set}", "[a tail:]"
_ORIGINS = frozenset(name.rpartition(".")[2] for name in (*CALLS, *METHODS)) | {_A_SET, _A_TAIL}
_SYNTAX = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
_LEAVES = frozenset({ast.Name, ast.Constant, ast.Pass, int, str, float, bytes, bool, type(None)}).union(
    *(kind.__subclasses__() for kind in _SYNTAX)
)
"""What has nothing to find inside."""


@dataclass(slots=True)
class Module:
    """text: its source. sites: call sites that its project declares. imports: local name to dotted name. functions:
    by name, methods by `Class.name`. calls: last words of what each of them calls. changing: names of the module that
    something changing is assigned to."""

    tree: ast.Module
    text: str = ""
    sites: Sites = ()
    imports: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)
    changing: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, tree: ast.Module, text: str, sites: Sites = ()) -> Module:
        """Index a tree. text: its source."""
        module = cls(tree, text, sites)
        for statement in tree.body:
            if isinstance(statement, Function):
                module.functions[statement.name] = statement
                module.calls[statement.name] = module._scan(statement)
            elif isinstance(statement, ast.ClassDef):
                module._class(statement)
            elif module._scan(statement) & _ORIGINS:
                names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
                module.changing |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        return module

    def _scan(self, root: ast.stmt) -> set[str]:
        """The last words of everything called inside; imports are noted on the way."""
        called: set[str] = set()
        waiting: list[Any] = [root]
        while waiting:
            node = waiting.pop()
            kind = type(node)
            if kind in _LEAVES:
                continue
            if kind is ast.Import or kind is ast.ImportFrom:
                self._import(node)
                continue
            if kind is ast.Call:
                callee = node.func
                called.add(getattr(callee, "attr", "") or getattr(callee, "id", ""))
            elif kind is ast.Set or kind is ast.SetComp:
                called.add(_A_SET)
            elif kind is ast.Slice and node.upper is None and node.lower is not None:
                called.add(_A_TAIL)
            for name in NODE_FIELDS[kind]:
                value = getattr(node, name)
                if type(value) is list:
                    waiting += value
                else:
                    waiting.append(value)
        return called

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                self.imports[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
            elif alias.asname:
                self.imports[alias.asname] = alias.name
            else:
                top = alias.name.partition(".")[0]
                self.imports[top] = top

    def _class(self, statement: ast.ClassDef) -> None:
        self.classes[statement.name] = statement
        for inner in statement.body:
            if isinstance(inner, Function):
                name = f"{statement.name}.{inner.name}"
                self.functions[name] = inner
                self.calls[name] = self._scan(inner)
            else:
                self._scan(inner)

    def roots(self) -> list[str]:
        """Functions that may reach a call site, those that no other such function calls first."""
        reaching = self._reaching()
        called = {
            self._simple(name) for caller in reaching for name in self.calls[caller] if name != self._simple(caller)
        }
        return sorted(reaching, key=lambda name: (self._simple(name) in called, self.functions[name].lineno))

    def _reaching(self) -> set[str]:
        own = {site.callee.rpartition(".")[2] for site in self.sites}
        if not own and not _SPEAKS.search(self.text):
            return set()
        sites = {name for name, called in self.calls.items() if called & (SITE_WORDS | own)}
        return self._callers(sites) | self._writers()

    def _writers(self) -> set[str]:
        """Functions whose text speaks of prompts and in which, or in what they call, something changes."""
        origins = _ORIGINS | RETRIEVES if "retriev" in self.text else _ORIGINS
        lines = self.text.split("\n")
        bodies = {n: "\n".join(lines[_first(node) - 1 : node.end_lineno]) for n, node in self.functions.items()}
        named = re.compile(rf"\b(?:{'|'.join(map(re.escape, self.changing))})\b") if self.changing else None
        own = {
            name for name, called in self.calls.items() if called & origins or (named and named.search(bodies[name]))
        }
        owners = {name.rpartition(".")[0] for name in own if name.endswith(".__init__")}
        own |= {name for name in self.calls if name.rpartition(".")[0] in owners}
        return {name for name in self._callers(own) if _PROMPTS.search(bodies[name])}

    def _callers(self, functions: set[str]) -> set[str]:
        """These functions and all that call them, however far."""
        reaching = set(functions)
        while True:
            simple = {self._simple(name) for name in reaching}
            more = {name for name, called in self.calls.items() if name not in reaching and called & simple}
            if not more:
                return reaching
            reaching |= more

    def is_plain(self, name: str) -> bool:
        """Whether objects of a class of the module print their address: no text of its own, nothing inherited."""
        node = self.classes.get(name)
        if node is None or node.decorator_list or node.keywords:
            return False
        bases = [getattr(base, "id", "") for base in node.bases]
        own = any(f"{name}.{method}" in self.functions for method in ("__str__", "__repr__", "__format__"))
        return not own and all(base == "object" or (base != name and self.is_plain(base)) for base in bases)

    @staticmethod
    def _simple(name: str) -> str:
        return name.rpartition(".")[2]


def _first(node: Function) -> int:
    """The first line of a function with its decorators."""
    return min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)


@functools.lru_cache(maxsize=256)
def chain(node: ast.expr) -> str:
    """The dotted words of a callee, "()" for what is itself a call: `().chat.completions.create`."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    words.append(node.id if isinstance(node, ast.Name) else "()")
    return ".".join(reversed(words))
