"""telemetry.versions, openings, comparison and board: which version came before, and whether the next is worse."""

import random
from collections.abc import Callable

import pytest

from prefix.record import RequestRecord
from prefix.view import View
from telemetry.board import Board
from telemetry.openings import PIECE_BYTES, Opening

MakeRecord = Callable[..., RequestRecord]
START = 1_760_000_000.0
RULES = b"Answer in one sentence, name the document, and never guess. " * 40


def view(text: bytes, seed: int = 1) -> View:
    """A prompt that is all system text but for a question."""
    return View(seed, text + b"Which?", len(text), None)


def play(
    board: Board, make: MakeRecord, version: str, opening: bytes, rate: float, at: float, minutes: float
) -> None:
    """One request a second of this version, cached to about this share."""
    rng = random.Random(version)
    for second in range(round(minutes * 60)):
        share = min(1.0, max(0.0, rng.gauss(rate, 0.1)))
        tokens = rng.randrange(500, 1500)
        waited = 0.1 * (2 - share)
        record = make(input_tokens=tokens, cached_tokens=round(share * tokens), prompt_version=version, ttft_s=waited)
        board.record(("default", "anonymous", version), record, START + at + second, view(opening))


@pytest.mark.parametrize(("rate", "verdict"), [(0.5, "worse"), (0.7, "better"), (0.6, "same")])
def test_a_version_is_compared_with_the_one_before(make_record: MakeRecord, rate: float, verdict: str) -> None:
    """Hit rate, TTFT, what of the opening they share; the change is the one that was planted, and a metric."""
    board = Board(START)
    play(board, make_record, "v1", RULES, 0.6, 0, 10)
    play(board, make_record, "v2", RULES[:1280] + b"New rule. " + RULES[1280:], rate, 600, 10)
    found = board.compare("default", "v2")
    assert found is not None
    assert found.hit_rate is not None
    assert found.ttft_s is not None
    assert (found.predecessor, found.verdict, found.requests.before, found.requests.after) == (
        "v1",
        verdict,
        600,
        600,
    )
    assert found.hit_rate.change == pytest.approx(rate - 0.6, abs=0.02)
    assert found.shared_prefix_share == pytest.approx(1280 / (len(RULES) + 10))
    assert found.shared_prefix_tokens > 0
    assert found.ttft_s.significant == (verdict != "same")
    assert found.ttft_s.change == pytest.approx((2 - rate) / (2 - 0.6) - 1, abs=0.02)
    assert board.hit_rate_changes() == {("default", "v2"): found.hit_rate.change}


def test_two_minutes_are_not_enough(make_record: MakeRecord) -> None:
    """No change is told where it may be chance, nor as a metric; a first version has nothing to be compared with."""
    board = Board(START)
    play(board, make_record, "v1", RULES, 0.6, 0, 10)
    play(board, make_record, "v2", RULES + b"!", 0.3, 600, 2)
    found = board.compare("default", "v2")
    assert found is not None
    assert (found.hit_rate, found.verdict) == (None, "not enough data")
    assert board.hit_rate_changes() == {}
    assert board.compare("default", "v1") is board.compare("default", "v9") is None


def test_the_first_requests_of_a_declared_version_are_not_compared(make_record: MakeRecord) -> None:
    """They fill caches: a version that starts cold is not worse for it."""
    board = Board(START)
    play(board, make_record, "v1", RULES, 0.6, 0, 10)
    for second in range(20):
        cold = make_record(input_tokens=10_000, cached_tokens=0, prompt_version="v2")
        board.record(("default", "anonymous", "v2"), cold, START + 600 + second, view(RULES + b"!"))
    play(board, make_record, "v2", RULES + b"!", 0.6, 630, 10)
    found = board.compare("default", "v2")
    assert found is not None
    assert found.verdict == "same"


def test_the_predecessor_is_akin_and_busy(make_record: MakeRecord) -> None:
    """Of those that share much, the one in use; not the one of another kind that had more traffic."""
    board = Board(START)
    play(board, make_record, "v1", RULES + b"1", 0.6, 0, 1)
    play(board, make_record, "other-app", b"You translate. " * 100, 0.6, 60, 15)
    play(board, make_record, "v2", RULES + b"2" * 300, 0.6, 1000, 2)
    play(board, make_record, "v3", RULES + b"2" * 400, 0.6, 1100, 1)
    predecessors = {name: version.predecessor for _, name, version in board.of("default")}
    assert {name: each.name if each else None for name, each in predecessors.items()} == {
        "v1": None,
        "other-app": "v1",
        "v2": "v1",
        "v3": "v2",
    }


@pytest.mark.parametrize(("minutes", "predecessor"), [(9, "v1"), (2, None)])
def test_a_rewritten_opening_follows_only_what_had_most_traffic(
    make_record: MakeRecord, minutes: float, predecessor: str | None
) -> None:
    """With nothing shared, the version that the route mostly used, if there is one."""
    board = Board(START)
    for number, version in enumerate(("v1", "a", "b")):
        lasting = minutes if version == "v1" else 2
        play(board, make_record, version, f"{number}".encode() * 2000, 0.6, 0, lasting)
    play(board, make_record, "v9", b"Now: 09:14. " + RULES, 0.6, 500, 1)
    found = board.versions["default", "v9"].predecessor
    assert (found.name if found else None) == predecessor


def test_openings_share_whole_pieces_whatever_the_salt() -> None:
    """Equal ones all of their pieces; a difference ends it; only what is stable counts."""
    one, other = Opening(view(RULES, 1)), Opening(view(RULES, 2))
    assert one.shared_bytes(other) == len(RULES) // PIECE_BYTES * PIECE_BYTES
    changed = Opening(view(RULES[:300] + b"?" + RULES[301:]))
    assert one.shared_bytes(changed) == 256
    assert Opening(View(1, RULES, 100, None)).shared_bytes(one) == 0


def test_a_thousand_versions_of_fifty_customers_stay_bounded(make_record: MakeRecord) -> None:
    """Further label sets are counted together, and the sums stay exact."""
    board = Board(START)
    for number in range(4000):
        key = f"r{number % 200}", f"c{number % 7}", f"v{number}"
        board.record(key, make_record(), START + number, view(RULES))
    rows = board.of(None)
    assert len(rows) <= 2000
    assert sum(version.requests for _, _, version in rows) == board.totals().requests == 4000
