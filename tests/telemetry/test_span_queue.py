"""Spans on their way out: delivered soon, never in anybody's way, and none lost without being counted."""

import threading
import time
from collections.abc import Callable

import pytest

from prefix.record import RequestRecord
from telemetry import span_queue
from telemetry.span_facts import NOTHING_SAID, Finished
from telemetry.span_queue import BATCH, MOST_WAITING, SpanQueue, Undelivered
from telemetry.span_wire import Encoder
from telemetry.spans import spans
from telemetry.tracing import Decision, Tracer

Make = Callable[..., RequestRecord]


class Scripted:
    """A sender that does what it is told, once for each call; then it takes everything. None: waits to be let go."""

    def __init__(self, *script: Undelivered | None) -> None:
        self.timeout_s = 0.2
        self.script = list(script)
        self.sent: list[bytes] = []
        self.closed = False
        self.let_go = threading.Event()
        self.called = threading.Semaphore(0)

    def send(self, body: bytes) -> None:
        self.called.release()
        if self.script:
            step = self.script.pop(0)
            if step is not None:
                raise step
            self.let_go.wait(10)
        self.sent.append(body)

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for a second's tick."""
    monkeypatch.setattr(span_queue, "_EVERY_S", 0.01)
    monkeypatch.setattr(span_queue, "_FIRST_PAUSE_S", 0.01)


@pytest.fixture
def done(make_record: Make) -> Finished:
    """A sampled request of two spans."""
    trace = Tracer(1.0, lambda n: 5).begin(())
    trace.attempt("w", "http://w:1", "sglang", Decision(1, "p", "overlap", 0, 0), 0.0)
    return Finished(make_record(), trace, 1.1, "POST", "http", "/x", None, None, None, NOTHING_SAID)


def queue(sender: Scripted) -> SpanQueue:
    """A queue that is not running yet."""
    return SpanQueue(spans, Encoder({}, ("p", "1")), sender)


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    last = time.monotonic() + 10
    while not true():
        assert time.monotonic() < last
        time.sleep(0.002)


def test_delivered_and_closed(done: Finished) -> None:
    """Soon; what still waits at the end too."""
    sender = Scripted()
    made = queue(sender)
    made.start()
    made.put(done)
    until(lambda: made.counts()["sent"] == 2)
    made.put(done)
    made.close(5)
    assert made.counts() == {"sent": 4, "dropped": 0, "failed": 0}
    assert sender.closed


def test_many_go_in_messages_of_bounded_size(done: Finished) -> None:
    """A burst is sent at once, in several messages."""
    sender = Scripted()
    made = queue(sender)
    for _ in range(2 * BATCH + 1):
        made.put(done)
    made.start()
    made.close(10)
    assert len(sender.sent) == 3
    assert made.counts()["sent"] == 2 * (2 * BATCH + 1)


def test_a_silent_collector_costs_nothing_but_its_spans(done: Finished) -> None:
    """`put` returns while the sender hangs, so many wait, the rest is counted as dropped."""
    sender = Scripted(None)
    made = queue(sender)
    made.start()
    made.put(done)
    assert sender.called.acquire(timeout=10)
    for _ in range(MOST_WAITING + 3):
        made.put(done)
    assert made.counts() == {"sent": 0, "dropped": 6, "failed": 0}
    sender.let_go.set()
    made.close(10)
    assert made.counts() == {"sent": 2 * (MOST_WAITING + 1), "dropped": 6, "failed": 0}


def test_the_end_does_not_wait_for_ever(done: Finished) -> None:
    """`close` gives up a sender that hangs."""
    sender = Scripted(None)
    made = queue(sender)
    made.start()
    made.put(done)
    assert sender.called.acquire(timeout=10)
    made.close(0.01)
    assert not sender.closed
    sender.let_go.set()


def test_a_message_is_tried_again(done: Finished, caplog: pytest.LogCaptureFixture) -> None:
    """Where it may be; nothing is lost, and nothing said."""
    sender = Scripted(Undelivered("busy", again=True), Undelivered("busy", again=True))
    made = queue(sender)
    made.start()
    made.put(done)
    until(lambda: made.counts()["sent"] == 2)
    made.close(5)
    assert not caplog.records


@pytest.mark.parametrize(
    "script", [[Undelivered("no", again=False)], [Undelivered("later", again=True, after_s=60)] * 2]
)
def test_what_is_lost_is_counted_and_said_once(
    done: Finished, script: list[Undelivered], caplog: pytest.LogCaptureFixture
) -> None:
    """One line when it begins, one when it is over; a wait that is longer than the patience is none."""
    caplog.set_level("INFO", "prefixgate")
    made = queue(Scripted(*script))
    made.start()
    for n in range(len(script)):
        made.put(done)
        until(lambda n=n: made.counts()["failed"] == 2 * (n + 1))
    made.put(done)
    until(lambda: made.counts()["sent"] == 2)
    made.close(5)
    assert [record.message for record in caplog.records] == [
        f"spans are lost: {script[0]}",
        "spans are delivered again",
    ]


def test_the_end_is_no_time_for_patience(done: Finished) -> None:
    """A collector that is down while the gateway stops is asked once per message."""
    sender = Scripted(Undelivered("down", again=True))
    sender.timeout_s = 3600.0
    made = queue(sender)
    made.start()
    made.put(done)
    assert sender.called.acquire(timeout=10)
    made.close(10)
    assert made.counts() == {"sent": 0, "dropped": 0, "failed": 2}


def test_a_queue_that_never_ran_ends_at_once() -> None:
    """An application that is never started."""
    made = queue(Scripted())
    made.close(5)
    assert made.counts() == {"sent": 0, "dropped": 0, "failed": 0}
