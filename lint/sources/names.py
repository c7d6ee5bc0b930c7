"""What a name says about the text behind it: `user_name` is a user's, `docs` was retrieved, `today` is a date.

Names decide only between codes; that a variable stands before static text is known without them. In English the last
word says what a thing is and the words before it which one: a `query_type` is a type, of which there are few, and no
query. So only the last word counts, and the first of a dotted name, whose fields are all of one user or document.
"""

from __future__ import annotations

import functools
import re
from typing import Final

_HEADS: Final[tuple[tuple[str, frozenset[str]], ...]] = (
    ("clock", frozenset("now timestamp datetime time clock epoch strftime utcnow".split())),
    ("date", frozenset("date today day weekday year month".split())),
    ("id", frozenset("uuid guid nonce traceid requestid sessionid rid".split())),
    (
        "docs",
        frozenset("docs documents doc document context contexts passages chunks retrieved snippets".split()),
    ),
    (
        "user",
        frozenset(
            """user users username customer tenant account email phone member person visitor firstname question
            questions query queries input inputs message profile request""".split()
        ),
    ),
    ("counter", frozenset("counter remaining cwd".split())),
    ("replica", frozenset("hostname host pid replica".split())),
)
_PEOPLE: Final = frozenset("user customer tenant account member".split())
"""What comes first in the name of what is one person's: `user_profile`."""
_NUMBERED: Final = frozenset("turn step iteration attempt budget round".split())
_THIS: Final = frozenset({"current", "this"})
_NUMBERS: Final = frozenset("number no num count index idx left remaining".split())
_OFTEN: Final = frozenset("docs doc context contexts".split())
_FOUND: Final = frozenset("retrieved relevant source search documents document docs rag top k found".split())
"""What is said of docs and contexts that a search found; others are the documentation of something, or what is said
beforehand."""
_IDENTIFIED: Final = frozenset("request session trace correlation span conversation".split())
_SETTINGS: Final = frozenset(
    "max min maximum minimum num number total enable use is has with include default".split()
)
"""First words of what is configured."""
_ASPECTS: Final = frozenset(
    """type types kind length size count format formats mode style level limit limits flag enabled language lang
    locale category version index schema label labels threshold weight score status role field fields key keys
    description class template instructions prefix suffix required zone""".split()
)
"""Last words of what is said *about* a thing: of these there are few, or one."""
_WRAPPERS: Final = frozenset("text str string value values content contents block section data".split())
"""Last words that say nothing: a `question_text` is a question."""
_NEUTRAL: Final = frozenset(
    """system instruction instructions prompt prompts template templates persona language lang locale
    model config settings schema schemas tool tools policy rules format fmt role cls self kwargs
    args options examples description task prefix suffix text content messages history func function tag tags
    marker delimiter separator stop
    functions method class type signature fields field output bos eos agent agents""".split()
)
_SETTLED: Final = frozenset({"persona", "personality"})
"""Chosen once, whatever else the name says."""
_OF_ONE = re.compile(r"(?:user|customer|tenant|member)[._](?:id|name|full_name|first_name|email)")
_SPLIT = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")


def words(label: str) -> list[str]:
    """The lower-case words of a dotted, snake or camel name."""
    return [word.lower() for word in _SPLIT.split(label[:200]) if word]


@functools.lru_cache(maxsize=4096)
def classify(label: str) -> str | None:
    """The kind a name suggests, "neutral" for names of what is configured once, None when it says nothing."""
    found = words(label)
    if not found:
        return None
    kind = None if _SETTLED & set(found) else _of_one_thing(label, found)
    return kind or ("neutral" if (_NEUTRAL | _SETTLED) & set(found) else None)


def _of_one_thing(label: str, found: list[str]) -> str | None:
    """The kind of something that is another in each request, by the words of its name that say what it is."""
    if found[0] in (*_PEOPLE, "client") and found[-1] in ("id", "name", "email"):
        return "user"
    if found[-1] in _NUMBERS and _NUMBERED & set(found[:-1]):
        return "counter"
    if found[-1] in _NUMBERED - {"budget"} and set(found[:-1]) <= _THIS:
        return "counter"
    if found[-1] == "id" and _IDENTIFIED & set(found):
        return "id"
    if found[0] in _SETTINGS or found[-1] in _ASPECTS:
        return None
    root, _, rest = label.partition(".")
    of_root = _of_head(words(root)) if rest else None
    of_root = None if words(root)[-1:] in (["context"], ["contexts"]) else of_root
    kind = _of_head(found) or (of_root if of_root in ("docs", "user") else None)
    if kind == "docs" and found[-1] in _OFTEN and len(words(rest or root)) > 1 and not _FOUND & set(found[:-1]):
        return None
    return kind or ("user" if found[0] in _PEOPLE else None)


def is_vague(label: str) -> bool:
    """Whether a name says no more than context: what was found for a question, or what is said of a thing."""
    found = words(label)
    return found[-1:] in (["context"], ["contexts"]) and not _FOUND & set(found)


def _of_head(found: list[str]) -> str | None:
    while len(found) > 1 and found[-1] in _WRAPPERS:
        found = found[:-1]
    return next((kind for kind, heads in _HEADS if found and found[-1] in heads), None)


def is_of_one_user(label: str) -> bool:
    """Whether a name says no more and no less than who the user is."""
    return _OF_ONE.fullmatch(label) is not None


COSTS_BY_ITSELF: Final = frozenset(
    """random sampled shuffled unordered json_order json_format address window edited moving signed model
    deployed format choice cache_key bypass no_breakpoint breakpoint_limit""".split()
)
"""Kinds of change that lose their own text, not only what stands behind them."""
