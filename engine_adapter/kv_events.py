"""KV events: what SGLang and vLLM say over ZMQ about the pages they store and evict, as plain values. Sans-IO.

One idea: an engine's block hashes are names and nothing more. A page is known by its token ids and the page before it
(prefix.pages), so it does not matter how an engine hashes, or whether it seeds its hashes at random as vLLM does.

A message is three frames: topic, sequence number (u64, big-endian), msgpack `[ts, [event, ...], dp_rank]`. An event
is a map with a `type`, or in older engines an array that begins with it; unknown keys and items are ignored.
Hashes are integers, signed (SGLang) or not (vLLM), or bytes. Observed: SGLang 0.5.23, vLLM 0.32; the fields are those
of sglang/srt/disaggregation/kv_events.py and vllm/distributed/kv_events.py.
"""

from array import array
from collections.abc import Sequence
from typing import ClassVar, Final, TypeAlias

import msgspec

from prefix.errors import EngineError
from prefix.pages import FOREIGN, Pages, namespace_seed

END_OF_REPLAY: Final = (1 << 64) - 1
"""The sequence number that ends a replay."""

_WORD = (1 << 64) - 1
_Name: TypeAlias = int | bytes
_ARRAYS = frozenset((*range(0x90, 0xA0), 0xDC, 0xDD))
"""First bytes of a msgpack array."""


class Stored(msgspec.Struct, frozen=True):
    """These pages are held on `tier` now, too."""

    pages: Pages
    tier: str | None


class Removed(msgspec.Struct, frozen=True):
    """The pages of these names are gone from `tier`; None: from all."""

    names: Sequence[int]
    tier: str | None


class Cleared(msgspec.Struct, frozen=True):
    """Nothing is held any more, on no tier."""


Event: TypeAlias = Stored | Removed | Cleared


class Message(msgspec.Struct, frozen=True):
    """One message. at: seconds since the epoch, of the engine's clock. rank: DP rank, None where it has none."""

    at: float
    events: Sequence[Event]
    rank: int | None


class _Stored(msgspec.Struct):
    block_hashes: list[_Name]
    parent_block_hash: _Name | None
    token_ids: list[int]
    block_size: int
    lora_id: int | str | None = None
    medium: str | None = None
    lora_name: str | None = None
    extra_keys: list[list[msgspec.Raw] | None] | None = None
    group_idx: int | None = None


class _BlockStored(_Stored, tag="BlockStored"):
    cache_salt: str | None = None


class _BlockRemoved(msgspec.Struct, tag="BlockRemoved"):
    block_hashes: list[_Name]
    medium: str | None = None
    group_idx: int | None = None


class _AllBlocksCleared(msgspec.Struct, tag="AllBlocksCleared"):
    pass


class _OldStored(_Stored, tag="BlockStored", array_like=True):
    cache_salt: ClassVar[None] = None


class _OldRemoved(_BlockRemoved, tag="BlockRemoved", array_like=True):
    pass


class _OldCleared(msgspec.Struct, tag="AllBlocksCleared", array_like=True):
    pass


class _Batch(msgspec.Struct, array_like=True):
    ts: float
    events: list[msgspec.Raw]
    rank: int | None = None


_BATCH: msgspec.msgpack.Decoder[_Batch] = msgspec.msgpack.Decoder(_Batch)
_MAP = msgspec.msgpack.Decoder(_BlockStored | _BlockRemoved | _AllBlocksCleared)
_ARRAY = msgspec.msgpack.Decoder(_OldStored | _OldRemoved | _OldCleared)
_STRING: msgspec.msgpack.Decoder[str] = msgspec.msgpack.Decoder(str)


def sequence_number(frame: bytes) -> int:
    """The number in the second frame. Raises EngineError."""
    if len(frame) != 8:
        raise EngineError(f"a sequence number has 8 bytes, not {len(frame)}")
    return int.from_bytes(frame, "big")


def read_message(payload: bytes) -> Message:
    """The third frame. Raises EngineError for what is no such message."""
    try:
        batch = _BATCH.decode(payload)
        return Message(batch.ts, _events(batch.events), batch.rank)
    except (msgspec.DecodeError, OverflowError) as error:
        raise EngineError(f"not a KV event message: {error}") from None


def _events(raw: Sequence[msgspec.Raw]) -> list[Event]:
    """Of hybrid models' several groups of layers only the first, which is the one that decides a prefix match."""
    found: list[Event] = []
    for each in raw:
        data = bytes(each)
        event = (_ARRAY if data[0] in _ARRAYS else _MAP).decode(data)
        if isinstance(event, (_AllBlocksCleared, _OldCleared)):
            found.append(Cleared())
        elif not event.group_idx:
            if isinstance(event, (_BlockStored, _OldStored)):
                found.append(Stored(_pages(event), event.medium))
            else:
                found.append(Removed([_name(name) for name in event.block_hashes], event.medium))
    return found


def _pages(event: _BlockStored | _OldStored) -> Pages:
    names = [_name(name) for name in event.block_hashes]
    size = event.block_size
    if size < 1 or len(event.token_ids) != len(names) * size:
        raise EngineError(f"{len(names)} pages of {size} tokens have {len(event.token_ids)} token ids")
    tokens = array("I", event.token_ids).tobytes()
    parent = None if event.parent_block_hash is None else _name(event.parent_block_hash)
    return Pages(names, parent, tokens, size, _seed(event))


def _seed(event: _BlockStored | _OldStored) -> int:
    """Of pages without namespace, of those of a salt that requests can carry too, or of all others."""
    extra = [key for keys in event.extra_keys or () if keys for key in keys]
    if event.lora_id is not None or event.lora_name is not None or len(extra) > 1:
        return FOREIGN
    if extra:
        try:
            return namespace_seed(_STRING.decode(extra[0]))
        except msgspec.DecodeError:
            return FOREIGN
    return namespace_seed(event.cache_salt)


def _name(name: _Name) -> int:
    return name & _WORD if isinstance(name, int) else int.from_bytes(name, "big")
