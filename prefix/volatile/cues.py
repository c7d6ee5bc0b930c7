"""What the words before a value say of it: "Now:" and "Session started" that it moves, "founded on" and "e.g." that
it is a fact.

Only the clause in which the value stands is read, at most `_REACH` characters of it, so a value costs the same in a
text of any length. The nearest cue decides: "the current API version 2023-10-16" is a version.
"""

import re

_REACH = 64
_CLAUSE_END = re.compile(r"(?<![a-z]\.[a-z])[.!?;](?=\s|$)|[。！？]|,(?=\s?[\"'][\w-]+[\"'](?::|$))")
_WORD = re.compile(r"[^\W\d_]+|©")

_FIXED = (
    "founded since born birth birthday established released release releases version versions api sdk schema "
    "spec cutoff knowledge effective until launched launch introduced deadline deadlines due valid hours open opens "
    "opening close closes closed closing copyright © moved anniversary holiday holidays example examples format "
    "formats "
    "formatted like iso rfc default defaults sample pattern regex between before after max maximum min minimum limit "
    "limits digest checksum sha placeholder if when whenever timeout timeouts duration durations interval intervals "
    "length every daily weekly schedule schedules scheduled cron law act published isbn order ref"
).split()
_FIXED_PAIRS = ("cut off", "e g", "i e", "such as", "at least", "at most", "up to", "for instance")
_MOVES = (
    "now current currently currentdate currenttime currentdatetime today tonight generated rendered requested "
    "retrieved fetched timestamp datetime epoch unix uptime "
    "heute jetzt aktuell aktuelle aktuelles aktueller aktuellen derzeit uhrzeit aujourd maintenant actuel actuelle "
    "hoy ahora actual oggi adesso hoje agora atual vandaag huidige são сегодня сейчас текущая текущее"
).split()
_MOVES_PAIRS = (
    *("the moment", "this moment", "it is", "it s", "time stamp", "date time", "nous sommes", "es ist", "il est"),
    *("son las", "sono le", "last login", "last seen", "last active", "last sync", "last refresh"),
    *(
        f"{thing} {begun}"
        for thing in ("session", "conversation", "chat", "run")
        for begun in ("started", "began", "start")
    ),
    *(
        f"{whose} {what}"
        for whose in ("local", "system", "server", "user", "s", "utc", "wall", "present")
        for what in ("date", "time", "clock")
    ),
)
_CUES = (
    dict.fromkeys(_FIXED, False)
    | dict.fromkeys(_FIXED_PAIRS, False)
    | dict.fromkeys(_MOVES, True)
    | dict.fromkeys(_MOVES_PAIRS, True)
)
_NAMES = r"(?:date|time|day|clock|ts|started|weekday|datum|heure|fecha|hora|data)"
_LABEL = re.compile(
    rf"(?:^|[\[({{<\"'|*,>#`-])\s*(?:the )?{_NAMES}(?:\s?(?:and|&|/|\+)\s?{_NAMES})?"
    r"(?:[\"'*`\s]*[:=>]| is| ist)[\s\"'*`(\[]*$"
)
_CJK = re.compile("今天|今日|现在|現在|当前|當前|目前|지금|오늘|현재|时间|時間|日期|日付|日時")


def moves(text: str, at: int) -> bool | None:
    """What stands before the value at `at` says that it moves (True), that it is fixed (False), or nothing (None)."""
    clause = _clause(text, at)
    if _LABEL.search(clause) or (not clause.isascii() and _CJK.search(clause)):
        return True
    after = ""
    for word in reversed(_WORD.findall(clause)):
        cue = _CUES.get(f"{word} {after}", _CUES.get(word))
        if cue is not None:
            return cue
        after = word
    return None


def _clause(text: str, at: int) -> str:
    """The lower-cased clause before `at`; for a value on a line of its own, the label on the line before."""
    before, _, line = text[max(0, at - _REACH) : at].lower().rpartition("\n")
    above = before.rstrip()
    if above.endswith(":") and not line.strip(" \t*_`\"'[(<-"):
        line = above.rpartition("\n")[2]
    ends = [found.end() for found in _CLAUSE_END.finditer(line)]
    return line[ends[-1] :] if ends else line
