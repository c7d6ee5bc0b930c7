"""An engine made of raw bytes, for what a well-behaved one never does: half answers, resets, silence, garbage.

`FakeEngine(answer, ...)` says at its status paths what an idle SGLang says (`pages`, which may be changed; None:
nothing at all), and gives the n-th generation request the n-th answer, the last one for ever. An answer is a
coroutine that writes what it likes to the connection; it is cancelled when the other side closes.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal, NamedTuple, Self, cast

import msgspec

STATUS = frozenset(
    (
        b"/health",
        b"/props",
        b"/server_info",
        b"/get_server_info",
        b"/v1/models",
        b"/v1/loads",
        b"/get_load",
        b"/metrics",
    )
)
EVENTS_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


class Request(NamedTuple):
    """A request as it came in. head: everything before the body."""

    target: bytes
    head: bytes
    body: bytes
    connection: "Connection"

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Names in lower case, in order."""
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]


class Connection(asyncio.Protocol):
    """One connection of the gateway's to the engine. closed: the other side, or we, closed it."""

    transport: asyncio.Transport

    def __init__(self, engine: "FakeEngine") -> None:
        self._engine = engine
        self._received = b""
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's are not its subclasses
        self._engine.connections.append(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        request = Request(head.split(b" ", 2)[1], head, rest, self)
        length = int(dict(request.headers).get("content-length", 0))
        if len(rest) >= length:
            self._received = rest[length:]
            request = request._replace(body=rest[:length])
            self._task = asyncio.get_running_loop().create_task(self._engine.respond(request))

    def connection_lost(self, error: Exception | None) -> None:
        self.closed.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def send(self, data: bytes) -> None:
        """Write these bytes, and wait while the other side does not take them."""
        self.transport.write(data)
        await self._writable.wait()

    def close(self) -> None:
        """End the connection in good order (FIN)."""
        self.transport.close()

    def reset(self) -> None:
        """End it with a reset (RST), without delivering what still waits."""
        if not self.transport.is_closing():
            linger = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()


Answer = Callable[[Connection], Awaitable[None]]


class FakeEngine:
    """The engine; use as an async context manager. received: its generation requests. pages: path -> status, body."""

    def __init__(self, *answers: Answer, model: str = "m") -> None:
        self.answers = list(answers)
        self.received: list[Request] = []
        self.connections: list[Connection] = []
        self.port = 0
        info = {"served_model_name": model, "max_total_num_tokens": 100_000, "page_size": 16}
        load = {"num_running_reqs": 0, "num_waiting_reqs": 0, "num_waiting_uncached_tokens": 0, "num_used_tokens": 0}
        self.pages: dict[str, tuple[int, bytes] | None] = {
            "/health": (200, b""),
            "/server_info": (200, msgspec.json.encode(info | {"enable_cache_report": True})),
            "/v1/models": (200, msgspec.json.encode({"data": [{"id": model}]})),
            "/v1/loads?include=core": (200, msgspec.json.encode({"loads": [load]})),
            "/metrics": (200, b""),
        }

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen, on the port it had before."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and close everything."""
        self._server.close()
        for connection in self.connections:
            connection.reset()
        await asyncio.gather(*(connection.closed.wait() for connection in self.connections))
        self.connections.clear()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def respond(self, request: Request) -> None:
        """Answer one request."""
        if request.target.partition(b"?")[0] in STATUS or request.target.decode("latin-1") in self.pages:
            page = self.pages.get(request.target.decode(), (404, b""))
            await request.connection.send(whole_bytes(page[1], page[0]) if page else b"")
            return
        self.received.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await answer(request.connection)


def whole_bytes(body: bytes, status: int = 200, headers: Iterable[str] = ()) -> bytes:
    """A complete response with a content-length."""
    lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def whole(body: bytes, status: int = 200, headers: Iterable[str] = ()) -> Answer:
    """Answers with this body."""
    return raw(whole_bytes(body, status, headers))


def raw(*pieces: bytes, then: Literal["silence", "close", "reset"] = "silence") -> Answer:
    """Writes these pieces one by one, and says nothing more, or ends the connection."""

    async def answer(connection: Connection) -> None:
        for piece in pieces:
            await connection.send(piece)
            await asyncio.sleep(0)
        if then != "silence":
            await asyncio.sleep(0.01)  # what was written is on its way before the end is
            getattr(connection, then)()

    return answer


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def stream(*pieces: bytes) -> Answer:
    """A complete stream of events in these pieces."""
    return raw(EVENTS_HEAD, *map(chunk, pieces), END)
