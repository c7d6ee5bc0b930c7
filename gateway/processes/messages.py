"""What the processes of one gateway say to each other. Serials number the parent's questions; answers carry them."""

from typing import Any

import msgspec

from engine_adapter.engine import Continuity, EngineInfo, EngineLoad, State
from gateway.breaker import State as BreakerState
from gateway.config import Config
from prefix.causes import Cause
from prefix.record import RequestRecord
from prefix.view import View


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Base of all."""


class WorkerView(msgspec.Struct, frozen=True, array_like=True):
    """All that the parent knows of a worker, as gateway.workers.Worker names it. kind: of its engine."""

    url: str
    kind: str
    state: State
    drained: bool
    info: EngineInfo | None
    models: tuple[str, ...]
    cards: dict[str, dict[str, Any]]
    load: EngineLoad | None
    continuity: Continuity
    cache_report: bool | None
    last_error: str | None


class Begin(Message, frozen=True):
    """The first thing a child hears. secret: random, of redaction and samples where no key is configured."""

    config: Config
    secret: bytes


class Fleet(Message, frozen=True):
    """What became of workers: changed or new ones, and ids of those that were taken out."""

    serial: int
    workers: tuple[WorkerView, ...] = ()
    left: tuple[str, ...] = ()


class Reload(Message, frozen=True):
    """Another configuration."""

    serial: int
    config: Config


class Look(Message, frozen=True):
    """How do you stand? Everything said before is known when the answer is."""

    serial: int


class Examine(Message, frozen=True):
    """What parted a request of yours from its nearest?"""

    serial: int
    request_id: str


class Drain(Message, frozen=True):
    """No new requests; end when those that run have ended."""


class Kept(Message, frozen=True):
    """A worker keeps a response of this id. worker: None when nobody knows one. customer: whose it is."""

    name: str
    worker: str | None
    customer: str | None


class Told(Message, frozen=True):
    """What one process tells all others: a batch of gateway.shared.messages."""

    batch: bytes


class Sought(Message, frozen=True):
    """Which worker keeps a response of this id? Answered by Kept."""

    name: str


class Started(Message, frozen=True):
    """A child serves."""


class Leaving(Message, frozen=True):
    """A child was told by a signal of its own to end, and waits for Drain."""


class Failed(Message, frozen=True):
    """A child cannot serve, and ends."""

    reason: str


class Applied(Message, frozen=True):
    """A change took effect. error: why it did not."""

    serial: int
    error: str | None = None


class Ended(msgspec.Struct, frozen=True, array_like=True):
    """A finished request.

    blocks: the first hashes of its prompt, 8 bytes each in this machine's order. size: bytes of its view. view: where
    it is one of the first prompts of its version. parting: size, shared and recurring bytes, of one that parts.
    """

    record: RequestRecord
    blocks: bytes = b""
    size: int = 0
    view: View | None = None
    parting: tuple[int, int, int] | None = None


class Finished(Message, frozen=True):
    """Requests that ended, in this order. lost: earlier ones that could not be told."""

    ended: list[Ended]
    lost: int = 0


class Closed(Message, frozen=True):
    """So many connections are closed of all that were handed over."""

    connections: int


class Suspected(Message, frozen=True):
    """A request found nobody listening at a worker."""

    worker: str
    reason: str


class WorkerStanding(msgspec.Struct, frozen=True, array_like=True):
    """A worker as one process sees it."""

    in_flight: int
    breaker: BreakerState
    cache_report: bool | None


class Standing(Message, frozen=True):
    """How a child stands. queued: requests by model; captures, spans: by what became of them, since its start."""

    serial: int
    workers: dict[str, WorkerStanding]
    queued: dict[str, int]
    captures: dict[str, int]
    spans: dict[str, int]


class Examined(Message, frozen=True):
    """The cause, None when it is not to be seen (any more), and the CPU seconds that finding it took."""

    serial: int
    cause: Cause | None
    spent_s: float


ToChild = Begin | Fleet | Reload | Look | Examine | Drain | Kept | Told
ToParent = (
    Started | Leaving | Failed | Applied | Finished | Closed | Suspected | Standing | Examined | Kept | Sought | Told
)
