"""Streams as engines write them, ways to cut them, and one way to run a tap over the pieces."""

import json
from collections.abc import Iterable, Iterator

from engine_adapter.sse import StreamResult, StreamTap

DONE = b"data: [DONE]\n\n"
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 3,
    "total_tokens": 103,
    "prompt_tokens_details": {"cached_tokens": 64},
}


def chunk(delta: dict | None = None, *, index: int = 0, finish: str | None = None, **extra: object) -> dict:
    """A chat chunk."""
    choice = {"index": index, "delta": delta or {}, "logprobs": None, "finish_reason": finish}
    return {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]} | extra


def usage_only(usage: object = USAGE) -> dict:
    """The chunk that `stream_options.include_usage` adds."""
    return chunk() | {"choices": [], "usage": usage}


def sse(payload: object, *, end: str = "\n", space: str = " ") -> bytes:
    """One event with that payload, in UTF-8."""
    data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    return f"data:{space}{data}{end}{end}".encode()


def chat(*payloads: dict) -> bytes:
    """A whole stream: these chunks, then [DONE]."""
    return b"".join(map(sse, payloads)) + DONE


def pieces(data: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    """`data` cut at these offsets."""
    start = 0
    for cut in [*sorted(cuts), len(data)]:
        yield data[start:cut]
        start = cut


def every_way(data: bytes) -> Iterator[list[bytes]]:
    """`data` at once, a byte at a time, and cut in two at every byte."""
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    for cut in range(1, len(data)):
        yield [data[:cut], data[cut:]]


def run(parts: Iterable[bytes], **options: object) -> tuple[StreamResult, bytes]:
    """Result of a tap fed with these parts, and all the bytes it forwarded."""
    tap = StreamTap(**options)
    forwarded = b"".join([tap.feed(part) for part in parts])
    result = tap.close()
    return result, forwarded + result.tail
