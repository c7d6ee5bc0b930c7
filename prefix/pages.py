"""Pages of a KV cache, known by what is in them: which of a prompt's pages an engine holds, as its events tell.

One idea: the key of a page is a hash of its token ids under the key of the page before it (as prefix.blocks does with
bytes), so equal keys mean equal whole prefixes, whatever the engine calls its pages. The engine's own names are kept
only to follow its links: a stored page names its parent, a removed one itself.

A page may be held on several tiers (GPU, host memory, disk), and twice on one: SGLang does not tell its `extra_key`,
so pages of two such namespaces have one name. It is gone when it was let go of as often as it was stored.
"""

from bisect import bisect_left
from collections.abc import Container, Sequence
from typing import Final

import msgspec
import xxhash

from prefix.blocks import block_hashes
from prefix.radix import TOKEN_BYTES

FOREIGN: Final = 0x9E37_79B9_7F4A_7C15
"""Seed of pages in a namespace that no request is known to be in: an adapter, media, a key that is not told."""


class Pages(msgspec.Struct, frozen=True):
    """Consecutive pages as an engine stored them. parent: the name of the page before them, None: they are first.

    names: the engine's. tokens: ids, 4 bytes each, little-endian. page_tokens: of one page. seed: of first pages.
    """

    names: Sequence[int]
    parent: int | None
    tokens: bytes
    page_tokens: int
    seed: int


def namespace_seed(salt: str | None) -> int:
    """What the keys of the pages of one cache salt begin with; None: those without."""
    return 0 if salt is None else xxhash.xxh3_64_intdigest(salt.encode("utf-8", "surrogatepass"), 1)


def page_keys(tokens: bytes, page_tokens: int, seed: int = 0) -> list[int]:
    """The keys of a prompt's whole pages. tokens: ids, 4 bytes each. seed: of the namespace, or the key before."""
    return block_hashes(tokens, seed, page_tokens * TOKEN_BYTES)


def leading(held: Container[int], keys: Sequence[int]) -> int:
    """How many leading keys are held, whether or not there are holes behind."""
    size = bisect_left(range(len(keys)), True, key=lambda i: keys[i] not in held)
    if all(map(held.__contains__, keys[:size])):
        return size
    return next(i for i, key in enumerate(keys) if key not in held)


class HeldPages:
    """The pages that one engine (one DP rank of it) holds, at most `limit` of them.

    page_tokens: of those stored last, None before. orphans: pages that came without the one before them.
    overflow: pages there was no room for.
    """

    __slots__ = ("_again", "_keys", "_tiers", "limit", "orphans", "overflow", "page_tokens")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.page_tokens: int | None = None
        self.orphans = 0
        self.overflow = 0
        self._tiers: dict[str | None, dict[int, int]] = {}
        self._again: dict[tuple[str | None, int], int] = {}
        self._keys: dict[int, int] = {}

    def __len__(self) -> int:
        """Distinct pages held."""
        return len(self._keys)

    def __contains__(self, key: int) -> bool:
        return key in self._keys

    def leading(self, keys: Sequence[int]) -> int:
        """How many leading pages of a prompt are held. keys: of `page_keys`."""
        return leading(self._keys, keys)

    def store(self, pages: Pages, tier: str | None) -> None:
        """They are held on this tier now, too."""
        self.page_tokens = pages.page_tokens
        before: int | None = pages.seed if pages.parent is None else self._key_of(pages.parent)
        if before is None:
            self.orphans += len(pages.names)
            return
        if pages.parent is not None and pages.seed == FOREIGN:
            before ^= FOREIGN
        names, held = self._tiers.setdefault(tier, {}), self._keys
        for name, key in zip(pages.names, page_keys(pages.tokens, pages.page_tokens, before), strict=True):
            if name in names:
                self._again[tier, name] = self._again.get((tier, name), 0) + 1
                continue
            if len(held) >= self.limit:
                self.overflow += 1
                continue
            names[name] = key
            held[key] = held.get(key, 0) + 1

    def remove(self, names: Sequence[int], tier: str | None) -> None:
        """They are gone from this tier; None: from every one."""
        for on in tuple(self._tiers) if tier is None else (tier,):
            held = self._tiers.get(on, {})
            for name in names:
                if self._again and (again := self._again.pop((on, name), 0)):
                    if again > 1:
                        self._again[on, name] = again - 1
                elif (key := held.pop(name, None)) is not None:
                    self._release(key)

    def clear(self) -> None:
        """Nothing is held."""
        self._tiers.clear()
        self._again.clear()
        self._keys.clear()
        self.overflow = 0

    def _release(self, key: int) -> None:
        left = self._keys[key] - 1
        if left:
            self._keys[key] = left
        else:
            del self._keys[key]

    def _key_of(self, name: int) -> int | None:
        return next((names[name] for names in self._tiers.values() if name in names), None)
