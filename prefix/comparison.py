"""Two prompts side by side: where they part, why, and what that costs in tokens.

The costs are those of `b`, sent after `a` was computed: what it shares with `a`, what it does not, and how much of
that comes again in `a` behind the divergence, so that another prompt would have had it cached.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from prefix import parameters
from prefix.causes import Cause, find_cause
from prefix.divergence import Divergence, first_divergence, view_bytes
from prefix.explanations import EXPLANATIONS
from prefix.realign import realign
from prefix.tokens import Counter

_ID = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class Comparison:
    """divergence: None when the texts are identical; then a cause is a parameter. cause: None when nothing keeps the
    prompts apart. view_bytes: lengths of the two views. Tokens of b: all of them, those shared with a, those not
    shared that come again in a. counting: what the tokens were counted with."""

    divergence: Divergence | None
    cause: Cause | None
    view_bytes: tuple[int, int]
    tokens: int
    shared_tokens: int
    recoverable_tokens: int
    counting: str

    @property
    def lost_tokens(self) -> int:
        """What b has behind the place where they part."""
        return self.tokens - self.shared_tokens

    def as_json(self) -> dict[str, Any]:
        """Flat, for machines: the fields of the divergence (reason `identical` when the texts are), then the rest."""
        where, cause = self.divergence, self.cause
        fields = dict.fromkeys(Divergence.__slots__) | {"reason": "identical", "view_bytes": self.view_bytes}
        return {
            **(fields if where is None else asdict(where)),
            "cause": cause and cause.kind,
            "cause_path": cause and cause.path,
            "values": cause and (cause.a, cause.b),
            "advice": cause and EXPLANATIONS[cause.kind].advice,
            "tokens": self.tokens,
            "shared_tokens": self.shared_tokens,
            "lost_tokens": self.lost_tokens,
            "recoverable_tokens": self.recoverable_tokens,
            "token_counting": self.counting,
        }


class _GivenIds:
    """Counts a prompt that came as token ids."""

    name = "token ids, as given"

    def count(self, text: str) -> int:
        return len(_ID.findall(text))


def compare(a: Mapping[str, Any], b: Mapping[str, Any], counter: Counter) -> Comparison:
    """Compare two parsed request bodies. Raises BodyError when they are no JSON."""
    where = first_divergence(a, b)
    cause = find_cause(a, b, where)
    old, new = view_bytes(a), view_bytes(b)
    counter = _GivenIds() if new.startswith(b'{"input_ids":') else counter
    same = len(new) if where is None else where.view_byte_offset
    again = [new[run.b : run.b + run.length] for run in realign(old, new, same)]
    cached = new[:same]
    if cause is not None and cause.kind in parameters.KINDS:  # they part before the first token
        again, cached = [cached, *again], b""
    tokens = _count(new, counter)
    shared = min(_count(cached, counter), tokens)
    recoverable = sum(_count(part, counter) for part in again)
    return Comparison(
        where, cause, (len(old), len(new)), tokens, shared, min(recoverable, tokens - shared), counter.name
    )


def _count(view: bytes, counter: Counter) -> int:
    """Of a stretch of a view, which may begin and end inside a character."""
    return counter.count(view.decode(errors="ignore")) if view else 0
