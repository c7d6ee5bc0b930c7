"""Messages over a stream between two processes of one gateway: a length, then msgpack.

A reader trusts the writer to be this very program, started from the same files; a stream that is cut in a message
ends like one that is cut between two.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any, Final, Generic, TypeVar

import msgspec

_LENGTH: Final = 4
_UNREAD: Final = 64 << 10
_encode: Final = msgspec.msgpack.Encoder().encode
T = TypeVar("T")


class Wire(Generic[T]):
    """One end. T: what the other end says, a union of tagged structs."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, said: type[T] | Any) -> None:
        self._reader, self._writer = reader, writer
        self._finished = False
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(said)

    @classmethod
    async def open(cls, end: socket.socket, said: type[T] | Any) -> "Wire[T]":
        """Talk over one end of a socket pair, which is closed with this."""
        reader, writer = await asyncio.open_unix_connection(sock=end)
        return cls(reader, writer, said)

    @property
    def waiting_bytes(self) -> int:
        """What was said and not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    def say(self, message: object) -> None:
        """Send a message; after `finish`, and to who has gone, nothing is sent."""
        if not (self._finished or self._writer.transport.is_closing()):
            data = _encode(message)
            self._writer.write(len(data).to_bytes(_LENGTH, "big") + data)

    async def flushed(self) -> None:
        """Until the other end took most of what was said. One that has gone takes all."""
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def hear(self) -> T | None:
        """The next message; None when the other end has gone."""
        try:
            size = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
            return self._decoder.decode(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def messages(self) -> AsyncIterator[T]:
        """All messages until the other end goes."""
        while (message := await self.hear()) is not None:
            yield message

    async def finish(self) -> None:
        """Say that nothing follows, and wait until the other end goes: who closes with something unread resets the
        connection, and what was said last may not be heard."""
        with contextlib.suppress(ConnectionError):
            if not (self._finished or self._writer.transport.is_closing()):
                self._writer.write_eof()
            self._finished = True
            while await self._reader.read(_UNREAD):
                """What is still said is left."""
        self._writer.close()

    def close(self) -> None:
        """Be gone."""
        self._writer.close()
