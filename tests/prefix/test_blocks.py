"""prefix.blocks: block hashes, with known heads and without."""

from hypothesis import given
from hypothesis import strategies as st

from prefix.blocks import BLOCK_BYTES, HeadHashes, block_hashes

SIZES = st.integers(0, 40 * BLOCK_BYTES)


def text(size: int, ends: int) -> bytes:
    """A text of that size; `ends` tells its last bytes apart."""
    return (bytes(range(251)) * (size // 251 + 1))[: max(0, size - 4)] + ends.to_bytes(4, "big")


def test_hashes_are_the_same_in_every_process() -> None:
    """Replicas compare them; a change of these values is a change of the contract."""
    assert block_hashes(b"x" * 1100, 7) == [0x9E55914A49E647D1, 0x759121B2A01BF7E0]


@given(st.lists(st.tuples(SIZES, SIZES, st.integers(0, 2), st.integers(1, 2)), max_size=12), st.integers(0, 64))
def test_known_heads_change_no_hash(asked: list[tuple[int, int, int, int]], limit: int) -> None:
    """Heads of any length, of texts of any namespace, in a cache of any size."""
    heads = HeadHashes(limit)
    for size, head, ends, seed in asked:
        prompt = text(size, ends)
        assert heads.hashes(prompt, seed, min(head, len(prompt))) == block_hashes(prompt, seed)


@given(st.binary(max_size=300), st.integers(1, 40))
def test_hashing_goes_on_from_any_block(prompt: bytes, size: int) -> None:
    """From a block's start, under the hash of the block before it."""
    every = block_hashes(prompt, 3, size)
    for place in range(1, len(every)):
        assert block_hashes(prompt, every[place - 1], size, start=place * size) == every[place:]


def test_known_heads_are_bounded() -> None:
    """By their blocks: a flood of system texts takes no more."""
    heads = HeadHashes(100)
    for number in range(50):
        prompt = text(30 * BLOCK_BYTES, number)
        heads.hashes(prompt, 1, len(prompt))
    assert len(heads) == 90
