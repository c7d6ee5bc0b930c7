"""prefix.pages: which pages an engine holds, by what is in them."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from prefix.pages import FOREIGN, HeldPages, Pages, leading, namespace_seed, page_keys

TOKENS = array("I", range(40)).tobytes()
KEYS = page_keys(TOKENS, 4)


def pages(first: int, last: int, parent: int | None = None, seed: int = 0) -> Pages:
    """Pages first..last of the prompt, each named by its number."""
    return Pages(range(first, last), parent, TOKENS[16 * first : 16 * last], 4, seed)


def test_a_chain_is_found_whatever_it_is_called() -> None:
    """Pages stored in pieces, linked by names, are the prompt's pages."""
    held = HeldPages(100)
    held.store(pages(0, 3), "GPU")
    held.store(pages(3, 7, parent=2), "GPU")
    assert (held.leading(KEYS), len(held), held.page_tokens) == (7, 7, 4)
    assert held.leading(page_keys(TOKENS[16:], 4)) == 0


def test_another_tier_keeps_a_page() -> None:
    """HiCache: evicted from the GPU, still in host memory, is not gone; removed without a tier it is."""
    held = HeldPages(100)
    held.store(pages(0, 3), "GPU")
    held.store(pages(0, 3), "CPU_PINNED")
    held.remove([0, 1, 2], "GPU")
    assert held.leading(KEYS) == 3
    held.store(pages(3, 4, parent=2), "GPU")
    held.remove([0, 1, 2, 3], None)
    assert (held.leading(KEYS), len(held)) == (0, 0)


def test_stored_twice_is_removed_twice() -> None:
    """SGLang does not tell its extra_key: two namespaces share their names."""
    held = HeldPages(100)
    held.store(pages(0, 3), "GPU")
    held.store(pages(0, 3), "GPU")
    held.store(pages(0, 3), "GPU")
    for left in (3, 3, 0):
        held.remove([0, 1, 2], "GPU")
        assert held.leading(KEYS) == left


def test_namespaces_never_meet() -> None:
    """Pages of a salt are those of requests with that salt; of an unknown namespace nobody's."""
    held = HeldPages(100)
    held.store(pages(0, 3, seed=namespace_seed("a")), "GPU")
    held.store(Pages([10], 2, TOKENS[48:64], 4, namespace_seed("a")), "GPU")
    held.store(Pages([20, 21], None, TOKENS[:32], 4, FOREIGN), "GPU")
    assert held.leading(page_keys(TOKENS, 4, namespace_seed("a"))) == 4
    assert held.leading(page_keys(TOKENS, 4, namespace_seed("b"))) == held.leading(KEYS) == 0


def test_what_does_not_fit_in_is_counted() -> None:
    """A page without the one before it cannot be placed; beyond the limit none is kept."""
    held = HeldPages(3)
    held.store(pages(4, 6, parent=3), "GPU")
    held.store(pages(0, 5), "GPU")
    assert (held.orphans, held.overflow, len(held)) == (2, 2, 3)
    held.clear()
    assert (held.leading(KEYS), held.overflow) == (0, 0)


@given(st.lists(st.booleans(), max_size=40))
def test_leading_stops_at_the_first_hole(there: list[bool]) -> None:
    """However many holes there are behind it."""
    held = {number for number, is_held in enumerate(there) if is_held}
    assert leading(held, range(len(there))) == (there.index(False) if False in there else len(there))
