"""lint.fixes.order, move, strip and literals: edits of Python source, in the spellings that people use."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint.fixes.edits import apply, compatible
from lint.fixes.literals import holes, literals
from lint.linter import lint_text
from lint.rule import Edit, Fix

HEAD = """import asyncio, glob, json, os, time, uuid
from datetime import datetime
from pathlib import Path

POLICY = 'Follow the policy. ' * 400
NAMES = {'a', 'b'}


def ask(client, user, q, docs, s3):
"""
CALL = """    client.chat.completions.create(
        model='m', messages=[{'role': 'system', 'content': text}, {'role': 'user', 'content': q}])
"""


def fixed(line: str, code: str) -> str | None:
    """The lines ahead of the call, after the fix of the only finding of a rule in them; None without one."""
    text = HEAD + "".join(f"    {part}\n" for part in line.splitlines()) + CALL
    findings = [finding for finding in lint_text("app.py", text) if finding.code == code]
    fixes = [finding.fix for finding in findings if finding.fix]
    if not fixes:
        return None
    new = apply(text, fixes[0].edits)
    return "\n".join(part[4:] for part in new[len(HEAD) : -len(CALL)].splitlines())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("text = json.dumps(user)", "text = json.dumps(user, sort_keys=True)"),
        ("text = json.dumps(user,)", "text = json.dumps(user, sort_keys=True,)"),
        ("text = json.dumps((user))", "text = json.dumps((user), sort_keys=True)"),
        ("text = json.dumps(user, sort_keys=False)", "text = json.dumps(user, sort_keys=True)"),
        ("text = json.dumps(obj=user)", None),
        ("text = json.dumps(user).strip()", "text = json.dumps(user, sort_keys=True).strip()"),
        ("text = json.dumps(\n    user,  # it\n)", "text = json.dumps(\n    user, sort_keys=True,  # it\n)"),
        ("text = json.dumps(\n    user  # it\n)", "text = json.dumps(\n    user, sort_keys=True  # it\n)"),
        ("text = f'Ü {json.dumps(user)}'", "text = f'Ü {json.dumps(user, sort_keys=True)}'"),
        ("text = json.dumps(user, **q)", None),
        ("text = json.dumps(user, sort_keys=q)", None),
    ],
)
def test_sort_keys(before: str, after: str | None) -> None:
    """One more argument, however the call is written; none where it cannot be known to be missing."""
    assert fixed(before, "PC303") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("text = ', '.join(NAMES)", "text = ', '.join(sorted(NAMES))"),
        ("text = ''.join(n for n in set(docs))", "text = ''.join(n for n in sorted(set(docs)))"),
        ("text = ''.join({d for d in docs})", "text = ''.join(sorted({d for d in docs}))"),
        ("text = ''.join([*set(docs)])", "text = ''.join([*sorted(set(docs))])"),
        (
            "text = ''\nfor n in os.listdir('x'):\n    text += n",
            "text = ''\nfor n in sorted(os.listdir('x')):\n    text += n",
        ),
        ("text = ''.join(glob.glob('*.md'))", "text = ''.join(sorted(glob.glob('*.md')))"),
        (
            "text = ''.join(p.read_text() for p in Path('x').iterdir())",
            "text = ''.join(p.read_text() for p in sorted(Path('x').iterdir()))",
        ),
        (
            "text = ''.join(e.name for e in os.scandir('x'))",
            "text = ''.join(e.name for e in sorted(os.scandir('x'), key=lambda entry: entry.name))",
        ),
        ("names = set(docs)\ntext = ''.join(names)", "names = set(docs)\ntext = ''.join(sorted(names))"),
        ("names = set(docs)\nnames = names | {q}\ntext = ''.join(names)", None),
        ("text = ''.join(f.result() for f in asyncio.as_completed(docs))", None),
        ("sorted = reversed\ntext = ''.join(set(docs))", None),
    ],
)
def test_sorted(before: str, after: str | None) -> None:
    """Around what is walked over, at the set or at its one name; not where it cannot be sorted."""
    assert fixed(before, "PC305") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("text = f'Now: {time.time()}. {POLICY}'", "text = f'{POLICY}\\nNow: {time.time()}.'"),
        ('text = f"Now: {time.time()}\\n{POLICY}\\n"', 'text = f"{POLICY}\\nNow: {time.time()}\\n"'),
        ("text = f'Be kind. Now: {time.time()}. {POLICY}'", "text = f'Be kind. {POLICY}\\nNow: {time.time()}.'"),
        (
            "text = (f'Now: {time.time()}\\n'\n        f'{POLICY}')",
            "text = (f''\n        f'{POLICY}\\nNow: {time.time()}')",
        ),
        ("text = f'Now: {time.time()}. ' + POLICY", "text = POLICY + f'\\nNow: {time.time()}. '"),
        (
            "text = 'Now: ' + str(time.time()) + '\\n' + POLICY",
            "text = POLICY + '\\nNow: ' + str(time.time()) + '\\n'",
        ),
        ("now = time.time()\ntext = f'{now} {POLICY}'", None),
        (
            "now = str(time.time())\nhead = 'Now ' + now\ntext = head + POLICY",
            "now = str(time.time())\nhead = 'Now ' + now\ntext = POLICY + \"\\n\" + head",
        ),
        ("now = time.time()\nprint(now)\ntext = f'Now: {now}. {POLICY}'", None),
        ("text = '{} {}'.format(time.time(), POLICY)", None),
        ("text = POLICY + f'{time.time()}'", None),
        (
            "text = f'Now: {time.time()}. Be kind. ' + POLICY",
            "text = f'Be kind. ' + POLICY + f'\\nNow: {time.time()}.'",
        ),
        (
            "text = (f'Now: {time.time()}\\nBe kind.' + ('a' if q else 'b') + POLICY)",
            "text = (f'Be kind.' + ('a' if q else 'b') + POLICY + f'\\nNow: {time.time()}')",
        ),
    ],
)
def test_move(before: str, after: str | None) -> None:
    """The sentence or operands with the value go behind the static text; where that is not sure, nothing does."""
    assert fixed(before, "PC101") == after


TOOLS = "[{'type': 'function', 'function': {'name': 'b'}}, {'type': 'function', 'function': {'name': 'a'}}]"
NAMED = "[{'name': 'b', 'input_schema': {}}, {'name': 'a', 'input_schema': {}}]"


@pytest.mark.parametrize(
    ("made", "after"),
    [
        (f"tools = {TOOLS}", 'tools.sort(key=lambda tool: tool["function"]["name"])'),
        (f"tools = {NAMED}", 'tools.sort(key=lambda tool: tool["name"])'),
        (f"every = {NAMED}\ntools = list(every)", 'tools.sort(key=lambda tool: tool["name"])'),
        ("tools = registry.tools()", None),
        (f"tools = {NAMED[:-1]}, other]", None),
        (f"tools = {NAMED}\ntools = tools + docs", None),
    ],
)
def test_tools(made: str, after: str | None) -> None:
    """A shuffle becomes a sort by name, where all tools are seen to have one."""
    lines = "".join(f"    {line}\n" for line in [*made.splitlines(), "random.shuffle(tools)"])
    call = "    client.chat.completions.create(model='m', messages=[], tools=tools)\n"
    text = f"import random\n\n\ndef ask(client, docs, other, registry):\n{lines}{call}"
    found = [finding.fix for finding in lint_text("app.py", text) if finding.code == "PC401" and finding.fix]
    assert [apply(text, fix.edits) for fix in found] == (
        [text.replace("random.shuffle(tools)", after)] if after else []
    )


def test_signature() -> None:
    """Cut off at the question mark."""
    line = "text = s3.generate_presigned_url('x') + POLICY"
    assert fixed(line, "PC701") == "text = s3.generate_presigned_url('x').partition(\"?\")[0] + POLICY"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f'{a}b{c!r:>{w}}'", ["{a}", "{c!r:>{w}}"]),
        ("f'{{no}} {x[\"k\"]} {d:%H:%M}'", ['{x["k"]}', "{d:%H:%M}"]),
        ("f'''{\na}''' 'plain {no}' f\"{b}\"", ["{\na}", "{b}"]),
        ("rf'\\{a}' F'{b:\">3}'", None),
        ("f'{ {1: 2}[1] }' # c\n f'{b}'", ["{ {1: 2}[1] }", "{b}"]),
        ("b'x'", None),
        ("name", None),
        ("f'{a", None),
    ],
)
def test_literals(text: str, expected: list[str] | None) -> None:
    """Holes are found as Python finds them; what is no string literal is nothing."""
    found = literals(text, 0, len(text))
    if expected is not None:
        assert found is not None
        assert [text[x.runs[at].start : x.runs[at].end] for x, at in holes(found)] == expected
    elif text[0] in "bn" or text == "f'{a":
        assert found is None


_RUNS = st.sampled_from(
    [
        "a",
        " ",
        ". ",
        "{{",
        "}}",
        "{x}",
        "{x!r}",
        "{x:>{w}}",
        "{x:%H:%M}",
        "{d[1]}",
        "{f({1: 2})}",
        "\\n",
        "\\\\",
        ": ",
        "#",
    ]
)
_LITERALS = st.lists(
    st.tuples(st.sampled_from(["f", "F", "", "rf"]), st.sampled_from(["'", '"', "'''"]), st.lists(_RUNS))
)


@given(_LITERALS)
def test_holes_are_those_that_python_sees(parts: list[tuple[str, str, list[str]]]) -> None:
    """For any literals one behind the other: as many holes as there are formatted values, and the same ones."""
    text = " ".join(f"{prefix}{quote}{''.join(runs)}{quote}" for prefix, quote, runs in parts)
    try:
        tree = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return
    if isinstance(tree, ast.JoinedStr):
        found = literals(text, 0, len(text))
        assert found is not None
        values = [part for part in tree.values if isinstance(part, ast.FormattedValue)]
        written = [text[x.runs[at].start : x.runs[at].end] for x, at in holes(found)]
        assert len(written) == len(values)
        for value, hole in zip(values, written, strict=True):
            again = next(n for n in ast.walk(ast.parse(f'f"""{hole}"""')) if isinstance(n, ast.FormattedValue))
            assert ast.dump(again) == ast.dump(value)


@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.text(max_size=3))))
def test_compatible_edits_touch_nothing_twice(text: str, edits: list[tuple[int, int, str]]) -> None:
    """Those chosen can be applied in any order, and the text is as much longer as all of them make it."""
    cut = [Edit(min(a, b, len(text)), min(max(a, b), len(text)), content) for a, b, content in edits]
    chosen = [fix.edits[0] for fix in compatible([Fix("safe", (edit,)) for edit in cut])]
    assert bool(chosen) == bool(cut)
    assert len(apply(text, chosen)) == len(text) + sum(len(e.content) - (e.end - e.start) for e in chosen)
    assert apply(text, chosen) == apply(text, chosen[::-1])
