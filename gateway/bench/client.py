"""Sends one request and notes when what came back.

One idea: nothing is parsed while a stream runs but where events with content end (a byte search); what the answer
said is read when it is over (engine_adapter.sse). An event counts when it is whole, at the moment its last byte was
handed to this process.
"""

import asyncio
from array import array
from collections.abc import Callable, Mapping

import aiohttp
import msgspec

from engine_adapter import events
from engine_adapter.answer import message_of
from engine_adapter.dialects import DIALECTS
from engine_adapter.sse import StreamTap
from engine_adapter.usage import Usage, parse_usage
from gateway.apis import APIS
from gateway.bench.outcome import REJECTED
from prefix.errors import UsageError

_LONGEST_DETAIL = 200
_BUSY = (429, 503)
_LONGEST_REFUSAL = 1 << 16
IDLE_S = 3.0
"""How long an idle connection is used again: engines close them after 5 s, and a request that meets that is lost."""

Now = Callable[[], float]


class Answer(msgspec.Struct):
    """What became of one request that was sent; as in Outcome."""

    content_s: "array[float]"
    usage: Usage | None = None
    error: str | None = None
    detail: str = ""


class ContentTimes:
    """When the events with content of one stream came."""

    __slots__ = ("_content", "_rest", "times")

    def __init__(self, dialect: str) -> None:
        self._content = DIALECTS[dialect].content
        self._rest = b""
        self.times = array("d")

    def feed(self, chunk: bytes, now: float) -> None:
        """A piece of the stream."""
        data = self._rest + chunk if self._rest else chunk
        cut = events.last_end(data)
        self._rest = data[cut:]
        for event in events.split(data[:cut]):
            if self._content.search(event) is not None:
                self.times.append(now)


class Target:
    """One URL that is asked. headers: sent with every request. timeout_s: of a whole request."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float) -> None:
        self.url = url
        timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(10.0, timeout_s))
        self.http = aiohttp.ClientSession(
            headers={"content-type": "application/json", "accept-encoding": "identity", **headers},
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_S),
            timeout=timeout,
            read_bufsize=1 << 20,
        )

    async def ask(self, path: str, body: bytes, headers: Mapping[str, str], now: Now) -> Answer:
        """Send a body; never raises for what the target does."""
        times = ContentTimes(APIS[path].stream or "openai")
        try:
            async with self.http.post(self.url + path, data=body, headers=headers, allow_redirects=False) as response:
                if response.status != 200:
                    return _refused(response.status, await read_up_to(response, _LONGEST_REFUSAL))
                if response.content_type == "text/event-stream":
                    return await _streamed(response, path, times, now)
                return _whole(await response.read())
        except TimeoutError:
            return Answer(times.times, error="timeout", detail="no whole answer in time")
        except aiohttp.ClientConnectorError as error:
            return Answer(times.times, error="connect", detail=str(error)[:_LONGEST_DETAIL])
        except (aiohttp.ClientError, ConnectionError) as error:
            return Answer(times.times, error="broken", detail=f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL])


async def _streamed(response: aiohttp.ClientResponse, path: str, times: ContentTimes, now: Now) -> Answer:
    tap = StreamTap(api=APIS[path].stream or "openai", keep_text=False)
    async for chunk in response.content.iter_any():
        times.feed(chunk, now())
        tap.feed(chunk)
    said = tap.close()
    error = {"ok": None, "error": "error_event", "truncated": "truncated"}[said.outcome]
    return Answer(times.times, said.usage, error, (said.error or "")[:_LONGEST_DETAIL])


def _whole(raw: bytes) -> Answer:
    """An answer in one piece: when its first token was generated nobody knows."""
    payload = events.decode(raw)
    first = payload[0] if isinstance(payload, list) and payload else payload
    if not isinstance(first, dict):
        return Answer(array("d"), error="not_json", detail=raw[:_LONGEST_DETAIL].decode(errors="replace"))
    try:
        return Answer(array("d"), parse_usage(first))
    except UsageError:
        return Answer(array("d"))


def _refused(status: int, raw: bytes) -> Answer:
    detail = message_of(events.decode(raw)) or raw.decode(errors="replace")
    kind = REJECTED if status in _BUSY else f"http_{status}"
    return Answer(array("d"), error=kind, detail=f"HTTP {status}: {' '.join(detail.split())}"[:_LONGEST_DETAIL])


async def read_up_to(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, or its first so many bytes and a chunk."""
    body = b""
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > most:
            break
    return body


async def pause_until(moment: float, now: Now) -> None:
    """Sleep, if that moment is still to come."""
    if (rest := moment - now()) > 0:
        await asyncio.sleep(rest)
