"""gateway.causes: causes are found off the request path, seldom, and all tokens are accounted for."""

from collections.abc import Callable

import msgspec

from gateway.causes import SHARE, Causes
from gateway.misses import Miss, Parting, Sent
from prefix.record import RequestRecord
from tests.gateway.operators import RULES, asks
from tests.gateway.running import until
from tests.telemetry.conftest import ORDINARY

KEY = ("default", "v1")


def miss(number: int, parted: int = 0) -> Miss:
    """A request with ten divergent tokens that parts by its clock."""
    bodies = [asks(f"You help. It is 2026-11-30T09:1{n}:07Z. {RULES}") for n in (1, 2)]
    near, own = (Sent(msgspec.json.encode(body), {}) for body in bodies)
    changed: dict[str, object] = {"request_id": f"r{number}", "uncached_by_reason": {"divergent": 10}}
    record: RequestRecord = msgspec.structs.replace(ORDINARY, **changed)
    return Miss(record, Parting(near, own, 1000, parted, 500))


def examined(causes: Causes) -> Callable[[], bool]:
    """Whether it is done."""
    return lambda: causes._examining is None


async def test_a_cause_is_found_in_a_thread_and_then_known() -> None:
    """The third request at its place is counted without a look at its bodies."""
    causes = Causes()
    for number in (1, 2):
        causes.finished(KEY, miss(number), 1000.0 * number)
        assert not examined(causes)()
        await until(examined(causes))
    causes.finished(KEY, miss(3), 9000.0)
    assert examined(causes)()
    (loss,) = causes.partings.of(KEY)
    assert str(loss.cause).startswith("clock in /messages/0/content at ")
    assert (loss.tokens, loss.request_id) == (30, "r3")


async def test_examinations_pause_and_nothing_is_queued() -> None:
    """One at a time, then a pause in proportion to what it took; the tokens of those that wait are counted."""
    causes = Causes()
    for number in range(5):
        causes.finished(KEY, miss(number, parted=1000 * number), 0.0)
    await until(examined(causes))
    assert causes._busy_until > 0
    causes.finished(KEY, miss(6, parted=6000), causes._busy_until / 2)
    assert examined(causes)()
    known, unexplained = causes.partings.of(KEY)
    assert (known.tokens, unexplained.tokens) == (10, 50)
    assert SHARE <= 0.02


async def test_what_cannot_be_examined_is_counted() -> None:
    """Bodies that are gone leave unexplained tokens; a request without divergent ones leaves nothing."""
    causes = Causes()
    causes.finished(KEY, Miss(miss(1).record, None), 0.0)
    causes.finished(KEY, Miss(ORDINARY, None), 0.0)
    (loss,) = causes.partings.of(KEY)
    assert (loss.cause, loss.tokens, loss.requests) == (None, 10, 1)
