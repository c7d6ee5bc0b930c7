"""A trace as requests for engines in virtual time: no text, the trace's own block ids.

One idea: an id stands for a whole prefix, so it is at once a block hash for the router and, as four bytes, a page of
the engine's key. A page is as large as the trace's blocks; only whole blocks can be shared. What a response adds is
known where the trace says so (`out_ids`), and otherwise a page that nobody else has.
"""

from array import array
from collections.abc import Sequence
from itertools import count

import msgspec

from prefix.trace import TraceRequest, arrival_seconds, whole_blocks

PAGE_BYTES = 4


class SimulatedRequest(msgspec.Struct, frozen=True):
    """One request. Times in seconds of the trace, lengths in tokens.

    blocks, out_blocks: ids of the whole blocks of the prompt, and of those that the response completes (as far as the
    trace names them). key: pages of both. after: the number of the session's previous request, which must end first.
    """

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    blocks: tuple[int, ...]
    out_blocks: tuple[int, ...]
    key: bytes
    session: str | None
    after: int | None


def simulated_requests(trace: Sequence[TraceRequest], block_tokens: int) -> list[SimulatedRequest]:
    """The requests of `trace`, in its order. Raises TraceError when its ids do not fit or its time goes back."""
    pages: dict[int, int] = {}
    fresh = count(2**32 - 1, -1)
    last: dict[int | str, int] = {}
    requests = []
    for number, (turn, arrival_s) in enumerate(zip(trace, arrival_seconds(trace), strict=True)):
        full = whole_blocks(turn, block_tokens)
        blocks = turn.hash_ids[:full]
        length = turn.input_length + turn.output_length
        out_blocks = turn.out_ids[: length // block_tokens - full]
        known = [pages.setdefault(block, len(pages)) for block in (*blocks, *out_blocks)]
        total = -(-length // block_tokens)
        own = [next(fresh) for _ in range(total - len(known))]
        requests.append(
            SimulatedRequest(
                arrival_s,
                turn.input_length,
                turn.output_length,
                blocks,
                out_blocks,
                array("I", known + own).tobytes(),
                None if turn.session is None else str(turn.session),
                None if turn.session is None else last.get(turn.session),
            )
        )
        if turn.session is not None:
            last[turn.session] = number
    return requests
