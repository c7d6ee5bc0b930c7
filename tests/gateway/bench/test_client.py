"""gateway.bench.client: what a client can see of an answer, and what kind of failure it is."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.apis import CHAT, GENERATE, MESSAGES, RESPONSES
from gateway.bench.client import ContentTimes, Target
from tests.gateway.bench.target import DONE, END, STREAM, USAGE, WORD, Handler, cut, plain, streaming, target

ERROR = b'data: {"error":{"message":"boom"}}\n\n'
GENERATED = (
    b'data: {"text":"hi","meta_info":{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":4}}\n\n'
    b'data: {"text":"hi you","meta_info":{"prompt_tokens":9,"completion_tokens":2,"cached_tokens":4,'
    b'"finish_reason":{"type":"length"}}}\n\n'
)
CLAUDE = (
    b"event: message_start\n"
    b'data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"hi"}}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":2}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)


class Ticks:
    """A clock that counts how often it was asked."""

    def __init__(self) -> None:
        self.count = 0.0

    def __call__(self) -> float:
        self.count += 1
        return self.count


@settings(max_examples=40)
@given(st.sets(st.integers(1, len(b"".join(STREAM)) - 1)))
def test_every_event_with_content_is_timed_once(cuts: set[int]) -> None:
    """However the stream is cut: when its last byte came."""
    whole = b"".join(STREAM)
    edges = [0, *sorted(cuts), len(whole)]
    times = ContentTimes("openai")
    for now, (start, end) in enumerate(pairwise(edges)):
        times.feed(whole[start:end], float(now))
    ends = [len(WORD), 2 * len(WORD)]
    assert list(times.times) == [next(nth for nth, edge in enumerate(edges[1:]) if edge >= end) for end in ends]


@pytest.mark.parametrize(
    ("path", "chunks", "tokens", "events"),
    [
        (CHAT, STREAM, (9, 4, 2), 2),
        (GENERATE, (GENERATED, DONE), (9, 4, 2), 2),
        (MESSAGES, (CLAUDE,), (9, None, 2), 1),
    ],
)
async def test_streams_of_every_api(
    path: str, chunks: tuple[bytes, ...], tokens: tuple[int | None, ...], events: int
) -> None:
    """Content is timed and usage read, whichever dialect it is."""
    async with target(streaming(*chunks)) as asked:
        answer = await asked.ask(path, b"{}", {}, Ticks())
    assert answer.error is None
    assert answer.usage is not None
    assert (answer.usage.input_total, answer.usage.cached_read, answer.usage.output) == tokens
    assert len(answer.content_s) == events


async def test_an_answer_in_one_piece_has_no_ttft() -> None:
    """Nobody knows when its first token was there: unknown, not the end."""
    body = {"choices": [{"message": {"content": "hi"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    async with target(plain(body)) as asked:
        answer = await asked.ask(CHAT, b"{}", {}, Ticks())
    assert (answer.error, len(answer.content_s)) == (None, 0)
    assert answer.usage is not None
    assert (answer.usage.input_total, answer.usage.cached_read) == (9, None)


@pytest.mark.parametrize(
    ("handler", "kind", "detail"),
    [
        (plain({"error": {"message": "slow down"}}, 429), "rejected", "HTTP 429: slow down"),
        (plain({"error": {"message": "no engine"}}, 503), "rejected", "HTTP 503: no engine"),
        (plain({"error": {"message": "who?"}}, 401), "http_401", "HTTP 401: who?"),
        (plain(b"<html>\n no", 500), "http_500", "HTTP 500: <html> no"),
        (plain(b"", 302), "http_302", "HTTP 302: "),
        (plain(b"hello"), "not_json", "hello"),
        (streaming(WORD, ERROR), "error_event", "boom"),
        (streaming(WORD, END), "truncated", ""),
        (streaming(WORD, then=cut), "broken", "ClientPayloadError"),
    ],
)
async def test_failures_have_a_kind(handler: Handler, kind: str, detail: str) -> None:
    """And say what the target said."""
    async with target(handler) as asked:
        answer = await asked.ask(CHAT, b"{}", {}, Ticks())
    assert answer.error == kind
    assert answer.detail.startswith(detail)


async def test_nobody_there_and_nobody_answers(unused_tcp_port: int) -> None:
    """A refused connection and a timeout are told apart."""
    gone = Target(f"http://127.0.0.1:{unused_tcp_port}", {}, 5.0)
    assert (await gone.ask(RESPONSES, b"{}", {}, Ticks())).error == "connect"
    await gone.http.close()
    async with target(streaming(USAGE)) as asked:
        hasty = Target(asked.url, {}, 1e-6)
        assert (await hasty.ask(CHAT, b"{}", {}, Ticks())).error == "timeout"
        await hasty.http.close()
