"""prefix.pieces: kept pieces are the same pieces, and there is a bound to them."""

from hypothesis import given
from hypothesis import strategies as st

from prefix.pieces import Kept, Piece


def whole(raw: bytes) -> Piece | None:
    """A piece of anything but nothing."""
    return Piece(raw) if raw else None


def test_the_same_bytes_are_the_same_piece() -> None:
    """From the second time on; what makes no piece is not kept, what comes once takes no room."""
    kept = Kept(whole, 1 << 20)
    assert kept.piece(b"a") is not None
    assert len(kept) == 0
    second = kept.piece(b"a")
    assert kept.piece(b"a") is second is not None
    assert kept.piece(b"b") is not second
    assert kept.piece(b"") is kept.piece(b"") is None
    assert len(kept) == 1


def test_what_was_made_of_a_piece_is_made_once() -> None:
    """Per reader; None is a result, too."""
    asked: list[bytes] = []

    def read(piece: Piece) -> None:
        asked.append(piece.raw)

    piece = Piece(b"a")
    assert piece.once(read) is piece.once(read) is None
    assert piece.once(lambda piece: len(piece.raw)) == 1
    assert asked == [b"a"]


@given(st.lists(st.binary(max_size=40), max_size=60), st.integers(0, 20_000))
def test_kept_pieces_are_bounded_and_right(pieces: list[bytes], limit: int) -> None:
    """Whatever is asked for, in any order: the piece has the bytes, and old ones make room."""
    kept = Kept(whole, limit)
    for raw in pieces:
        piece = kept.piece(raw)
        assert (b"" if piece is None else piece.raw) == raw
        assert len(kept) <= limit // 2048


def test_the_least_recently_used_goes_first() -> None:
    """Asking for a piece keeps it."""
    kept = Kept(whole, 3 * 2100)
    a, b = [kept.piece(raw) for raw in (b"a", b"b") for _ in range(2)][1::2]
    for raw in (b"c", b"c", b"a", b"d", b"d"):
        kept.piece(raw)
    assert kept.piece(b"a") is a
    assert kept.piece(b"b") is not b


def test_what_came_once_is_forgotten_in_time() -> None:
    """The memory of what was seen is bounded, too: a flood of other pieces empties it."""
    kept = Kept(whole, 1 << 20)
    for number in range(5000):
        kept.piece(b"%d" % number)
    assert len(kept) == 0
    kept.piece(b"0")
    assert len(kept) == 0
    kept.piece(b"4999")
    assert len(kept) == 1
