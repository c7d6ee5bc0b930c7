"""The state of a working copy: branch, changed files, last commits.

Read line by line: a line that can only be git's opens a block, lines that look like git's output (porcelain status,
`abc1234 subject`) continue it, and a heading ("Repo state:") belongs to it when a git line follows. The whole block
is one span, because the next request has more or fewer lines of it.
"""

import re
from collections.abc import Iterator

from prefix.volatile.span import VolatileSpan

_HINTS = ("git", "branch", "commit", "repo", "status", "head")
_HEADING = re.compile(
    r"[#*\s<-]{0,8}(?:git ?status|git (?:state|info|context)|repo(?:sitory)? (?:state|status|info)"
    r"|working (?:tree|copy)(?: status)?|(?:recent|last|latest) commits?|status|changes"
    r"|modified files|changed files)\b"
    r"[^\n:>]{0,60}[:>][^\n]{0,240}",
    re.IGNORECASE,
)
_CERTAIN = re.compile(
    r"\s{0,8}(?:[*#-]{1,3} )?(?:"
    r"(?:(?:on|current|git|active) )*branch(?: name)?[\s:=\"*`]{1,4}"
    r"(?!(?:is|of|to|for|and|from)\b)[\w./-]+[\"*`]{0,3}(?:\s*$|,? [(\[@])"
    r"|(?:git ?status|git state|working tree|repo(?:sitory)? (?:state|status))[:=]\s?"
    r"(?:[0-9]|clean|dirty|modified|ahead|behind)"
    r"|[^\n=]{0,60}\b(?:branch|commit)=[\w./-]+|repo(?:sitory)?: ?\S{1,80} ?@ ?[0-9a-f]{7,40}\b"
    r"|## [\w./-]+\.\.\.[\w./-]+|main branch[^\n:]{0,60}: *[\w./-]+\s*$"
    r"|head(?: is|:| detached at| commit:?)\s+(?:at )?[0-9a-f]{7,40}\b"
    r"|(?:(?:git|head|last|latest|current) )?commit(?: hash| sha)?[: =`\"]{1,3}[0-9a-f]{7,40}\b"
    r"|(?:modified|new file|deleted|renamed|both modified):\s+\S|changes (?:not staged|to be committed)"
    r"|untracked files|nothing to commit|your branch is |working tree clean)",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"(?: [MADRCUT]|[MADRCUT][ MADRCUT]|\?\?|!!) \S|[MADRCU] [\w./-]+\s*$"
    r"|[*-]? ?[0-9a-f]{7,40}\s+(?:\([^)\n]*\) )?\S|\((?:clean|no changes|none)\)|clean\s*$"
)


def find_git_state(text: str) -> Iterator[VolatileSpan]:
    """Spans of kind git_state, in order."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return
    start = end = -1
    proven = False
    at = 0
    for line in text.splitlines(keepends=True):
        certain = _CERTAIN.match(line) is not None
        if certain or (start >= 0 and _ITEM.match(line)) or _HEADING.match(line):
            proven = proven or certain or (start >= 0 and _ITEM.match(line) is not None)
            start = at if start < 0 else start
            end = at + len(line.rstrip())
        elif line.strip():
            if proven:
                yield VolatileSpan(start, end, "git_state", True)
            start, proven = -1, False
        at += len(line)
    if proven:
        yield VolatileSpan(start, end, "git_state", True)
