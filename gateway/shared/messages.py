"""What gateways tell each other: versioned messages in batches, msgpack, the same over Redis and between processes.

A batch is `[version, replica, number, sealed, [message, ...]]`, a message `[kind, fields...]`. A new kind, or a field
at a message's end, needs no new version: older readers count the kind as unknown and leave the field. VERSION grows
when an older reader would be wrong: another meaning, another way to hash blocks.

Times are seconds of the sender's own monotonic clock. `sealed` stands beside them, so a reader learns ages and never
compares the clocks of two machines.
"""

import struct
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec

VERSION: Final = 1

MOST_BLOCKS: Final = 1 << 15
"""Blocks of one placement that are told, 16 MiB of prompt; the others are not shared."""

MOST_COUNT: Final = 1 << 53

_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNT)]
_Name = Annotated[str, msgspec.Meta(max_length=1024)]
_Packed = Annotated[bytes, msgspec.Meta(max_length=8 * MOST_BLOCKS)]
Standing = Literal["added", "drained", "removed"]


class Placed(msgspec.Struct, frozen=True, array_like=True, tag="placed", gc=False):
    """A request was sent to a worker. flight: a number of the sender's. model: base model. worker: the router's name.

    blocks: `pack`ed chained hashes of the prompt.
    """

    at: float
    flight: _Count
    model: _Name
    worker: _Name
    blocks: _Packed
    prompt_tokens: _Count
    max_output_tokens: _Count | None


class FirstToken(msgspec.Struct, frozen=True, array_like=True, tag="first", gc=False):
    """The prefill of a placed request is over."""

    at: float
    flight: _Count


class Released(msgspec.Struct, frozen=True, array_like=True, tag="released", gc=False):
    """A placed request ended, well or not. cached_tokens: as the engine reported, None: it did not."""

    at: float
    flight: _Count
    cached_tokens: _Count | None
    output_tokens: _Count


class Forgot(msgspec.Struct, frozen=True, array_like=True, tag="forgot", gc=False):
    """An engine restarted, or emptied its cache, by what it says of itself. worker: the endpoint's id."""

    worker: _Name


class Decision(msgspec.Struct, frozen=True, array_like=True, tag="worker", gc=False):
    """What an operator wants of a worker. Of two about one URL the one with the larger (stamp, by) stands.

    stamp: milliseconds since the epoch, and always more than any that was known to `by` when it decided.
    """

    url: _Name
    standing: Standing
    stamp: _Count
    by: _Name


class Spent(msgspec.Struct, frozen=True, array_like=True, tag="spent", gc=False):
    """What a customer took out of its limits at one replica since the last such message (tokens may be given back),
    and how many of its requests are open there now."""

    at: float
    customer: _Name
    requests: _Count
    tokens: int
    open: _Count


class Learned(msgspec.Struct, frozen=True, array_like=True, tag="learned", gc=False):
    """What a replica learned of a base model from so many observations: bytes of view per token, and the factor by
    which each worker's believed KV capacity was corrected."""

    model: _Name
    observations: _Count
    bytes_per_token: Annotated[float, msgspec.Meta(gt=0)]
    scales: dict[_Name, Annotated[float, msgspec.Meta(gt=0)]]


class Hello(msgspec.Struct, frozen=True, array_like=True, tag="hello", gc=False):
    """A replica is here. name: where it runs, for people. release: of the software. asks: others answer with what
    they know."""

    name: _Name
    release: _Name
    asks: bool


class Open(msgspec.Struct, frozen=True, array_like=True, tag="open", gc=False):
    """All placed requests of this replica that have not ended: those left out have, though nobody may have heard."""

    flights: list[_Count]


class Bye(msgspec.Struct, frozen=True, array_like=True, tag="bye", gc=False):
    """A replica ended; what it had open is over."""


Message = Placed | FirstToken | Released | Forgot | Decision | Spent | Learned | Hello | Open | Bye


class Head(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What can be read of a batch of any version."""

    version: int
    replica: _Name


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """A batch whose messages are not read yet."""

    version: int
    replica: _Name
    number: _Count
    sealed: float
    messages: list[msgspec.Raw]


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """What one replica tells at once. number: counts its batches from 1 on. No message: it is still here."""

    version: int
    replica: _Name
    number: _Count
    sealed: float
    messages: list[Message]


encode: Final = msgspec.msgpack.Encoder().encode
decode_head: Final = msgspec.msgpack.Decoder(Head).decode
_decode_batch: Final = msgspec.msgpack.Decoder(Batch).decode
_decode_envelope: Final = msgspec.msgpack.Decoder(Envelope).decode
_decode_message: Final = msgspec.msgpack.Decoder(Message).decode


def decode(data: bytes) -> tuple[Batch, int]:
    """A batch of this version, and how many of its messages are of unknown kinds or cannot be read.

    Raises msgspec.DecodeError when it is no batch at all.
    """
    try:
        return _decode_batch(data), 0
    except msgspec.ValidationError:
        envelope = _decode_envelope(data)
    messages = [message for raw in envelope.messages if (message := _readable(raw)) is not None]
    batch = Batch(envelope.version, envelope.replica, envelope.number, envelope.sealed, messages)
    return batch, len(envelope.messages) - len(messages)


def _readable(raw: msgspec.Raw) -> Message | None:
    try:
        return _decode_message(raw)
    except msgspec.ValidationError:
        return None


def pack(blocks: Sequence[int]) -> bytes:
    """8 bytes a block, little-endian. Raises struct.error for what is no unsigned 64-bit number."""
    told = blocks[:MOST_BLOCKS]
    return struct.pack(f"<{len(told)}Q", *told)


def unpack(packed: bytes) -> tuple[int, ...]:
    """The blocks; an incomplete one at the end is left out."""
    count = len(packed) // 8
    return struct.unpack_from(f"<{count}Q", packed)
