"""What an engine is told and what it tells: configuration, requests, reports. Plain data of engine_model."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from engine_adapter.engine_timing import PROFILES, Timing
from prefix.radix_node import Node

CLIPPED_OUTPUT = 4_096  # the scheduler never reserves for more output than this
INPUT_MARGIN = 5  # SGLang keeps so many tokens of the longest request for output


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """The flags of an engine that its scheduling depends on. Lengths are in tokens.

    page_bytes: width of a page in the requests' keys, when these are not token ids (see prefix.radix). Of these
    follow: pool_tokens, the KV capacity in whole pages; longest_request, the most tokens that prompt and output of
    one request may have together; input_limit: a prompt must be shorter than this.
    """

    page_tokens: int = 16
    kv_capacity_tokens: int = 300_000
    context_tokens: int = 131_072
    chunk_tokens: int = 8_192
    prefill_tokens: int = 16_384
    max_running: int = 256
    page_bytes: int | None = None
    timing: Timing = field(default=PROFILES["8b"])
    pool_tokens: int = field(init=False)
    longest_request: int = field(init=False)
    input_limit: int = field(init=False)

    def __post_init__(self) -> None:
        """What follows from the flags is asked for by every request."""
        pool = self.kv_capacity_tokens // self.page_tokens * self.page_tokens
        longest = min(self.context_tokens, pool) - 1
        object.__setattr__(self, "pool_tokens", pool)
        object.__setattr__(self, "longest_request", longest)
        object.__setattr__(self, "input_limit", longest - INPUT_MARGIN)

    def output_limit(self, prompt_tokens: int, max_output_tokens: int) -> int:
        """`max_output_tokens` cut to what the context and an empty pool have room for."""
        pages = -(-prompt_tokens // self.page_tokens) * self.page_tokens
        room = min(
            self.longest_request - prompt_tokens - 1,
            self.pool_tokens - pages - self.page_tokens - 1,
        )
        return max(0, min(max_output_tokens, room))


class EngineRequest(msgspec.Struct, eq=False, kw_only=True):
    """One request: what is asked (set by the caller), then where it stands (set by the engine).

    key: pages of the prompt and of the output_tokens that it will produce. max_output_tokens: what the client
    allows; the scheduler reserves for it, as it cannot know output_tokens; ignore_eos: for all of it, as the model
    cannot stop before. report_every: a report each so many
    output tokens (0: the first token and the end only). cached_tokens: what the engine reports.
    """

    key: bytes
    prompt_tokens: int
    output_tokens: int
    max_output_tokens: int
    ignore_eos: bool = False
    namespace: Hashable = None
    report_every: int = 1
    cached_tokens: int = 0
    retractions: int = 0
    matched: int = 0  # tokens found in the tree when it was last looked at
    produced: int = 0  # output tokens; while decoding, those before it joined the batch
    computed: int = 0  # tokens in the KV cache; while decoding, those before it joined the batch
    stored: int = 0  # of these, the tokens that belong to the tree
    node: Node | None = None

    @property
    def length(self) -> int:
        """Tokens to prefill: the prompt, and after a retraction the output so far."""
        return self.prompt_tokens + self.produced


class Chunk(NamedTuple):
    """The tokens [start, end) of a request, to prefill in one iteration."""

    request: EngineRequest
    start: int
    end: int


class Report(NamedTuple):
    """A request produced tokens: how many so far, and whether it has ended."""

    request: EngineRequest
    output_tokens: int
    finished: bool


class Step(NamedTuple):
    """One or more iterations: the seconds they take, and what is known at their end."""

    seconds: float
    reports: list[Report]


class Load(NamedTuple):
    """What the engine says of itself."""

    running: int
    waiting: int
    waiting_uncached_tokens: int
    used_tokens: int
