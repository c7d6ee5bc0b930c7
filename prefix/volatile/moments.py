"""Moments: dates and clocks in the forms people and programs print them.

A moment is a date, a clock, or both with glue between them ("3 March 2026, 09:14:07 AM CET"). Digits are found
first, because a text has few of them, and the words around them are read from there. Month and weekday names:
English, German, French, Spanish, Italian, Portuguese, Dutch; year-month-day with CJK signs. Forms: ISO 8601, RFC 2822
and 9110, ctime, access logs, strftime's usual ones. A clock of minutes without a date counts only where a cue says
so, and a range ("09:00-17:30") never: opening hours are facts.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from prefix.volatile.cues import moves
from prefix.volatile.span import VolatileSpan

_MONTH = (
    r"(?i:jan|gen|ene|f[eé]b|fev|fév|mar|mär|apr|avr|abr|ma[iygj]|mei|jun|juin|giu|jul|juil|lug|aug|ao[uû]|ago|sep|set"
    r"|oct|okt|out|ott|nov|dec|déc|dez|dic)[a-zäçéû]{0,7}"
)
_WEEKDAY = (
    r"(?i:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo"
    r"|luned[iì]|marted[iì]|mercoled[iì]|gioved[iì]|venerd[iì]|sabato|domenica"
    r"|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag)"
)
_CJK_WEEKDAY = r"(?:(?:星期|周|週)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일)"
_ZONE = (
    r"(?:Z|UTC|GMT|[CEW]ES?T|B?ST|[AEMCPHNI][SD]T|AK[SD]T|AE[SD]T|AC[SD]T|AWST|JST|KST|MSK|SGT|HKT|NZ[SD]T|SAST|BRT|IST"
    r"|Uhr|[A-Z][a-z]+/[A-Z][A-Za-z_]+)"
)
_OFFSET = r"[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?(?![0-9])"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_TWO_DIGIT_DAY = r"(?:3[01]|[12][0-9]|0[1-9])"
_YEAR = r"(?:19|20)[0-9]{2}(?![0-9])"
_AM_PM = r"[AaPp]\.?[Mm](?![A-Za-z])\.?"

_NUMERIC = re.compile(
    rf"""[0-9](?<![A-SU-Za-z0-9.:][0-9])(?:
      (?:(?<=1)9|(?<=2)0)[0-9]{{2}}(?:
          (?P<stamp> (?:0[1-9]|1[0-2]){_TWO_DIGIT_DAY}(?:T|[_-]?(?=[0-9]{{6}}(?:[0-9]{{3}})?(?![0-9])))
             (?:[01][0-9]|2[0-3])[0-5][0-9](?P<stamp_second> [0-5][0-9](?:[.,]?[0-9]{{3,6}})? )? )(?![0-9])
        | (?P<date> (?P<sep>[-/.])(?:1[0-2]|0?[1-9])(?P=sep){_DAY} | [년年]\ ?[0-9]{{1,2}}[월月]\ ?[0-9]{{1,2}}[일日]
             | -W[0-5][0-9](?:-[1-7])? )(?![0-9])
        | (?P<month> -(?:0[1-9]|1[0-2]) )(?![-0-9])
        | (?P<compact> (?:0[1-9]|1[0-2]){_TWO_DIGIT_DAY} )(?![0-9A-Za-z]) )
    | (?P<day_first> [0-9]?(?P<mark>[./-]){_DAY}(?P=mark){_YEAR}
        | [0-9]?(?:st|nd|rd|th|er|\.|º)?[ /-](?:of\ |de\ |di\ )?{_MONTH}[.,]{{0,2}}[ /-](?:de\ |del\ )?{_YEAR}
          (?P<log_clock> :[0-2][0-9]:[0-5][0-9]:[0-5][0-9] )? )
    | (?P<short> [0-9]?/[0-9]{{1,2}}/[0-9]{{2}} )(?![0-9/])
    | (?P<clock> (?:(?<=[01])[0-9]|(?<=2)[0-3]|)(?:
          :[0-5][0-9](?P<second>:[0-5][0-9](?:[.,][0-9]{{1,9}})?)?(?![0-9:])(?:\ ?{_AM_PM})?
        | \ ?h\ ?[0-5][0-9](?![0-9A-Za-z]) | \.[0-5][0-9](?=\ Uhr) | \ ?{_AM_PM} | (?=\ Uhr) ))
    )""",
    re.VERBOSE,
)
_MONTH_FIRST = re.compile(
    rf"""[JFMASOND](?:an|eb|ar|pr|ay|un|ul|ug|ep|ct|ov|ec)(?<![A-Za-z].{{3}})[a-z]{{0,6}}\.?\ (?:
      (?P<dated> {_DAY}(?:st|nd|rd|th)?,?\ {_YEAR} )
    | (?P<ctime> \ ?{_DAY}\ [0-2]?[0-9]:[0-5][0-9](?P<second>:[0-5][0-9])?(?:\ [A-Z]{{3,4}})?\ {_YEAR} )
    | (?P<month> {_YEAR} )
    | (?P<short> \ ?{_DAY}(?:st|nd|rd|th)?(?![0-9.:]) ) )""",
    re.VERBOSE,
)
_WEEKDAY_BEFORE = re.compile(
    rf"(?<![A-Za-z])(?:{_WEEKDAY}|(?:Mo|Di|Mi|Do|Fr|Sa|So)(?=[.,]))[.,]{{0,2}} (?:(?:the|den|le|el) )?$"
)
_TAIL = re.compile(
    rf"(?: ?(?:{_ZONE})(?:{_OFFSET})?(?![A-Za-z])| ?{_OFFSET})?"
    rf"(?: ?\(?(?:{_CJK_WEEKDAY}|{_WEEKDAY}(?![A-Za-z]))\)?)?(?: \((?:{_ZONE})[^()\n]{{0,16}}\))?"
)
_WEEKDAY_IS = re.compile(
    r"(?i:today(?:['’]s day)? is|day of (?:the )?week(?: is)?|weekday|current day|heute ist)[:\s\"'*]{1,4}(?:a )?"
    rf"(?P<day>{_WEEKDAY})(?![A-Za-z])"
)
_WEEKDAY_HINTS = ("oday", "ay of", "AY OF", "eekday", "urrent day", "eute ist")
_GLUE = re.compile(
    r"T|_|,? ?(?:at|on|um|à|a las|às|alle(?: ore)?|ore|om|kl\.?|klockan|@|the|den|del|-|–|—|\||·|/)? ?|,? ?\(",
    re.IGNORECASE,
)
_RANGE = r"\s?(?:-|–|—|to|until|till|bis|and|through|à|al?|a las)\s?"
_RANGE_AFTER = re.compile(rf"(?:{_RANGE}|\s?{_AM_PM}{_RANGE})[0-9]")
_RANGE_BEFORE = re.compile(rf"[0-9](?:\s?{_AM_PM})?{_RANGE}$")
_GLUE_REACH, _WEEKDAY_REACH = 10, 24


class _Moment(NamedTuple):
    """A date, a clock or both. weak: too short to be a date without a cue (a month, or a day without a year)."""

    start: int
    end: int
    date: bool
    clock: bool
    second: bool
    weak: bool


def find_moments(text: str) -> Iterator[VolatileSpan]:
    """Spans of kind clock_second, clock_minute and date, in no order, without overlap."""
    for moment in _joined(text, sorted([*_numeric(text), *_month_first(text)])):
        span = _judge(text, moment)
        if span is not None:
            yield span


def find_weekdays(text: str) -> Iterator[VolatileSpan]:
    """Spans of kind date that are the name of a day only: "Today is Tuesday"."""
    hinted = any(hint in text for hint in _WEEKDAY_HINTS)
    for found in _WEEKDAY_IS.finditer(text) if hinted else ():
        yield VolatileSpan(*found.span("day"), "date", True)


def _numeric(text: str) -> Iterator[_Moment]:
    for found in _NUMERIC.finditer(text):
        name = _outer(found, ("stamp", "clock", "month", "compact", "short"))
        second = any(found[name] is not None for name in ("stamp_second", "second", "log_clock"))
        clock = name in ("stamp", "clock") or found["log_clock"] is not None
        yield _Moment(*found.span(), name != "clock", clock, second, name in ("month", "compact", "short"))


def _month_first(text: str) -> Iterator[_Moment]:
    for found in _MONTH_FIRST.finditer(text):
        name = _outer(found, ("ctime", "month", "short"))
        weak = name in ("month", "short")
        yield _Moment(*found.span(), True, name == "ctime", found["second"] is not None, weak)


def _outer(found: re.Match[str], names: tuple[str, ...]) -> str:
    return next((name for name in names if found[name] is not None), "")


def _joined(text: str, parts: list[_Moment]) -> Iterator[_Moment]:
    """Each date with the clock it is glued to, in either order."""
    held: _Moment | None = None
    for part in parts:
        if held is not None and part.start < held.end:
            continue
        if held is not None and _glued(text, held, part):
            held = _Moment(held.start, part.end, True, True, held.second or part.second, False)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def _glued(text: str, left: _Moment, right: _Moment) -> bool:
    fits = left.date != right.date and left.clock != right.clock
    return fits and right.start - left.end <= _GLUE_REACH and bool(_GLUE.fullmatch(text, left.end, right.start))


def _judge(text: str, moment: _Moment) -> VolatileSpan | None:
    """The span to report, if any: the finer the clock, the surer that it moves."""
    start, end = _widened(text, moment)
    cue = moves(text, start)
    if moment.second:
        midnight = "00:00:00" in text[moment.start : moment.end]
        return VolatileSpan(start, end, "clock_second", cue is True or (cue is None and not midnight))
    if moment.clock and not moment.date:
        certain = cue is True and not _is_range(text, start, end)
        return VolatileSpan(start, end, "clock_minute", True) if certain else None
    if moment.clock and (cue or (cue is None and _stands_alone(text, start, end))):
        return VolatileSpan(start, end, "clock_minute", True)
    if cue:
        return VolatileSpan(start, end, "date", True)
    hidden = moment.weak or _inside_name(text, start, end)
    return None if hidden else VolatileSpan(start, end, "date", False)


def _widened(text: str, moment: _Moment) -> tuple[int, int]:
    """With the weekday before it, and zone and weekday behind it."""
    start, end = moment.start, moment.end
    if moment.date:
        reach = max(0, start - _WEEKDAY_REACH)
        weekday = _WEEKDAY_BEFORE.search(text[reach:start])
        start = start if weekday is None else reach + weekday.start()
    tail = _TAIL.match(text, end) if moment.clock or text[end : end + 1] in " (" else None
    return start, end if tail is None else tail.end()


def _is_range(text: str, start: int, end: int) -> bool:
    return bool(_RANGE_AFTER.match(text, end) or _RANGE_BEFORE.search(text[max(0, start - 12) : start]))


def _stands_alone(text: str, start: int, end: int) -> bool:
    """In brackets of its own, or on a line of its own: as a program stamps a text."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return (before in ("[", "<") and after in ("]", ">")) or (before in ("", "\n") and after in ("", "\n", "\r"))


def _inside_name(text: str, start: int, end: int) -> bool:
    """Part of a model name, a file name or a path."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return (before[1:] in ("-", "_", "/") and before[:1].isalnum()) or (
        after[:1] in ("-", "_", "/") and after[1:].isalnum()
    )
