"""A trace as chat completion requests: who asks what, as bytes, and when.

From the trace: arrival order and rhythm, prompt and response lengths, and which prompts share which leading blocks.
Ours: which route, customer and prompt version a conversation belongs to (drawn by a hash of its first blocks, so
always the same), the system prompts and tools in front (in place of the one block that all prompts of the trace
share), and all words. Lengths are divided by SHRINK and the time is compressed, so that a few hundred requests
load a few engines for a few seconds.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from gateway.demo import script
from prefix.trace import TraceRequest, arrival_seconds, prompt_blocks

SHRINK: Final = 4
"""Tokens of the trace for each token sent."""

WINDOW_S: Final = 1800.0
"""How much of the trace is replayed."""

_TRACE_START: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """One request to send `arrival_s` seconds after the pass began."""

    arrival_s: float
    route: str
    customer: str
    prompt_version: str
    body: bytes

    @property
    def labels(self) -> tuple[str, str, str]:
        """(route, customer, prompt version)."""
        return self.route, self.customer, self.prompt_version


@dataclass(frozen=True, slots=True)
class Workload:
    """The same for every pass. `compression`: seconds of the trace for each second of a pass."""

    requests: tuple[DemoRequest, ...]
    seconds: float
    compression: float


def build_workload(
    trace: Sequence[TraceRequest], *, block_tokens: int, count: int, seconds: float, model: str
) -> Workload:
    """Whole conversations of the trace's first half hour, `count` requests in all or what there is of them.

    They arrive over `seconds`. Raises TraceError when the trace is not one of `block_tokens`, or not in order.
    """
    arrivals = arrival_seconds(trace)
    within = sum(arrival < WINDOW_S for arrival in arrivals)
    chosen = _whole_conversations(trace[:within], count)
    start, end = arrivals[chosen[0]], arrivals[chosen[-1]]
    compression = max(end - start, 1.0) / seconds
    requests = tuple(
        _request(trace[line], line, block_tokens, arrivals[line], (arrivals[line] - start) / compression, model)
        for line in chosen
    )
    return Workload(requests, seconds, compression)


def conversation(request: TraceRequest) -> str:
    """What all turns of a conversation have in common: its first two blocks (the first is everybody's)."""
    return " ".join(map(str, request.hash_ids[:2]))


def _whole_conversations(trace: Sequence[TraceRequest], count: int) -> list[int]:
    """Line numbers, in order, of `count` requests (or all): conversations drawn by hash, only the last one cut."""
    turns: dict[str, list[int]] = {}
    for line, request in enumerate(trace):
        turns.setdefault(conversation(request), []).append(line)
    drawn = (line for key in sorted(turns, key=_fraction) for line in turns[key])
    return sorted(line for line, _ in zip(drawn, range(count), strict=False))


def _request(
    turn: TraceRequest, line: int, block_tokens: int, asked_s: float, arrival_s: float, model: str
) -> DemoRequest:
    key = conversation(turn)
    route = _draw(script.ROUTES, f"route {key}")
    version = _draw(script.PROMPT_VERSIONS, f"version {key}")
    process = int(_fraction(f"process {line}") * script.CLIENT_PROCESSES)
    blocks = prompt_blocks(turn, block_tokens=block_tokens, unique=str(line), shrink=SHRINK)
    system = script.system_text(route, version, _TRACE_START + timedelta(seconds=asked_s))
    body: dict[str, object] = {
        "model": model,
        "messages": [{"role": "system", "content": system}, *as_messages(blocks[1:] or blocks)],
        "max_tokens": max(1, turn.output_length // SHRINK),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools := script.tools(route, process):
        body["tools"] = tools
    customer = _draw(script.CUSTOMERS, f"customer {key}")
    return DemoRequest(arrival_s, route, customer, version, msgspec.json.encode(body))


def as_messages(blocks: Sequence[str]) -> list[dict[str, str]]:
    """One message a block, user and assistant taking turns; whatever comes last is what the user asks now."""
    roles = ["assistant" if nth % 2 else "user" for nth in range(len(blocks) - 1)] + ["user"]
    return [{"role": role, "content": text} for role, text in zip(roles, blocks, strict=True)]


def _draw(shares: Mapping[str, float], key: str) -> str:
    """One of the names, with the probability that is its share, always the same for one `key`."""
    point, names = _fraction(key), list(shares)
    for name in names:
        point -= shares[name]
        if point < 0:
            return name
    return names[-1]


def _fraction(key: str) -> float:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") / 2**64
