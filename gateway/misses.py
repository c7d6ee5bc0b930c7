"""Why requests missed: what is known of prompts, fed from the proxy, and the last requests, to be explained.

One idea: on the request path tokens get their reasons (telemetry.knowledge), and nothing else is worked out. *What*
parts two prompts, a clock or a shuffled list, is found when somebody asks, from the two bodies as they were sent,
which are kept for the last divergent requests. Bounded: so many requests, so many bytes of bodies.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from engine_adapter.usage import Usage
from gateway.dispatch import Place
from gateway.policies import CACHE_AWARE
from gateway.prepared import Prepared
from prefix.causes import Cause, find_cause
from prefix.divergence import first_divergence
from prefix.errors import BodyError
from prefix.record import RequestRecord
from prefix.scan import Span, splice
from telemetry.attribution import Places, attribute
from telemetry.knowledge import Explained, Knowledge, Sight

REQUESTS = 4096
BODY_BYTES = 16 << 20


class Sent(NamedTuple):
    """A body as it went to an engine, but for what is added for that engine."""

    raw: bytes
    replacements: Mapping[Span, bytes]

    def parsed(self) -> Any:
        """The JSON value. Raises json.JSONDecodeError for a body that no engine could read either."""
        return json.loads(splice(self.raw, self.replacements) if self.replacements else self.raw)


class Parted(Protocol):
    """What a request parts from, wherever the two bodies are. Bytes of its view: all of them, shared ones, and those
    that come again behind."""

    @property
    def size(self) -> int: ...
    @property
    def shared(self) -> int: ...
    @property
    def recurring(self) -> int: ...
    @property
    def bytes(self) -> int:
        """What keeping it costs."""

    def examine(self) -> tuple[Cause | None, float]:
        """What parts the two, None when that is not to be seen; and the CPU seconds it took. Blocks for as long."""


class Parting(msgspec.Struct, frozen=True):
    """A request's body and the one of the recent prompt that it parts from. Bytes of its view: all of them, shared
    ones, and those that come again behind."""

    nearest: Sent
    body: Sent
    size: int
    shared: int
    recurring: int

    @property
    def bytes(self) -> int:
        """What keeping it costs."""
        return len(self.nearest.raw) + len(self.body.raw)

    def cause(self) -> Cause | None:
        """What parts the two; None when that is not to be seen in the bodies."""
        try:
            a, b = self.nearest.parsed(), self.body.parsed()
            return find_cause(a, b, first_divergence(a, b))
        except (json.JSONDecodeError, BodyError):
            return None

    def examine(self) -> tuple[Cause | None, float]:
        """The cause, and the CPU seconds of this thread that finding it took."""
        began = time.thread_time()
        return self.cause(), time.thread_time() - began


class Miss(NamedTuple):
    """A finished request, and what it parts from when some of it is `divergent`."""

    record: RequestRecord
    parting: Parted | None


class Misses:
    """Explains requests: `at_dispatch`, then `finished`, then `remember`; `find` for whoever asks later."""

    def __init__(self, requests: int = REQUESTS, body_bytes: int = BODY_BYTES) -> None:
        self._knowledge: Knowledge[Sent] = Knowledge()
        self._recent: OrderedDict[str, Miss] = OrderedDict()
        self._parted: OrderedDict[str, Parted] = OrderedDict()
        self._requests, self._room = requests, body_bytes

    def at_dispatch(self, prepared: Prepared, place: Place) -> Sight[Sent] | None:
        """What is known of a prompt that goes to this place now; None when the gateway does not see all of it."""
        if not prepared.teaches and prepared.view.tokens is None:
            return None
        route = place.route
        return self._knowledge.at_dispatch(
            prepared.view,
            prepared.blocks,
            _version(prepared),
            route.worker,
            held_blocks=route.held_blocks,
            fleet_blocks=route.fleet_blocks,
            follows=route.reason in CACHE_AWARE,
        )

    def finished(
        self, sight: Sight[Sent] | None, prepared: Prepared, usage: Usage | None, page_tokens: int, *, computed: bool
    ) -> Explained[Sent]:
        """A request ended: its uncached tokens by reason. computed: whether the engine finished its prefill."""
        prompt, cached = (usage.input_total, usage.cached_read) if usage is not None else (None, None)
        if sight is None:
            nothing = Places(0)
            return Explained({} if prompt is None else attribute(prompt, cached, nothing, page_tokens=page_tokens))
        return self._knowledge.finished(
            sight,
            Sent(prepared.body.raw, prepared.replacements),
            len(prepared.body.raw),
            prompt_tokens=prompt,
            cached_tokens=cached,
            page_tokens=page_tokens,
            computed=computed,
        )

    def remember(self, record: RequestRecord, prepared: Prepared | None, explained: Explained[Sent] | None) -> Miss:
        """Keep a finished request for `find`; what is kept."""
        parting = None
        if prepared is not None and explained is not None and explained.nearest is not None:
            body = Sent(prepared.body.raw, prepared.replacements)
            size = len(prepared.view.text)
            parting = Parting(explained.nearest, body, size, explained.parted, explained.recurring)
        return self.keep(record, parting)

    def keep(self, record: RequestRecord, parting: Parted | None) -> Miss:
        """Keep a finished request, and what it parts from, for `find`; what is kept."""
        name = record.request_id
        if parting is not None:
            self._parted[name] = parting
            self._room -= parting.bytes
        self._recent[name] = Miss(record, parting)
        while self._room < 0:
            old, dropped = self._parted.popitem(last=False)
            self._room += dropped.bytes
            self._recent[old] = Miss(self._recent[old].record, None)
        if len(self._recent) > self._requests:
            old, _ = self._recent.popitem(last=False)
            gone = self._parted.pop(old, None)
            self._room += gone.bytes if gone is not None else 0
        return self._recent[name]

    def recent(self) -> Iterator[RequestRecord]:
        """The last requests, newest first."""
        return (miss.record for miss in reversed(self._recent.values()))

    def find(self, request_id: str) -> Miss | None:
        """A recent request by its 128-bit id."""
        return self._recent.get(request_id)


def _version(prepared: Prepared) -> str | None:
    """A declared name is one of its route's: `v2` of two routes are two prompts. A derived one says what is in it."""
    route, declared = prepared.identity.route, prepared.identity.prompt_version
    return prepared.prompt_version if declared is None else f"{route} {declared}"
