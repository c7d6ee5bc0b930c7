"""prefix.recurring finds what comes again, counts nothing that does not, and gives up soon."""

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from prefix import realign
from prefix.recurring import WINDOW, common_prefix, common_suffix, recurring


def words(size: int, seed: int) -> bytes:
    """Text that does not repeat itself."""
    return Random(seed).randbytes(size // 2).hex().encode()


pieces = st.lists(st.sampled_from([words(400, seed) for seed in range(5)] + [b"x", b"yz" * 90]), max_size=6)


@given(pieces, pieces)
def test_what_it_finds_recurs(one: list[bytes], other: list[bytes]) -> None:
    """Ranges in order, disjoint, behind the common prefix, and each stands in the other text."""
    a, b = b"".join(one), b"".join(other)
    start = common_prefix(a, b)
    runs = recurring(a, b, start)
    assert all(start <= low < high <= len(b) and b[low:high] in a for low, high in runs)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(runs))


def test_text_behind_a_clock() -> None:
    """All of it, up to what is new; so with text that repeats itself."""
    for body in (words(6000, 1), b"Never guess. " * 500):
        a, b = b"It is 09:14:07. " + body + words(900, 2), b"It is 09:15:29. " + body + words(900, 3)
        ((low, high),) = recurring(a, b, common_prefix(a, b))
        assert 9 < low <= 16
        assert len(body) <= high - low <= len(body) + 8


def test_shuffled_pieces() -> None:
    """Each piece is followed by the next one, wherever they stand; nine tenths are found."""
    parts = [words(300, seed) for seed in range(12)]
    a, b = b"".join(parts), b"".join(Random(5).sample(parts, 12))
    assert sum(high - low for low, high in recurring(a, b, common_prefix(a, b))) > 0.9 * len(b)


def test_what_stands_once_is_found_once() -> None:
    """A piece that comes twice where the other text has it once could be shared once."""
    piece, rest = words(600, 1), words(900, 2)
    runs = recurring(b"x" + piece + words(300, 3), b"y" + piece + rest + piece, 0)
    assert 600 <= sum(high - low for low, high in runs) < 600 + 2 * WINDOW


def test_new_text_is_given_up() -> None:
    """A bounded number of searches, however long the text."""

    class Counted(bytes):
        searches = 0

        def find(self, *given: object) -> int:
            Counted.searches += 1
            return super().find(*given)

    assert recurring(Counted(words(200_000, 1)), words(200_000, 2), 0) == ()
    assert Counted.searches <= 6


@given(st.binary(max_size=60), st.binary(max_size=60), st.integers(0, 3000))
def test_common_ends(one: bytes, other: bytes, size: int) -> None:
    """As prefix.realign counts them, from the front and, reversed, from the back."""
    shared = words(size, 9)
    a, b = shared + one, shared + other
    assert common_prefix(a, b) == realign.common_prefix(a, b)
    a, b = one + shared, other + shared
    most = min(len(a), len(b))
    assert common_suffix(a, b, len(a), len(b), most) == realign.common_prefix(a[::-1], b[::-1])
