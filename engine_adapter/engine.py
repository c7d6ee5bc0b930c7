"""What the gateway needs to know about an engine, in the same words for every kind.

One idea: an adapter does no IO. It names the paths to ask and turns the answers' bytes into the frozen values below;
the gateway does the asking. These questions are asked again and again, and each has its own pure answer here:

- is it there (`next_state`, from the status of the health path, every half second or so);
- how loaded is it (`parse_load`, every second or so);
- is it asleep (`parse_asleep`), which a health check does not show;
- does it still hold what we believe (`forgot`, from what `Continuity` gathers): an engine that answers its health
  check is not an engine that kept its cache (case 42; llm-d-router#2853).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol

Pages = Mapping[str, bytes]
"""Answers by path, of those that answered 200."""
NO_PAGES: Final[Pages] = MappingProxyType({})


class State(StrEnum):
    """Whether a worker may get requests: only when `up`. A `draining` one still finishes what it has; an `asleep`
    one has given its memory back, and its cache with it, and would answer nobody until an operator wakes it."""

    UNKNOWN = "unknown"
    STARTING = "starting"
    UP = "up"
    DRAINING = "draining"
    ASLEEP = "asleep"
    DOWN = "down"


def next_state(before: State, status: int | None) -> State:
    """The state after one health check.

    status: the HTTP status, or None when the connection was refused, reset or timed out. Engines say 503 while
    they start and again while they drain, so a 503 means what the worker was before it.
    """
    if status is None:
        return State.DOWN
    if 200 <= status < 300:
        return State.UP
    if status != 503:
        return State.DOWN
    return State.DRAINING if before in (State.UP, State.DRAINING) else State.STARTING


@dataclass(frozen=True, slots=True)
class KvEvents:
    """Where an engine publishes KV events over ZMQ; rank r of the engine uses port + r and replay_port + r.

    host: None when the engine named no host of its own ("*"): it is the worker's host. block_size: tokens.
    """

    host: str | None
    port: int
    replay_port: int | None
    topic: str
    block_size: int


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What an engine says about itself. None is unknown.

    models: names it answers to, the base model first. page_size, max_model_len: tokens. kv_capacity_tokens: of one
    DP rank. cache_report: whether responses carry the cached count. boot_id: another one proves another process,
    the same one proves nothing where the engine's random seed is fixed. disaggregation: "prefill", "decode" or None.
    slots: places of one sequence each that a request can be sent to, 1 where there are none (gateway.slots).
    """

    kind: str
    version: str | None
    models: tuple[str, ...]
    page_size: int | None
    kv_capacity_tokens: int | None
    max_model_len: int | None
    cache_report: bool | None
    boot_id: str | None
    dp_size: int
    kv_events: KvEvents | None
    disaggregation: str | None
    slots: int = 1


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """An engine's load at one moment, summed over its DP ranks. None is unknown.

    running, waiting: requests. waiting_uncached_tokens: prompt tokens of waiting requests that must be computed, an
    estimate where an engine only counts the requests.
    kv_used_tokens: KV held by running requests; cached and evictable KV is not in it. prefilled_tokens: prompt
    tokens computed since the process started, so a smaller number proves a restart. ranks: each DP rank's own, by
    its number, where there are several.
    """

    running: int
    waiting: int | None
    waiting_uncached_tokens: int | None
    kv_used_tokens: int | None
    prefilled_tokens: int | None
    ranks: tuple["EngineLoad", ...] = ()


@dataclass(frozen=True, slots=True)
class Continuity:
    """What tells whether an engine is still the process it was, with the cache it had. None is unknown.

    boot_id: of EngineInfo. prefilled_tokens: of EngineLoad. clearings: how often the cache was emptied on request.
    """

    boot_id: str | None = None
    prefilled_tokens: int | None = None
    clearings: int | None = None


def forgot(before: Continuity, after: Continuity) -> bool:
    """Whether the engine lost its cache between two looks at it. What one look did not know proves nothing."""
    if before.boot_id and after.boot_id and before.boot_id != after.boot_id:
        return True
    if before.clearings is not None and after.clearings is not None and before.clearings != after.clearings:
        return True
    return (
        before.prefilled_tokens is not None
        and after.prefilled_tokens is not None
        and after.prefilled_tokens < before.prefilled_tokens
    )


@dataclass(frozen=True, slots=True)
class Additions:
    """What the gateway must put into a request for the engine to say and do what it needs.

    members: top-level members to set (replace, or insert when absent), name -> raw JSON of the value. hide_usage:
    withhold the usage chunk, which the client did not ask for.
    """

    members: Mapping[str, bytes]
    hide_usage: bool


class Engine(Protocol):
    """One kind of engine; instances hold no state.

    Of the path tuples the first that is neither a 404 nor a 501 counts: later entries are for other versions and
    settings. The `_also` pages say more of the same, where they are there. health_every_s: how long to wait between
    two health checks at least. metrics_path: None when the kind cannot tell about flushes there. asleep_path: None
    when the kind does not sleep. keep_alive_s: the engine closes an idle connection after that long, so a pooled one
    must be dropped earlier (case 54). report_flag: what makes it report cached tokens, None: nothing is needed.
    salt_member: body field of the cache namespace, if any; salted_paths: where the engine reads it.
    cache_key_paths: where a `prompt_cache_key` does something.
    """

    @property
    def kind(self) -> str: ...
    @property
    def health_path(self) -> str: ...
    @property
    def health_every_s(self) -> float: ...
    @property
    def info_paths(self) -> tuple[str, ...]: ...
    @property
    def info_also(self) -> tuple[str, ...]: ...
    @property
    def load_paths(self) -> tuple[str, ...]: ...
    @property
    def load_also(self) -> tuple[str, ...]: ...
    @property
    def metrics_path(self) -> str | None: ...
    @property
    def asleep_path(self) -> str | None: ...
    @property
    def flush_path(self) -> str | None: ...
    @property
    def keep_alive_s(self) -> float: ...
    @property
    def report_flag(self) -> str | None: ...
    @property
    def salt_member(self) -> str | None: ...
    @property
    def salted_paths(self) -> Collection[str]: ...
    @property
    def cache_key_paths(self) -> Collection[str]: ...

    def speaks(self, path: str) -> bool:
        """Whether this kind is known to have an API path. What it has not it answers itself, with 404."""

    def lacks(self, status: int, answer: bytes) -> bool:
        """Whether an error answer says that this engine, of whatever version, does not have the path."""

    def detects(self, info: bytes) -> bool:
        """Whether this answer at an info path is of this kind; never raises."""

    def parse_info(self, info: bytes, also: Pages = NO_PAGES) -> EngineInfo:
        """The answer at an info path, and those at `info_also`. Raises EngineError."""

    def parse_models(self, models: bytes) -> dict[str, int | None]:
        """The answer at /v1/models: name (adapters too) -> longest prompt and answer, tokens. Raises EngineError."""

    def parse_load(self, load: bytes, also: Pages = NO_PAGES) -> EngineLoad | None:
        """The answer at a load path, and those at `load_also`; None: nothing new. Raises EngineError."""

    def parse_clearings(self, metrics: bytes) -> int | None:
        """How often the cache was emptied on request, out of the metrics page; None when it does not say."""

    def parse_asleep(self, answer: bytes) -> bool:
        """The answer at `asleep_path`; what cannot be read is an engine awake."""

    def rank_headers(self, path: str, rank: int) -> tuple[tuple[bytes, bytes], ...]:
        """Headers that choose the DP rank, for a path whose body has no field for it; none where nothing can."""

    def additions(
        self,
        path: str,
        *,
        stream: bytes | None,
        stream_options: bytes | None,
        salt: str | list[str] | None = None,
        rank: int | None = None,
        cache_key: str | None = None,
    ) -> Additions:
        """What to put into a request to `path`, from the raw values of its `stream` and `stream_options`.

        salt: the cache namespace the gateway assigns (of a batch: or one for each prompt); it takes the place of
        any salt of the client's. Only for a path of `salted_paths`. rank: the DP rank, or the slot, that must have
        the request, None: any; left out where the kind cannot be told. cache_key: what requests with one stable
        prefix share, for a path of `cache_key_paths` and a client that named none.
        """
