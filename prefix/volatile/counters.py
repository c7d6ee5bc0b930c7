"""Counters that need no label: `turn 7 of 20`, `12,000 tokens left`, `you have used 12% of your budget`.

Found by their number; the words on both sides say whether it counts something that goes on.
"""

import re
from collections.abc import Iterator

from prefix.volatile.cues import moves
from prefix.volatile.span import VolatileSpan

NUMBER = r"[0-9]{1,12}(?:[.,_][0-9]{1,6}){0,4}%?"
_TALLIED = re.compile(
    rf"""[0-9](?<![\w.-][0-9])[0-9]{{0,11}}(?:[.,][0-9]{{1,6}}){{0,4}}%?
    (?: (?P<of>\ ?/\ ?|\ of\ |\ out\ of\ ){NUMBER} )?
    (?P<left>
      (?: (?:\ more)?(?:\ (?:input|output|context|api|tool))?
          \ (?:tokens?|credits?|requests?|messages?|turns?|steps?|calls?|attempts?|tries|retries
             |iterations?|rounds?|seconds|minutes|usd) )?
      (?:\ of\ (?:the\ |your\ )?(?:context|budget|quota|limit)(?:\ window)? )?
      \ (?:left|remaining|used|so\ far|spent|consumed)(?![A-Za-z]) )?""",
    re.VERBOSE,
)
_COUNTED = re.compile(
    r"""(?<![a-z])(?:
      (?P<spent> (?:have|has|already)\ (?:used|spent|consumed) )
    | (?P<current> (?:this\ is|now|on|in|current)\  )?
      (?:turn|iteration|round|message|request|query|exchange|(?P<step>attempt|step))s?(?:\ no|\ number)? )$""",
    re.VERBOSE,
)
_REACH = 32


def find_counters(text: str) -> Iterator[VolatileSpan]:
    """Spans of kind counter, in order."""
    for found in _TALLIED.finditer(text):
        before = text[max(0, found.start() - _REACH) : found.start()].rstrip(" #$.").lower()
        counted = _COUNTED.search(before) if before[-1:].isalpha() else None
        certain = _is_tally(found, counted, moves(text, found.start())) if counted or found["left"] else None
        if certain is not None:
            yield VolatileSpan(*found.span(), "counter", certain)


def _is_tally(number: re.Match[str], counted: re.Match[str] | None, cue: bool | None) -> bool | None:
    """Whether a number that counts something moves; None when it is no tally.

    Steps are numbered in instructions, too: they need a word more.
    """
    current = cue is True or (counted is not None and (counted["current"] or counted["spent"]) is not None)
    if number["left"] is None and number["of"] is None and not current:
        return None
    return current or (cue is None and (counted is None or counted["step"] is None))
