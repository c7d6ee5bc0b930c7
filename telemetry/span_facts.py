"""What the spans of a request are made of: the facts of a finished one, handed over by the request path as they are.

Small and plain, so that those that wait cost little: no body, no text of a prompt.
"""

from typing import Final, NamedTuple

from prefix.record import RequestRecord
from telemetry.tracing import Trace


class Said(NamedTuple):
    """What an answer says of itself: its id, the model that made it, why it ended, per choice."""

    id: str | None = None
    model: str | None = None
    finish_reasons: tuple[str, ...] = ()


NOTHING_SAID: Final = Said()


class Divergence(NamedTuple):
    """Why tokens of a prompt are `divergent`: the kind of cause, where (JSON pointer), how far into the text."""

    cause: str
    pointer: str
    offset: int | None


class Finished(NamedTuple):
    """The facts of one sampled request. ended: monotonic seconds, as its attempts' times. scheme, path: of its URL.
    session: what the client calls its conversation."""

    record: RequestRecord
    trace: Trace
    ended: float
    method: str
    scheme: str
    path: str
    session: str | None
    max_tokens: int | None
    cache_write: int | None
    said: Said
