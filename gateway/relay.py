"""The engine's answer to the client: bytes forwarded as they come, noted only for what they tell.

A stream that breaks gets an error event and no clean end, so that no client takes half an answer for a whole one.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from engine_adapter.sse import StreamResult, StreamTap
from engine_adapter.usage import Usage, parse_usage, sum_choices
from gateway.errors import Refusal
from gateway.http1 import EngineFault, FaultKind
from gateway.incoming import Send
from gateway.pool import Response

_MAX_KEPT = 4 << 20
"""Bytes of a whole (not streamed) answer kept to read its usage; beyond it usage is unknown."""


class _Answer(msgspec.Struct):
    """The parts of a whole answer that tell usage: OpenAI's `usage`, SGLang's `meta_info`."""

    usage: dict[str, Any] | None = None
    meta_info: dict[str, Any] | None = None


_answer = msgspec.json.Decoder(_Answer | list[_Answer])


class Broken(EngineFault):
    """The engine's answer ended before its end, after bytes had been forwarded."""


async def relay_stream(
    response: Response, first: bytes, send: Send, tap: StreamTap, notice: Callable[[], bool], dialect: str
) -> StreamResult:
    """Forward a stream of events. A broken one gets an error event (of this dialect) and is left without its end.

    notice is called at each chunk, before it goes on, until it says True: what the tap looks for was seen. The
    result's outcome says how it ended. The response is complete unless the engine broke off before the stream's end.
    """
    chunk, waiting = first, True
    fault: FaultKind | None = None
    while chunk:
        forward = tap.feed(chunk)
        if waiting:
            waiting = not notice()
        if forward:
            await send({"type": "http.response.body", "body": forward, "more_body": True})
        try:
            chunk = await response.read()
        except EngineFault as error:
            fault = error.kind
            break
    result = tap.close()
    broken = fault is not None and not result.done_seen
    if broken and result.outcome == "ok":  # opaque: only the transport told
        result = msgspec.structs.replace(result, outcome="truncated")
    truncated = result.outcome == "truncated"
    code = "engine_timeout" if fault == "timeout" else "stream_broken"
    tail = result.tail + (b"\n\n" + Refusal(code).event(dialect) if truncated else b"")
    await send({"type": "http.response.body", "body": tail, "more_body": broken or truncated})
    return result


async def relay_whole(response: Response, first: bytes, send: Send) -> bytes | None:
    """Forward a whole answer; returns its bytes (None when it is too large to keep). Raises Broken."""
    kept: list[bytes] | None = [first]
    size, chunk = len(first), first
    while chunk and not response.at_end:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
        try:
            chunk = await response.read()
        except EngineFault as error:
            raise Broken(error.kind, str(error)) from error
        size += len(chunk)
        if kept is not None:
            kept.append(chunk)
            kept = kept if size <= _MAX_KEPT else None
    await send({"type": "http.response.body", "body": chunk, "more_body": False})
    return None if kept is None else b"".join(kept)


def usage_of(body: bytes | None, cache_report: bool | None, *, choices: int = 1) -> Usage | None:
    """The usage a whole answer reports; None when it is not JSON or tells none. choices: answers per prompt."""
    if body is None:
        return None
    try:
        answer = _answer.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    answers = answer if isinstance(answer, list) else [answer]
    told = [each.usage or each.meta_info for each in answers]
    usages = {place: parse_usage(each, cache_report=cache_report) for place, each in enumerate(told) if each}
    return sum_choices(usages, choices=choices) if usages else None
