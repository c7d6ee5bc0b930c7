"""The pages of docs/rules, made from the rules: `python -m lint.docs` writes them, a test checks them."""

import sys
from pathlib import Path
from typing import Final

from lint.registry import rules
from lint.rule import Example, Rule

FOLDER: Final = Path(__file__).parents[1] / "docs" / "rules"
_LONGEST: Final = 160
_LINES: Final = 12
_KINDS: Final = {
    "Traffic": "traffic",
    "RequestBody": "request bodies",
    "FlowDocument": "source",
    "PromptText": "prompt texts",
    "UnusedSuppressions": "source",
    "ChatTemplate": "chat templates",
    "Unreadable": "all input",
    "NotInspected": "all input",
}


def page(rule: Rule) -> str:
    """The documentation of one rule, as Markdown."""
    return "\n".join(
        [
            f"# {rule.name} ({rule.code})",
            "",
            f"{rule.summary} Severity: {rule.severity}. Since {rule.since}. Judges: {_judged(rule)}.{_needs(rule)}",
            "",
            "## Why it breaks the cache",
            "",
            rule.why,
            "",
            "## What to do instead",
            "",
            rule.instead,
            "",
            *_mending(rule),
            "## Bad",
            "",
            *_example(rule.bad[0]),
            "",
            "## Good",
            "",
            *_example(rule.good[0]),
            "",
        ]
    )


def fix_of(rule: Rule) -> str:
    """How its findings are mended: safe, unsafe, or none."""
    return rule.fix or "none"


def _mending(rule: Rule) -> list[str]:
    options = {"safe": "`--fix`", "unsafe": "`--fix --unsafe-fixes`"}
    lines = [f"Fix in source: {rule.fix}, with {options[rule.fix]}.", ""] if rule.fix in options else []
    if rule.gateway:
        settings = [f"    {line}" for line in rule.gateway.splitlines()]
        lines += ["In the gateway, for the route:", "", "```yaml", "routes:", "  NAME:", *settings, "```", ""]
    return lines


def index() -> str:
    """The list of all rules, as Markdown."""
    head = ["# Rules", "", "Made from `lint/rules` by `python -m lint.docs`.", ""]
    rows = ["| code | name | severity | fix | what |", "|---|---|---|---|---|"]
    rows += [
        f"| {r.code} | [{r.name}]({r.name}.md) | {r.severity} | {fix_of(r)} | {r.summary} |" for r in rules().values()
    ]
    return "\n".join([*head, *rows, ""])


def pages() -> dict[str, str]:
    """All pages by file name."""
    return {"README.md": index()} | {f"{rule.name}.md": page(rule) for rule in rules().values()}


def _judged(rule: Rule) -> str:
    return ", ".join(dict.fromkeys(_KINDS.get(kind, kind) for kind in rule.judges))


def _needs(rule: Rule) -> str:
    return f" Needs {', '.join(rule.needs)} in the log, and says nothing without." if rule.needs else ""


def _example(example: Example) -> list[str]:
    lines = example.text.splitlines()
    shown = [line if len(line) <= _LONGEST else line[:_LONGEST] + "…" for line in lines[:_LINES]]
    more = ["…"] if len(lines) > _LINES else []
    return [f"`{example.filename}`:", "", "```", *shown, *more, "```"]


def main() -> None:
    """Write the pages, and remove those of rules that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = pages()
    for file in FOLDER.glob("*.md"):
        if file.name not in made:
            file.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(made)} pages in {FOLDER}\n")


if __name__ == "__main__":
    main()
