"""lint.fixes.lines: lines of templates and prompt files that go behind the static text."""

import pytest

from lint.fixes.edits import apply
from lint.linter import lint_text

RULES = "Refunds are allowed within thirty days of delivery for items that still carry their tags.\n" * 4


def fixed(name: str, text: str) -> str | None:
    """The text after the fix of its only finding of a clock; None without one."""
    (finding,) = [finding for finding in lint_text(name, text) if finding.code == "PC101"]
    return apply(text, finding.fix.edits) if finding.fix else None


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (f"Now {{{{ now() }}}}.\n{RULES}", f"{RULES}Now {{{{ now() }}}}.\n"),
        (f"Be kind.\nNow {{{{ now() }}}}.\n{RULES}", f"Be kind.\n{RULES}Now {{{{ now() }}}}.\n"),
        (f"Now {{{{ now() }}}}.\n{RULES.rstrip()}", f"{RULES}Now {{{{ now() }}}}."),
        (f"Now {{{{ now() }}}}.\n{RULES}\n\n", f"{RULES}Now {{{{ now() }}}}.\n\n\n"),
        (f"Now {{{{ now() }}}}. {RULES}", None),
        (f"{{% if x %}}\nNow {{{{ now() }}}}.\n{{% endif %}}\n{RULES}", None),
        (f"{{% if x %}}Now {{{{ now() }}}}.{{% endif %}}\n{RULES}", None),
        (f"Now {{{{\n now() }}}}.\n{RULES}", None),
        (f"{{# why #}}Now {{{{ now() }}}}.\n{RULES}", None),
        (f"Now {{{{ now() }}}}.\n{RULES}{{% for m in messages %}}{{{{ m.content }}}}{{% endfor %}}", None),
    ],
)
def test_templates(text: str, after: str | None) -> None:
    """A line of text and whole expressions, outside of blocks, in a template for one text; no other."""
    assert fixed("a.j2", text) == after


def block(style: str, first: str, rest: str = RULES, *, end: str = "") -> str:
    lines = "".join(f"  {line}\n" for line in (first + rest).splitlines())
    return f"system: {style}\n{lines}{end}"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (block("|", "Now {time}\n"), block("|", RULES, "Now {time}\n")),
        (block("|-", "Now {time}\n", end="x: y\n"), block("|-", RULES, "Now {time}\n", end="x: y\n")),
        (block("|", "Now {time}\n", end="\n\nx: y\n"), block("|", RULES, "Now {time}\n", end="\n\nx: y\n")),
        (block(">", "Now {time}\n"), None),
        (f"system: 'Now {{time}} {RULES.rstrip()}'\n".replace("\n", "\n  ").rstrip() + "\n", None),
    ],
)
def test_prompt_files(text: str, after: str | None) -> None:
    """A line of a literal block, to the end of the block; in other styles lines are not the lines of the prompt."""
    assert fixed("prompt.yaml", text.replace("{time}", "{timestamp}")) == (
        after and after.replace("{time}", "{timestamp}")
    )
