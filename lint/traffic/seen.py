"""The requests a new one is compared with: the nearest prior of its template, and the turn before it.

Requests of one template are found by what they say, not by how they begin, since a template with a clock in front
has no two beginnings alike: the smallest hashes of a prompt's phrases (a MinHash sketch, Broder 1997) are its mark.
Within a template the nearest prior is the one with the longest common prefix, found by chained hashes of blocks, as
an engine finds its cached pages. The turn before is found by the messages it ended with: a history that lost its
front still has them; where even they were changed, by the session that the log names. What is remembered is bounded
by bytes, the oldest forgotten first.
"""

import unicodedata
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import xxhash

from prefix.divergence import compact_json
from prefix.system import SYSTEM_ROLES

_BOUNDARY: Final = b'"'
_BOUNDARIES: Final = bytes.maketrans(b".\\,{}", _BOUNDARY * 5)
_LEAST, _MOST = 20, 160
"""Bytes of a phrase."""
_SKETCHED: Final = 8192
_MARKS: Final = 12
_ALIKE: Final = 3
_SHORT: Final = 0
"""The mark of prompts with next to no phrases: they are one template, for want of anything to tell them apart by."""
_MOST_TEMPLATES: Final = 4096
_BLOCK: Final = 64
_DEEP: Final = 4096
_DEEP_BLOCK: Final = 256
_TURNS_BACK: Final = 6
MEMORY: Final = 32 << 20
"""Bytes of prompts remembered."""


class Request(NamedTuple):
    """One request of a log. number: from 0. row: its line, from 1. view: prefix.divergence's. template: which one."""

    number: int
    row: int
    body: Mapping[str, Any]
    view: bytes
    template: int


class Seen:
    """The requests of a log so far, the newest `memory` bytes of them."""

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = memory
        self._templates: OrderedDict[int, int] = OrderedDict()
        self._next = 0
        self._kept: deque[tuple[Request, list[int]]] = deque()
        self._held = 0
        self._latest: dict[int, Request] = {}

    def template(self, view: bytes) -> int:
        """The template of a prompt: that of the earlier prompts which share most of its phrases, or a new one."""
        marks = sorted(map(xxhash.xxh3_64_intdigest, set(_phrases(_composed(view[:_SKETCHED])))))[:_MARKS]
        if len(marks) < _ALIKE:
            marks.append(_SHORT)
        votes = Counter(self._templates[mark] for mark in marks if mark in self._templates)
        best, count = max(votes.items(), key=lambda vote: vote[1], default=(0, 0))
        if count < min(_ALIKE, max(1, len(marks) // 2)):
            best, self._next = self._next, self._next + 1
        if count < len(marks):
            for mark in marks:
                self._templates.setdefault(mark, best)
        while len(self._templates) > _MOST_TEMPLATES * _MARKS:
            self._templates.popitem(last=False)
        return best

    def nearest(self, keys: Sequence[int]) -> Request | None:
        """The latest request that shares the most leading blocks. keys: `block_keys` of the new one."""
        low, high = 0, len(keys)
        while low < high:
            middle = (low + high) // 2
            if keys[middle] in self._latest:
                low = middle + 1
            else:
                high = middle
        return self._latest[keys[low - 1]] if low else None

    def turn_before(self, body: Mapping[str, Any]) -> Request | None:
        """The request whose last messages this conversation goes on from."""
        turns = _turns(body)
        for end in range(len(turns) - 1, max(0, len(turns) - _TURNS_BACK), -1):
            found = self._latest.get(_turn_key(turns[:end]))
            if found is not None:
                return found
        return None

    def in_session(self, session: str | None, body: Mapping[str, Any]) -> Request | None:
        """The latest request of a session that the log names, when this one is longer."""
        found = None if session is None else self._latest.get(_session_key(session))
        return found if found is not None and len(_turns(body)) > len(_turns(found.body)) > 0 else None

    def add(self, request: Request, keys: list[int], session: str | None = None) -> None:
        """Remember a request. keys: its `block_keys`."""
        turns = _turns(request.body)
        if turns:
            keys = [*keys, _turn_key(turns)]
        if session is not None:
            keys = [*keys, _session_key(session)]
        self._latest.update(dict.fromkeys(keys, request))
        self._kept.append((request, keys))
        self._held += len(request.view)
        while self._held > self._memory and len(self._kept) > 1:
            old, forgotten = self._kept.popleft()
            self._held -= len(old.view)
            for key in forgotten:
                if self._latest.get(key) is old:
                    del self._latest[key]


def _phrases(view: bytes) -> list[bytes]:
    """What stands between full stops, commas and the marks of JSON; more than a sentence in pieces."""
    found: list[bytes] = []
    for piece in [piece for piece in view.translate(_BOUNDARIES).split(_BOUNDARY) if len(piece) >= _LEAST]:
        if len(piece) <= _MOST:
            found.append(piece)
        else:
            found += (piece[at : at + _MOST] for at in range(0, len(piece) - _LEAST + 1, _MOST))
    return found


def _composed(view: bytes) -> bytes:
    """In one Unicode form: the same words in another one are the same template."""
    if view.isascii():
        return view
    text = view.decode("utf-8", "ignore").replace("\u00a0", " ")
    return unicodedata.normalize("NFC", text).encode("utf-8", "ignore")


def block_keys(view: bytes, scope: str) -> list[int]:
    """Chained hashes of a view's whole blocks. scope: what keeps caches apart: the template, the model, a salt."""
    digest = xxhash.xxh3_64(scope.encode("utf-8", "surrogatepass"))
    update, hashed = digest.update, digest.intdigest
    keys = [hashed()]
    size = len(view)
    for start in range(0, min(size, _DEEP) - _BLOCK + 1, _BLOCK):
        update(view[start : start + _BLOCK])
        keys.append(hashed())
    for start in range(_DEEP, size - _DEEP_BLOCK + 1, _DEEP_BLOCK):
        update(view[start : start + _DEEP_BLOCK])
        keys.append(hashed())
    return keys


def block_end(blocks: int) -> int:
    """Bytes of so many leading blocks."""
    return blocks * _BLOCK if blocks <= _DEEP // _BLOCK else _DEEP + (blocks - _DEEP // _BLOCK) * _DEEP_BLOCK


def _turns(body: Mapping[str, Any]) -> list[Any]:
    """The messages of a conversation without the system text that leads it."""
    turns = body.get("messages", body.get("input"))
    if not isinstance(turns, list):
        return []
    leading = next((at for at, turn in enumerate(turns) if not _is_system(turn)), len(turns))
    return turns[leading:]


def _is_system(turn: Any) -> bool:
    return isinstance(turn, dict) and turn.get("role") in SYSTEM_ROLES


def _session_key(session: str) -> int:
    return xxhash.xxh3_64_intdigest(b"session" + session.encode("utf-8", "surrogatepass"))


def _turn_key(turns: Sequence[Any]) -> int:
    """Of the last two messages of a conversation."""
    return xxhash.xxh3_64_intdigest(b"turn" + compact_json(turns[-2:]))
