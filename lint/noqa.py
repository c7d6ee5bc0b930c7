"""`--add-noqa`: a comment at every finding there is, so that from now on only new ones are reported.

A comment that does not do what it is for (inside a text, or where it breaks the file) is not written.
"""

from collections import defaultdict

from lint.comments import comment_place, style_of
from lint.fixes import files
from lint.fixes.edits import apply
from lint.linter import Linter, Report
from lint.rule import Edit
from lint.suppression import Directive, directives


def add_noqa(report: Report, linter: Linter) -> str:
    """Write the comments. Returns what was done, in words."""
    rows: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    left = 0
    for finding in report.findings:
        if finding.location is None or style_of(finding.filename) is None:
            left += 1
        else:
            rows[finding.filename][finding.location.row].add(finding.code)
    added = 0
    for name, codes in rows.items():
        quiet = _add(name, codes, linter)
        added += quiet
        left += sum(map(len, codes.values())) - quiet
    rest = f"; {left:,} are where no comment can be: use a baseline (--write-baseline)" if left else ""
    return f"Added comments for {added:,} findings{rest}."


def _add(filename: str, codes: dict[int, set[str]], linter: Linter) -> int:
    """How many of a file's findings are quiet now."""
    source = files.decoded(filename, files.read(filename))
    if source is None:
        return 0
    before = len(linter.text(filename, source.raw))
    held = {found.last: found for found in directives(filename, source.text) if found.verb == "noqa" and found.codes}
    text = apply(source.text, [_edit(source, row, sorted(found), held.get(row)) for row, found in codes.items()])
    after = len(linter.text(filename, source.encoded(text)))
    if after >= before:
        return 0
    files.replace(source, text)
    return before - after


def _edit(source: files.SourceText, row: int, codes: list[str], held: Directive | None) -> Edit:
    if held is not None:
        return Edit(held.end, held.end, "".join(f", {code}" for code in codes))
    opens, closes = style_of(source.filename) or ("", "")
    at = comment_place(source.filename, source.text, row)
    comment = f"{opens}noqa: {', '.join(codes)}{closes}"
    return Edit(at, at, comment if closes else f"  {comment}")
