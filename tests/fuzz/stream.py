"""StreamTap: cut anywhere, any bytes give the same answer, and nothing that is to be forwarded is lost or changed."""

import json
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.sse import StreamTap

APIS: Final = ("openai", "responses", "anthropic", "sglang")
_DELTA: Final = {"choices": [{"index": 0, "delta": {"content": "é✓"}, "finish_reason": None}]}
_USAGE: Final = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}
_FRAGMENTS: Final = [
    *(b"data: ", b"data:", b"data", b": comment", b"event: message_stop", b"event: error", b"id: 1", b"retry: 5"),
    *(
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\r",
        b"\xef\xbb\xbf",
        b" ",
        b"\x00",
        b"\xc3",
        b"[DONE]",
        b"null",
        b"{}",
        b"[]",
    ),
    *(json.dumps(each, ensure_ascii=False).encode() for each in (_DELTA, _USAGE, {"error": {"message": "x"}})),
    *(
        b'{"choices":null}',
        b'{"usage":{"prompt_tokens":-1}}',
        b'{"usage":{"prompt_tokens":1e999}}',
        b'{"choices":[{}]}',
    ),
    b'{"type":"response.created","response":{"id":"r"}}',
    b'{"type":"response.output_text.delta","delta":"x"}',
    b'{"type":"response.completed","response":{"usage":{"input_tokens":1}}}',
    b'{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3,"output_tokens":1}}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}',
    b'{"type":"message_stop"}',
    b'{"type":"message_delta","usage":{"output_tokens":3}}',
    b'{"text":"x","meta_info":{"prompt_tokens":3,"finish_reason":{"type":"stop"}}}',
]


@given(
    st.lists(st.one_of(st.sampled_from(_FRAGMENTS), st.binary(max_size=6)), max_size=24).map(b"".join),
    st.lists(st.integers(0, 400), max_size=8),
    st.sampled_from(APIS),
    st.booleans(),
)
def stream_tap(data: bytes, cuts: list[int], api: str, hide_usage: bool) -> None:
    """The property."""
    whole = _run([data], api, hide_usage)
    places = sorted({min(cut, len(data)) for cut in cuts})
    pieces = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    assert _run(pieces, api, hide_usage) == whole
    assert _run([data[i : i + 1] for i in range(len(data))], api, hide_usage) == whole
    if not hide_usage:
        assert whole[1] == data


def _run(pieces: list[bytes], api: str, hide_usage: bool) -> tuple[Any, bytes]:
    tap = StreamTap(api=api, hide_usage=hide_usage)
    forwarded = b"".join([tap.feed(piece) for piece in pieces])
    result = tap.close()
    seen = (result.text, result.usage, result.finish_reason, result.done_seen, result.outcome, result.error)
    return seen, forwarded + result.tail
