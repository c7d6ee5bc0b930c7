"""What SGLang says at /v1/loads, or the older /get_load: the load of each DP rank, and of all together."""

import msgspec

from engine_adapter.answers import decode
from engine_adapter.engine import EngineLoad
from prefix.errors import EngineError


class _RankLoad(msgspec.Struct):
    dp_rank: int = 0
    num_running_reqs: int | None = None
    num_reqs: int | None = None
    num_waiting_reqs: int = 0
    num_waiting_uncached_tokens: int | None = None
    num_used_tokens: int | None = None
    num_tokens: int | None = None
    total_prefill_uncached_tokens: int | None = None


class _Loads(msgspec.Struct):
    loads: tuple[_RankLoad, ...]


_LOAD: msgspec.json.Decoder[_Loads | tuple[_RankLoad, ...]] = msgspec.json.Decoder(_Loads | tuple[_RankLoad, ...])


def read_load(load: bytes) -> EngineLoad:
    """The answer at a load path. Raises EngineError."""
    parsed = decode(load, _LOAD, "sglang /v1/loads")
    ranks = parsed.loads if isinstance(parsed, _Loads) else parsed
    if not ranks:
        raise EngineError("sglang /v1/loads: no rank reported a load")
    if len(ranks) == 1:
        return _load(ranks[0])
    loads = tuple(_load(rank) for rank in sorted(ranks, key=lambda rank: rank.dp_rank))
    return EngineLoad(
        running=sum(load.running for load in loads),
        waiting=_total([load.waiting for load in loads]),
        waiting_uncached_tokens=_total([load.waiting_uncached_tokens for load in loads]),
        kv_used_tokens=_total([load.kv_used_tokens for load in loads]),
        prefilled_tokens=_total([load.prefilled_tokens for load in loads]),
        ranks=loads,
    )


def _load(rank: _RankLoad) -> EngineLoad:
    return EngineLoad(
        running=_running(rank),
        waiting=rank.num_waiting_reqs,
        waiting_uncached_tokens=rank.num_waiting_uncached_tokens,
        kv_used_tokens=_used(rank),
        prefilled_tokens=rank.total_prefill_uncached_tokens,
    )


def _running(rank: _RankLoad) -> int:
    """Requests being computed; older versions tell all requests and the waiting ones."""
    if rank.num_running_reqs is not None:
        return rank.num_running_reqs
    if rank.num_reqs is None:
        raise EngineError("sglang /v1/loads: neither num_running_reqs nor num_reqs")
    return max(0, rank.num_reqs - rank.num_waiting_reqs)


def _used(rank: _RankLoad) -> int | None:
    return rank.num_tokens if rank.num_used_tokens is None else rank.num_used_tokens


def _total(counts: list[int | None]) -> int | None:
    """The sum, unknown as soon as one rank's count is."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
