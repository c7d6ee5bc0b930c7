"""engine_adapter.kv_events: messages of both engines, old and new, become the same values; nonsense an error."""

from typing import Any

import msgspec
import pytest

from engine_adapter.kv_events import Cleared, Removed, Stored, read_message, sequence_number
from prefix.errors import EngineError
from prefix.pages import FOREIGN, namespace_seed
from tests.engine_adapter.kv_publisher import CLEARED, removed, stored

TOKENS = list(range(8))
MAP = stored([-1, 5], TOKENS, parent=7)
ARRAY = ["BlockStored", [2**64 - 1, 5], 7, TOKENS, 4, None, "GPU"]


def message(*events: Any, rank: int | None = 0) -> bytes:
    """An encoded message."""
    return msgspec.msgpack.encode([12.5, events, rank])


@pytest.mark.parametrize(
    "event",
    [
        MAP,
        ARRAY,
        {**MAP, "lora_name": None, "extra_keys": None, "group_idx": 0, "kv_cache_spec_kind": "full", "new": [1]},
        [*ARRAY, None, None, 0, "full", {"new": 1}],
        {key: value for key, value in MAP.items() if key != "lora_id"},
    ],
)
def test_every_dialect_says_the_same(event: Any) -> None:
    """Maps and arrays, signed and unsigned names, keys that nobody knows."""
    read = read_message(message(event, rank=3))
    (only,) = read.events
    assert isinstance(only, Stored)
    assert (read.at, read.rank, only.tier) == (12.5, 3, "GPU")
    pages = only.pages
    assert (list(pages.names), pages.parent, pages.page_tokens, pages.seed) == ([2**64 - 1, 5], 7, 4, 0)
    assert pages.tokens == b"".join(token.to_bytes(4, "little") for token in TOKENS)


def test_removed_and_cleared() -> None:
    """In both forms; a tier that is not told is every one."""
    events = read_message(
        message(removed([-2]), ["BlockRemoved", [b"\x01\x00"]], CLEARED, ["AllBlocksCleared"])
    ).events
    assert events == [Removed([2**64 - 2], "GPU"), Removed([256], None), Cleared(), Cleared()]


@pytest.mark.parametrize(
    ("more", "seed"),
    [
        ({"cache_salt": "s"}, namespace_seed("s")),
        ({"extra_keys": [["s"], None]}, namespace_seed("s")),
        ({"lora_id": 3}, FOREIGN),
        ({"lora_name": "a", "extra_keys": [["a"], ["a"]]}, FOREIGN),
        ({"extra_keys": [[["media", 0]], None]}, FOREIGN),
    ],
)
def test_namespaces(more: dict[str, Any], seed: int) -> None:
    """A salt is one that requests have too; adapters and media are nobody's."""
    (event,) = read_message(message(stored([1, 2], TOKENS, **more))).events
    assert isinstance(event, Stored)
    assert event.pages.seed == seed


def test_other_groups_of_layers_do_not_count() -> None:
    """Hybrid models publish each group's blocks; the first group's decide."""
    assert read_message(message(stored([1, 2], TOKENS, group_idx=1), {**removed([1]), "group_idx": 2})).events == []


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        message(MAP)[:-3],
        msgspec.msgpack.encode({"ts": 1}),
        message({"type": "BlockMoved"}),
        message(["BlockStored", [1]]),
        message(stored([1, 2, 3], TOKENS)),
        message(stored([1, 2], TOKENS, size=0)),
        message(stored([1], [-1, 0, 0, 0])),
        message(stored([1], [[1, 2], [2, 3], [3, 4], [4, 5]])),
        message({}),
        message(5),
    ],
)
def test_nonsense_is_a_named_error(payload: bytes) -> None:
    """Truncated, of another shape, of an unknown kind: EngineError, never anything else."""
    with pytest.raises(EngineError):
        read_message(payload)


def test_sequence_numbers_have_eight_bytes() -> None:
    """Anything else is no number."""
    assert sequence_number((258).to_bytes(8, "big")) == 258
    with pytest.raises(EngineError):
        sequence_number(b"\x01")
