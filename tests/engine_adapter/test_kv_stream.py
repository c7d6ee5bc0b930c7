"""engine_adapter.kv_stream: whatever is lost, repeated or restarted, what is held is right or known not to be."""

import base64
import json
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_adapter.kv_stream import KvStream
from prefix.pages import HeldPages, namespace_seed, page_keys
from tests.engine_adapter.kv_publisher import CLEARED, END, TOPIC, Publisher, removed, stored

RECORDED = Path(__file__).parents[1] / "data" / "kv_events"
TOKENS = list(range(40))
KEYS = page_keys(array("I", TOKENS).tobytes(), 4)


def page(number: int) -> dict[str, Any]:
    """The event that stores one page of TOKENS."""
    return stored([number], TOKENS[4 * number : 4 * number + 4], parent=number - 1 if number else None)


class Line:
    """A stream and its publisher; `answer` plays the replays that the stream asks for."""

    def __init__(self, publisher: Publisher | None = None, *, replays: bool = True, **options: Any) -> None:
        self.publisher = publisher or Publisher()
        self.stream = KvStream(HeldPages(100), topic=TOPIC, replays=replays, **options)

    def answer(self) -> None:
        """Until the stream has no more questions."""
        for _ in range(9):
            if (start := self.stream.asked()) is None:
                return
            for frames in self.publisher.replay(start):
                self.stream.replayed(frames)
        raise AssertionError("the stream never stops asking")

    def connect(self) -> None:
        self.stream.connected()
        self.answer()

    def say(self, *events: Any, rank: int | None = 0) -> None:
        """Published and received."""
        self.stream.live(self.publisher.publish(*events, rank=rank), self.publisher.clock)
        self.answer()

    @property
    def known(self) -> tuple[int, bool, bool]:
        """Leading pages held, complete, syncing."""
        return self.stream.held.leading(KEYS), self.stream.complete, self.stream.syncing


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*.json")), ids=lambda file: file.stem)
def test_recorded_engines_are_predicted_exactly(file: Path) -> None:
    """Real engines with a cache that evicts: each request's cached tokens follow from the events before it."""
    recorded = json.loads(file.read_text())
    topic, size = recorded["topic"].encode(), recorded["page_tokens"]
    stream = KvStream(HeldPages(10_000), topic=topic, replays=False)

    def play(events: list[tuple[int, str]]) -> None:
        for seq, payload in events:
            stream.live([topic, seq.to_bytes(8, "big"), base64.b64decode(payload)], 0.0)

    play(recorded["before"])
    for step in recorded["steps"]:
        keys = page_keys(array("I", step["ids"]).tobytes(), size, namespace_seed(step["salt"]))
        assert stream.held.leading(keys[: (len(step["ids"]) - 1) // size]) * size == step["cached"]
        play(step["events"])
    assert stream.complete
    assert stream.held.orphans == stream.counts.corrupt == 0


def test_late_joiner_reads_everything() -> None:
    """What was stored before the gateway came is replayed from the start."""
    line = Line()
    line.publisher.publish(page(0), page(1))
    line.connect()
    assert line.known == (2, True, False)
    line.say(page(2))
    assert line.known == (3, True, False)
    assert line.stream.lag_s == pytest.approx(0)


def test_a_gap_is_replayed() -> None:
    """Dropped messages are had again, the one that showed the gap is not applied twice."""
    line = Line()
    line.connect()
    line.say(page(0))
    line.publisher.publish(page(1))
    line.say(page(2))
    assert line.known == (3, True, False)
    assert (line.stream.counts.gaps, line.stream.counts.lost, line.stream.counts.resyncs) == (1, 0, 2)


def test_the_last_message_may_be_the_lost_one() -> None:
    """A check in a silence finds it, without a moment of doubt."""
    line = Line()
    line.connect()
    line.publisher.publish(page(0))
    line.stream.check()
    assert not line.stream.syncing
    line.answer()
    assert line.known == (1, True, False)


def test_restarts_are_seen_however_the_numbers_look() -> None:
    """Fewer messages than before, as many, more, live or after a new connection."""
    for further in (0, 1, 2, 5):
        for live in (False, True):
            line = Line()
            line.connect()
            line.say(page(0))
            line.say(page(1))
            line.publisher.restart()
            for number in range(further):
                line.publisher.publish(page(number))
            if live and further < 2:
                line.say(page(further))
                assert line.known == (further + 1, True, False)
            else:
                line.stream.disconnected()
                assert line.stream.syncing
                line.connect()
                assert line.known == (further, True, False)
            assert line.stream.counts.restarts == 1


def test_a_check_is_about_the_moment_it_was_asked() -> None:
    """What comes live before its answer does not make the answer another process's."""
    line = Line()
    line.connect()
    line.say(page(0))
    line.stream.check()
    start = line.stream.asked()
    assert start is not None
    answer = line.publisher.replay(start)
    line.stream.live(line.publisher.publish(page(1)), line.publisher.clock)
    for frames in answer:
        line.stream.replayed(frames)
    assert line.known == (2, True, False)
    assert line.stream.counts.restarts == 0


def test_repetitions_change_nothing() -> None:
    """A live copy of what a replay brought is not a restart."""
    line = Line()
    line.connect()
    frames = line.publisher.publish(page(0))
    line.publisher.publish(removed([0]))
    line.connect()
    line.stream.live(frames, 0.0)
    assert line.known == (0, True, False)
    assert line.stream.counts.restarts == 0


def test_clearing_makes_complete() -> None:
    """What was lost for good makes the stream incomplete, until the cache is empty for certain."""
    line = Line(Publisher(buffer=1))
    line.publisher.publish(page(0))
    line.publisher.publish(page(1))
    line.connect()
    assert line.known == (0, False, False)
    assert line.stream.held.orphans == 1
    assert line.stream.counts.lost == 2
    line.say(CLEARED)
    line.say(page(0))
    assert line.known == (1, True, False)
    assert line.stream.emptied == 1


def test_without_replays_a_gap_loses() -> None:
    """And a restart that begins with its first message does not."""
    line = Line(replays=False)
    line.stream.connected()
    line.stream.live(line.publisher.restart(), 0.0)
    line.say(page(0))
    assert line.known == (1, True, False)
    line.publisher.publish(page(1))
    line.say(page(2))
    assert line.known == (0, False, False)
    line.stream.live(line.publisher.restart(), 0.0)
    line.say(page(0))
    assert line.known == (1, True, False)
    line.stream.disconnected()
    line.stream.connected()
    assert line.known == (1, True, True)


@pytest.mark.parametrize(
    ("frames", "count"),
    [
        ([b"load", (1).to_bytes(8, "big"), b"\x90"], "foreign"),
        ([TOPIC, b"1", b"\x90"], "corrupt"),
        ([TOPIC, (1).to_bytes(8, "big")], "corrupt"),
        ([TOPIC, (1).to_bytes(8, "big"), b"\x93\xcb"], "corrupt"),
    ],
)
def test_bad_messages_are_counted(frames: list[bytes], count: str) -> None:
    """Each in its counter, with what was wrong; an unreadable one may have said anything, so nothing is believed."""
    line = Line()
    line.connect()
    line.stream.live(frames, 0.0)
    assert getattr(line.stream.counts, count) == 1
    assert line.stream.trouble
    assert line.stream.complete is (count == "foreign")


def test_another_rank_is_not_ours() -> None:
    """A port that belongs to another DP rank is noticed, its pages are not this one's."""
    line = Line(rank=1)
    line.connect()
    line.say(page(0), rank=0)
    line.say(page(0), rank=1)
    assert (line.known, line.stream.counts.foreign) == ((1, True, False), 2)


def test_lag_does_not_believe_a_clock_that_is_ahead() -> None:
    """Messages from the future show that the clocks differ; later ones are late by what they are later than that."""
    line = Line()
    line.connect()
    for late, lag in ((-3.0, 0.0), (-2.5, 0.5), (0.0, 3.0)):
        line.stream.live(line.publisher.publish(page(0)), line.publisher.clock + late)
        assert line.stream.lag_s == pytest.approx(lag)


def test_a_replay_that_fails_is_asked_for_again() -> None:
    """Without an answer nothing is believed, answers to a request that was given up are ignored."""
    line = Line()
    line.stream.connected()
    assert line.stream.asked() == 0
    line.stream.replay_failed()
    line.stream.replayed([b"", b"", END, b""])
    assert line.stream.syncing
    line.answer()
    assert line.known == (0, True, False)


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["say", "lose", "cut", "restart", "remove", "clear", "check", "late"]), max_size=30))
def test_after_any_trouble_it_holds_what_the_engine_holds(troubles: list[str]) -> None:
    """Messages lost, late or repeated, connections cut, engines restarted: after the next check all is right."""
    line, truth, late = Line(), 0, []
    line.connect()
    for trouble in troubles:
        if trouble in ("say", "lose", "late"):
            frames = line.publisher.publish(page(truth) if truth < 10 else CLEARED)
            truth = truth + 1 if truth < 10 else 0
            if trouble == "late":
                late.append(frames)
            elif trouble == "say":
                line.stream.live(frames, line.publisher.clock)
        elif trouble == "remove" and truth:
            truth -= 1
            line.say(removed([truth]))
        elif trouble == "clear":
            truth = 0
            line.say(CLEARED)
        elif trouble == "restart":
            truth = 0
            line.publisher.restart()
            line.stream.disconnected()
            late.clear()
        elif trouble == "check":
            line.stream.check()
        if trouble in ("cut", "restart"):
            line.connect()
        elif trouble != "late":
            line.answer()
            for frames in late:
                line.stream.live(frames, line.publisher.clock)
            late.clear()
    line.answer()
    line.stream.check()
    line.answer()
    assert line.known == (truth, True, False)
