"""DP ranks as workers: what the router calls them, and which one a request must go to.

One idea: an engine with several DP ranks is one endpoint (one health check, one breaker, one connection pool) and
several caches. So it is one `Worker` of the gateway and as many workers of the router, named `host:port#rank`; an
engine with one rank keeps its plain name. The engine is told the rank by `routed_dp_rank` in the body; a client that
names one itself, there or in a header, has chosen.

Source: SGLang 0.5.23, managers/data_parallel_controller.py (without a rank it goes round-robin, past every cache),
entrypoints/openai/serving_base.py (a header goes before the body), openai/protocol.py (the older name).
"""

from collections.abc import Iterable

from prefix.body import Body

MEMBER = "routed_dp_rank"
_MEMBERS = (MEMBER, "data_parallel_rank")
_HEADERS = frozenset((b"x-override-routed-dp-rank", b"x-data-parallel-rank"))


def rank_names(worker: str, ranks: int) -> tuple[str, ...]:
    """The router's names of an endpoint with so many DP ranks."""
    return (worker,) if ranks == 1 else tuple(f"{worker}#{rank}" for rank in range(ranks))


def split_rank(name: str) -> tuple[str, int | None]:
    """The endpoint's id and the rank of a router's name; None: it has but one."""
    worker, _, rank = name.partition("#")
    return worker, int(rank) if rank else None


def chosen_rank(body: Body, headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The rank that a client names, as the engine reads it; None when it names none that can be read."""
    for name, value in headers:
        if name in _HEADERS and value.strip().isdigit():
            return int(value)
    named = (body.value(member) for member in _MEMBERS if member in body)
    return next((rank for rank in named if type(rank) is int and rank >= 0), None)
