"""What a name says about the text behind it: `user_name` is a user's, `docs` was retrieved, `today` is a date.

Names decide only between codes; that a variable stands before static text is known without them.
"""

from __future__ import annotations

import functools
import re
from typing import Final

_WORDS: Final[tuple[tuple[str, frozenset[str]], ...]] = (
    ("clock", frozenset("now timestamp datetime time clock epoch strftime utcnow".split())),
    ("date", frozenset("date today day weekday year month".split())),
    (
        "id",
        frozenset("uuid guid nonce trace traceid requestid sessionid session request rid correlation span".split()),
    ),
    (
        "docs",
        frozenset("docs documents doc document context contexts passages chunks retrieved snippets".split()),
    ),
    (
        "user",
        frozenset(
            """user users username customer tenant account email member person visitor client_name firstname
            question query input message profile""".split()
        ),
    ),
    ("counter", frozenset("turn step iteration attempt counter budget remaining cwd".split())),
    ("replica", frozenset("hostname host pid replica node_name".split())),
    (
        "neutral",
        frozenset(
            """system instruction instructions prompt prompts template templates persona language lang locale
            model config settings schema schemas tool tools policy rules format fmt role cls self kwargs
            args options examples description task prefix suffix text content messages history func function tag tags
            marker delimiter separator stop
            functions method class type signature fields field output bos eos agent agents""".split()
        ),
    ),
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
    if found[0] in ("user", "customer", "tenant") and found[-1] in ("id", "name", "email"):
        return "user"
    if _SETTLED & set(found):
        return "neutral"
    for kind, vocabulary in _WORDS:
        if any(word in vocabulary for word in found):
            return kind
    return "user" if found[-1] in ("email", "phone") else None


def is_of_one_user(label: str) -> bool:
    """Whether a name says no more and no less than who the user is."""
    return _OF_ONE.fullmatch(label) is not None


COSTS_BY_ITSELF: Final = frozenset(
    """random sampled shuffled unordered mapping json_order json_format address window edited moving signed model
    format choice cache_key bypass no_breakpoint breakpoint_limit""".split()
)
"""Kinds of change that lose their own text, not only what stands behind them."""
