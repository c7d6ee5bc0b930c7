"""The simulated engine's KV events: what its radix cache stores and evicts, in SGLang 0.5.23's words, over real ZMQ.

One idea: the recorder watches the cache (prefix.radix.Observer) and names pages as SGLang does, by 64 bits of a
SHA-256 chain over their tokens; the publisher numbers, sends, keeps and replays what was recorded. Pages of a salt
begin with the salt's hash instead of SGLang's own seed: names are opaque to readers. A test compares with the engine.
"""

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import zmq
import zmq.asyncio

from engine_adapter.simulated_text import token_ids
from prefix.radix import RadixCache
from prefix.radix_node import Node

TOPIC = "kv-events"
_END = b"\xff" * 8
_KEPT = 10_000


class Recorder:
    """Turns what happens to one cache into events. told: called at the first of each batch."""

    def __init__(self, page_bytes: int, told: Callable[[], None]) -> None:
        self._width = page_bytes
        self._told = told
        self._chains: dict[Node, list[bytes]] = {}
        self._events: list[dict[str, Any]] = [{"type": "AllBlocksCleared"}]

    def take(self) -> list[dict[str, Any]]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    def stored(self, leaf: Node, namespace: object) -> None:
        """A leaf was added."""
        parent = leaf.parent
        assert parent is not None
        above = self._chains.get(parent)
        salt = namespace if isinstance(namespace, str) else None
        digest = above[-1] if above else b"" if salt is None else hashlib.sha256(salt.encode()).digest()
        chain = self._chains[leaf] = []
        for start in range(0, len(leaf.key), self._width):
            digest = hashlib.sha256(digest + leaf.key[start : start + self._width]).digest()
            chain.append(digest)
        event = {
            "type": "BlockStored",
            "block_hashes": [_name(each) for each in chain],
            "parent_block_hash": _name(above[-1]) if above else None,
            "token_ids": token_ids(leaf.key),
            "block_size": self._width // 4,
            "lora_id": None,
            "medium": "GPU",
        }
        self._tell(event if salt is None else {**event, "cache_salt": salt})

    def split(self, near: Node, far: Node) -> None:
        """A node was cut in two."""
        pages = len(near.key) // self._width
        chain = self._chains[far]
        self._chains[near], self._chains[far] = chain[:pages], chain[pages:]

    def evicted(self, node: Node) -> None:
        """A leaf was taken out."""
        names = [_name(each) for each in self._chains.pop(node)]
        self._tell({"type": "BlockRemoved", "block_hashes": names, "medium": "GPU"})

    def cleared(self) -> None:
        """Everything was."""
        self._chains.clear()
        self._tell({"type": "AllBlocksCleared"})

    def _tell(self, event: dict[str, Any]) -> None:
        if not self._events:
            self._told()
        self._events.append(event)


class Publisher:
    """Publishes one rank's events. drop: so many of the next messages are lost on the way, though numbered and kept.

    port, replay_port: 0 until it was bound for the first time, when 0 was asked for.
    """

    def __init__(self, host: str, port: int, replay_port: int, rank: int) -> None:
        self.host, self.port, self.replay_port = host, port, replay_port
        self.drop = 0
        self._rank = rank
        self._recorder: Recorder | None = None
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
        self._next = 0
        self._task: asyncio.Task[None] | None = None

    def watch(self, cache: RadixCache) -> None:
        """A new process with this cache: numbers begin anew."""
        self._recorder = cache.observer = Recorder(cache.page_bytes, self._soon)
        self._kept.clear()
        self._next = 0
        self._soon()

    def open(self) -> None:
        """Bind the sockets."""
        self._context = zmq.asyncio.Context()
        self._pub = self._context.socket(zmq.PUB)
        self._router = self._context.socket(zmq.ROUTER)
        self.port = _bind(self._pub, self.host, self.port)
        self.replay_port = _bind(self._router, self.host, self.replay_port)
        self._task = asyncio.get_running_loop().create_task(self._replay())

    async def close(self) -> None:
        """Cut every connection; events go on being numbered and kept."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
            self._context.destroy(linger=0)

    def _soon(self) -> None:
        asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        events = self._recorder.take() if self._recorder is not None else []
        if not events:
            return
        number, self._next = self._next, self._next + 1
        payload = msgspec.msgpack.encode([time.time(), events, self._rank])
        self._kept.append((number, payload))
        if self.drop:
            self.drop -= 1
        elif self._task is not None:
            self._pub.send_multipart([TOPIC.encode(), number.to_bytes(8, "big"), payload])

    async def _replay(self) -> None:
        while True:
            client, _, start = await self._router.recv_multipart()
            for number, payload in tuple(self._kept):
                if number >= int.from_bytes(start, "big"):
                    await self._router.send_multipart(
                        [client, b"", TOPIC.encode(), number.to_bytes(8, "big"), payload]
                    )
            await self._router.send_multipart([client, b"", b"", _END, b""])


def describe(publishers: Sequence[Publisher], page_tokens: int) -> dict[str, Any]:
    """The section `kv_events` of /server_info."""
    first = publishers[0]
    return {
        "publisher": "zmq",
        "endpoint_host": "*",
        "endpoint_port_base": first.port,
        "topic": TOPIC,
        "block_size": page_tokens,
        "dp_size": len(publishers),
        "replay_endpoint_port_base": first.replay_port,
    }


def _name(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big", signed=True)


def _bind(socket: zmq.asyncio.Socket, host: str, port: int) -> int:
    if port:
        socket.bind(f"tcp://{host}:{port}")
        return port
    return socket.bind_to_random_port(f"tcp://{host}", min_port=20400, max_port=32000)
