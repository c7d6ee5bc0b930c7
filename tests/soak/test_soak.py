"""The soak in small: the promises of `make soak` over a minute."""

import pytest

from tests.soak.load import outcome
from tests.soak.run import soak
from tests.soak.traffic import FAULT_SHARE, LEAVE_SHARE, requests


def test_the_traffic_is_what_it_says() -> None:
    """One in twenty requests asks for a fault, one in ten leaves; both shares within sampling error."""
    drawn = [asked for asked, _ in zip(requests(3), range(20_000), strict=False)]
    assert abs(sum(asked.fault is not None for asked in drawn) / len(drawn) - FAULT_SHARE) < 0.01
    assert abs(sum(asked.leave != "never" for asked in drawn) / len(drawn) - LEAVE_SHARE) < 0.01


@pytest.mark.parametrize(
    ("status", "tail", "stream", "expected"),
    [
        (200, b'data: {"a":1}\n\ndata: [DONE]\n\n', True, "ok"),
        (200, b'data: {"a":1}\n\n', True, "incomplete"),
        (200, b'{"usage":{"total_tokens":1}}', False, "ok"),
        (200, b'{"usage":{"total_tokens":1', False, "incomplete"),
        (503, b"{}", True, "503"),
    ],
)
def test_an_answer_that_stops_short_is_seen(status: int, tail: bytes, stream: bool, expected: str) -> None:
    """The load client tells a whole answer from a part of one."""
    assert outcome(status, tail, stream=stream) == expected


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_minute_of_faults_leaves_nothing_behind() -> None:
    """Only intended errors, no slot, no descriptor and no memory left."""
    seen = await soak(seconds=60.0, share=0.4, distinct=2500, progress=print)
    assert seen.faults() == []
