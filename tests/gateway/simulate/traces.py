"""Small traces for the tests of the simulation."""

from prefix.trace import TraceRequest

BLOCK = 16


def turn(
    stamp: float,
    prompt: int,
    output: int = 8,
    ids: tuple[int, ...] = (),
    session: str | None = None,
    out_ids: tuple[int, ...] = (),
) -> TraceRequest:
    """A request of `prompt` tokens; `ids` name its first blocks, the others are its own."""
    full = prompt // BLOCK
    own = tuple(1_000_000 + int(stamp * 1000) * 100 + nth for nth in range(full - len(ids)))
    return TraceRequest(stamp, prompt, output, (*ids[:full], *own), session, None, out_ids)


def chat(sessions: int, turns: int, gap_ms: float = 500.0) -> list[TraceRequest]:
    """So many sessions that take turns; each turn repeats the last one with its response, and adds 40 tokens."""
    trace = []
    for k in range(turns):
        for s in range(sessions):
            stamp = (k * sessions + s) * gap_ms
            length, output = 48 * (k + 1), 32
            ids = tuple(s * 10_000 + nth for nth in range(length // BLOCK))
            after = tuple(s * 10_000 + length // BLOCK + nth for nth in range(output // BLOCK))
            trace.append(TraceRequest(stamp, length, output, ids, f"s{s}", k, after))
    return trace
