"""The bytes of request bodies that are held at once: bounded over all requests, as `max_body_bytes` bounds each.

A prompt must be read to be placed, and a request that may be tried again must be kept, so bodies are held in memory
until their answer is complete. Nothing is written to disk; beyond the bound a request is refused.
"""

from typing import Self

from gateway.errors import Refusal


class Bodies:
    """How many bytes of request bodies are held at once, by all requests; at most so many."""

    __slots__ = ("held", "most")

    def __init__(self) -> None:
        self.held = 0
        self.most = 0


class Held:
    """What one request holds of them, while it is entered."""

    __slots__ = ("_bodies", "_bytes")

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bodies.held -= self._bytes

    def take(self, size: int) -> None:
        """So many more. Raises Refusal `overloaded` when all requests together hold too many."""
        bodies = self._bodies
        if bodies.held + size > bodies.most:
            raise Refusal("overloaded", "the gateway holds as many request bytes as it may (max_held_bytes)")
        bodies.held += size
        self._bytes += size
