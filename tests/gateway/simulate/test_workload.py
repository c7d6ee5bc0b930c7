"""gateway.simulate.workload: a trace's ids as the router's blocks and the engine's pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.simulate.workload import PAGE_BYTES, simulated_requests
from prefix.errors import TraceError
from prefix.trace import TraceRequest
from tests.gateway.simulate.traces import BLOCK, chat, turn


def shared_pages(a: bytes, b: bytes) -> int:
    """How many leading pages two keys share."""
    pages = 0
    while a[pages * PAGE_BYTES :][:PAGE_BYTES] == b[pages * PAGE_BYTES :][:PAGE_BYTES] != b"":
        pages += 1
    return pages


def test_blocks_are_the_whole_blocks_of_the_prompt() -> None:
    """A partial last block is never shared, whether it has an id or not."""
    with_id, without = TraceRequest(0, 40, 8, (1, 2, 3)), TraceRequest(0, 40, 8, (1, 2))
    first, second = simulated_requests([with_id, without], BLOCK)
    assert first.blocks == second.blocks == (1, 2)
    assert shared_pages(first.key, second.key) == 2
    assert len(first.key) == 3 * PAGE_BYTES


def test_a_response_continues_the_key() -> None:
    """Where the trace names what a response completes, the next turn finds it; else nobody does."""
    named = simulated_requests(chat(sessions=1, turns=2), BLOCK)
    assert named[0].out_blocks == named[1].blocks[3:5]
    assert shared_pages(named[0].key, named[1].key) == 5
    assert (named[1].after, named[0].after, named[0].session) == (0, None, "s0")
    unnamed = simulated_requests([turn(0, 48, 32, (1, 2, 3)), turn(1, 96, 32, (1, 2, 3, 4, 5, 6))], BLOCK)
    assert shared_pages(unnamed[0].key, unnamed[1].key) == 3
    assert unnamed[0].out_blocks == ()


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(0, 90), st.integers(0, 3)), min_size=1, max_size=20))
def test_keys_cover_prompt_and_output_and_share_what_blocks_share(made: list[tuple[int, int, int]]) -> None:
    """One page for each begun block; two keys share exactly the leading blocks of their prompts."""
    trace = [turn(n, prompt, output, (7, 8, 9)[:ids]) for n, (prompt, output, ids) in enumerate(made)]
    requests = simulated_requests(trace, BLOCK)
    for request in requests:
        assert len(request.key) == -(-(request.prompt_tokens + request.output_tokens) // BLOCK) * PAGE_BYTES
        other = requests[0]
        if request is not other:
            same = 0
            while request.blocks[: same + 1] == other.blocks[: same + 1] and same < len(request.blocks):
                same += 1
            assert shared_pages(request.key, other.key) == same


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        ([TraceRequest(0, 40, 8, (1,))], "do not fit"),
        ([turn(5, 40), turn(9, 40), turn(1, 40)], "timestamps go back"),
    ],
)
def test_bad_traces(trace: list[TraceRequest], said: str) -> None:
    """A wrong block size and a clock that goes back are named errors."""
    with pytest.raises(TraceError, match=said):
        simulated_requests(trace, BLOCK)
