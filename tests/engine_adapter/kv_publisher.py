"""A publisher of KV events without sockets, in either dialect: what a stream must make of it is known."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

TOPIC = b"kv-events"
END = b"\xff" * 8


def stored(
    names: Sequence[Any], tokens: Sequence[int], parent: Any = None, size: int = 4, **more: Any
) -> dict[str, Any]:
    """A BlockStored event, as maps have it."""
    return {
        "type": "BlockStored",
        "block_hashes": list(names),
        "parent_block_hash": parent,
        "token_ids": list(tokens),
        "block_size": size,
        "lora_id": None,
        "medium": "GPU",
        **more,
    }


def removed(names: Sequence[Any], medium: str | None = "GPU") -> dict[str, Any]:
    """A BlockRemoved event."""
    return {"type": "BlockRemoved", "block_hashes": list(names), "medium": medium}


CLEARED: Mapping[str, Any] = {"type": "AllBlocksCleared"}


class Publisher:
    """Numbers, encodes and keeps messages as SGLang does. buffer: of how many a replay is possible."""

    def __init__(self, buffer: int = 1000, *, start: float = 1000.0) -> None:
        self.clock = start
        self.size = buffer
        self.restart()

    def restart(self) -> list[bytes]:
        """A new process: it begins with an empty cache and says so."""
        self.seq = -1
        self.buffer: deque[tuple[int, bytes]] = deque(maxlen=self.size)
        return self.publish(CLEARED)

    def publish(self, *events: Mapping[str, Any], rank: int | None = 0) -> list[bytes]:
        """The frames of one message."""
        self.seq += 1
        self.clock += 0.001
        payload = msgspec.msgpack.encode([self.clock, events, rank])
        self.buffer.append((self.seq, payload))
        return [TOPIC, self.seq.to_bytes(8, "big"), payload]

    def replay(self, start: int) -> Iterable[list[bytes]]:
        """The answers to a replay request, end included."""
        kept = [[b"", TOPIC, seq.to_bytes(8, "big"), payload] for seq, payload in self.buffer if seq >= start]
        return [*kept, [b"", b"", END, b""]]
