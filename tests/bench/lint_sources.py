"""Python files for the lint benchmark: 100 of 500 lines, made of the rules' own examples, so full of findings.

    python -m tests.bench.lint_sources [FOLDER]

Writes them into a folder and stays silent; without one it lints them and prints the CPU time and how many findings
and fixes there were.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lint.registry import rules
from tests.bench.bench_lint import measured

FILES: Final = 100
LINES: Final = 500


def modules(files: int = FILES, lines: int = LINES) -> Iterator[str]:
    """Texts that parse, always the same for the same rules."""
    examples = [one for rule in rules().values() for one in (*rule.bad, *rule.good) if one.filename.endswith(".py")]
    texts = [one.text for one in examples if "from __future__" not in one.text]
    dice = random.Random(1)
    while files:
        imports: set[str] = set()
        body: list[str] = []
        while len(body) < lines:
            drawn = dice.choice(texts).splitlines()
            imports.update(line for line in drawn if line.startswith(("import ", "from ")))
            body += [f"def part_{len(body)}(request=None, user=None, history=(), **more):"]
            body += [f"    {line}" for line in drawn if line not in imports] + ["    return None", ""]
        text = "\n".join((*sorted(imports), *body)) + "\n"
        try:
            compile(text, "text", "exec", flags=0x400)  # ast.PyCF_ONLY_AST
        except SyntaxError:
            continue
        files -= 1
        yield text


def write(folder: Path) -> None:
    """One file each."""
    for number, text in enumerate(modules()):
        (folder / f"part_{number:03}.py").write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Write, or measure."""
    if arguments:
        write(Path(arguments[0]))
        return
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "tests.bench.lint_sources", name], check=True)
        options = "--isolated --exit-zero --output-format json".split()
        run = measured([sys.executable, "-m", "gateway", "lint", name, *options])
        found = json.loads(run.output)
        lines = sum(len(file.read_text().splitlines()) for file in Path(name).iterdir())
    fixes = sum(1 for finding in found if finding["fix"])
    print(f"{lines:,} lines, {len(found):,} findings, {fixes:,} fixes: {run.cpu:.2f} s of CPU, {run.peak:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
