"""One parsed module as the data flow sees it: what its names import, its functions and classes, who calls whom."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef

SITE_WORDS = frozenset(
    """create parse stream completion acompletion completions responses generate_content invoke ainvoke
    astream batch abatch post request SystemMessage ChatMessage from_messages from_template from_string
    system gen chat achat complete acomplete stream_chat""".split()
)
"""Last words of the calls that may hand over a prompt; a function without one of them is not looked into."""

_PROMPTS = re.compile(r"prompt|instruction|system_|preamble|['\"]role['\"]|\brole=", re.IGNORECASE)
_CHANGES = re.compile(
    r"datetime|\btime\b|\bdate\b|arrow|pendulum|uuid|random|secrets|urandom|cwd|hostname|getpid|shuffle|sample|"
    r"\bset\(|listdir|glob|iterdir|scandir|as_completed|subprocess|popen|presigned|signed_url|retriev|similarity|\[-"
)
"""Something that is certain to change has one of these in its name."""
_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator)


@dataclass(slots=True)
class Module:
    """lines: of the source, none when nothing in it is certain to change. imports: local name to dotted name.
    functions: by name, methods by `Class.name`. calls: last words of what each of them calls."""

    tree: ast.Module
    lines: list[str] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.Module, text: str) -> Module:
        """Index a tree. text: its source."""
        module = cls(tree, text.split("\n") if _CHANGES.search(text) else [])
        for statement in tree.body:
            if isinstance(statement, Function):
                module.functions[statement.name] = statement
                module.calls[statement.name] = module._scan(statement)
            elif isinstance(statement, ast.ClassDef):
                module._class(statement)
            else:
                module._scan(statement)
        return module

    def _scan(self, root: ast.stmt) -> set[str]:
        """The last words of everything called inside; imports are noted on the way."""
        called: set[str] = set()
        waiting: list[ast.AST] = [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
                continue
            if isinstance(node, ast.Call):
                callee = node.func
                called.add(getattr(callee, "attr", "") or getattr(callee, "id", ""))
            for value in node.__dict__.values():
                if isinstance(value, list):
                    waiting += [inner for inner in value if isinstance(inner, ast.AST)]
                elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
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
        reaching = {name for name, called in self.calls.items() if called & SITE_WORDS or self._writes_prompts(name)}
        while True:
            simple = {self._simple(name) for name in reaching}
            more = {name for name, called in self.calls.items() if name not in reaching and called & simple}
            if not more:
                return reaching
            reaching |= more

    def _writes_prompts(self, name: str) -> bool:
        """Whether a function's text speaks of prompts, in a module in which something changes."""
        node = self.functions[name]
        first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
        return any(_PROMPTS.search(line) for line in self.lines[first - 1 : node.end_lineno])

    @staticmethod
    def _simple(name: str) -> str:
        return name.rpartition(".")[2]


def chain(node: ast.expr) -> str:
    """The dotted words of a callee, "()" for what is itself a call: `().chat.completions.create`."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    words.append(node.id if isinstance(node, ast.Name) else "()")
    return ".".join(reversed(words))
