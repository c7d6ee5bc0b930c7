"""The tap forwards every byte and knows at the end what the stream said, wherever the bytes were cut."""

import gzip
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from engine_adapter import sse as sse_module
from engine_adapter.sse import RETAINED, StreamTap
from engine_adapter.usage import Usage
from engine_adapter.usage_filter import EVENT_BYTES
from prefix.errors import EngineError
from tests.cases import case
from tests.engine_adapter.streams import DONE, USAGE, chat, chunk, every_way, pieces, run, sse, usage_only

REPORTED = Usage(100, 64, None, 36, 3, 0.64, None)


@pytest.mark.parametrize("number", [45, 47, 49])
@pytest.mark.parametrize(("api", "keep_text"), [("openai", True), ("openai", False), (None, True), (None, False)])
def test_public_cases(number: int, api: str | None, keep_text: bool) -> None:
    """The case's bytes, as given, at once, one at a time and cut anywhere, give exactly its record.

    api: as OpenAI's chat chunks, and (None) by the name of the engine that wrote them.
    """
    data = case(number)
    api = api or data["input"]["dialect"]
    expected = data["expected"]
    chunks = [bytes.fromhex(chunk) for chunk in data["input"]["chunks_hex"]]
    for parts in [chunks, *every_way(b"".join(chunks))]:
        result, forwarded = run(parts, api=api, keep_text=keep_text)
        assert result.text == (expected["text"] if keep_text else "")
        assert asdict(result.usage) == expected["usage_record"]
        for name in ("done_seen", "finish_reason", "outcome", "error"):
            assert getattr(result, name) == expected[name]
        assert result.usage_partial == expected.get("usage_is_partial", False)
        assert len(forwarded) == expected["forwarded_bytes"]
        assert hashlib.sha256(forwarded).hexdigest() == expected["forwarded_sha256"]


@pytest.mark.parametrize("hide", [True, False])
def test_a_usage_chunk_nobody_asked_for_does_not_reach_the_client(hide: bool) -> None:
    """Case 51: the usage-only chunk is dropped or kept as a whole, and read either way."""
    shown = chat(chunk({"content": "hi"}), chunk(finish="stop"))
    data = shown.removesuffix(DONE) + sse(usage_only()) + DONE
    for parts in every_way(data):
        result, forwarded = run(parts, hide_usage=hide)
        assert forwarded == (shown if hide else data)
        assert (result.text, result.usage, result.outcome) == ("hi", REPORTED, "ok")


def test_chunks_are_forwarded_as_the_same_objects() -> None:
    """Without hiding the tap holds nothing back and copies nothing."""
    tap = StreamTap(keep_text=False)
    parts = [b"data: {", b"}", b"\n\n", b"\xff\xfe", b""]
    assert all(tap.feed(part) is part for part in parts)
    assert tap.close().tail == b""


END = {
    "[DONE]": (DONE, "ok"),
    "no blank line": (b"data: [DONE]", "ok"),
    "spaces": (b"data:[DONE]  \r\n\r\n", "ok"),
    "no end": (b"", "truncated"),
    "half an end": (b"data: [DON", "truncated"),
    "an error and an end": (sse({"error": {"message": "boom"}}) + DONE, "error"),
    "an error": (b"event: error\ndata: boom\n\n", "error"),
    "an error without its blank line": (b'data: {"error": "boom"}', "error"),
}


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("keep_text", [True, False])
def test_how_a_stream_ended(end: str, keep_text: bool) -> None:
    """Ok needs [DONE], an error event is an error, anything else was cut off; usage seen before is kept."""
    last, outcome = END[end]
    data = b"".join(map(sse, (chunk({"content": "hi"}, usage=USAGE), chunk(finish="stop")))) + last
    for parts in every_way(data):
        result, forwarded = run(parts, keep_text=keep_text)
        assert forwarded == data
        assert (result.outcome, result.done_seen) == (outcome, b"[DONE]" in last)
        assert result.error == ("boom" if outcome == "error" else None)
        assert (result.usage, result.usage_partial) == (REPORTED, not result.done_seen)
        assert result.finish_reason == "stop"


def test_an_error_in_the_middle_is_not_forgotten() -> None:
    """SGLang goes on after an error event: finish reasons, usage and [DONE] follow it."""
    data = chat(chunk({"content": "x"}), {"error": {"message": "m"}}, *[chunk(finish="stop")] * 9, usage_only())
    for keep_text in (True, False):
        result, _ = run([data], keep_text=keep_text)
        assert (result.outcome, result.error, result.usage) == ("error", "m", REPORTED)


def test_an_empty_stream_is_cut_off() -> None:
    """Nothing was said, nothing is known."""
    for parts in ([], [b""], [b"\n\n"], [b": ping\n\n"]):
        result, forwarded = run(parts, hide_usage=True)
        assert (result.outcome, result.usage, result.text, result.finish_reason) == ("truncated", None, "", None)
        assert not result.usage_partial
        assert forwarded == b"".join(parts)


@pytest.mark.parametrize("hide", [True, False])
def test_a_compressed_stream_is_opaque(hide: bool) -> None:
    """Bytes that are no text pass at once and unread; how it ended is for the transport to say."""
    data = gzip.compress(chat(chunk({"content": "hi"})) * 40, mtime=0) * 2000
    assert len(data) > RETAINED
    parts = list(pieces(data, range(1, len(data), 9_000)))
    tap = StreamTap(hide_usage=hide)
    assert all(tap.feed(part) is part for part in parts)
    result = tap.close()
    assert (result.outcome, result.usage, result.text, result.tail) == ("ok", None, "", b"")
    assert not tap.first_content


NOT_CONTENT = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"role": "assistant", "content": None, "tool_calls": [], "reasoning_content": ""}),
    {"choices": [{"index": 0, "text": ""}], "object": "text"},
    usage_only(),
    {"error": {"message": "content"}},
]
CONTENT = [
    chunk({"content": "x"}),
    chunk({"content": "\n"}),
    chunk({"reasoning_content": "x"}),
    chunk({"reasoning": "x"}),
    chunk({"refusal": "x"}),
    chunk({"tool_calls": [{"index": 0, "id": "c"}]}),
    chunk({"function_call": {"name": "f"}}),
    {"choices": [{"index": 0, "text": "x"}]},
    {"text": "x", "meta_info": {}},
    {"text": "", "output_ids": [4], "meta_info": {}},
]


@pytest.mark.parametrize("payload", CONTENT, ids=str)
def test_first_content_is_the_first_that_was_generated(payload: dict) -> None:
    """Roles, empty deltas, usage and errors are not content; text, reasoning and calls are, wherever they are cut."""
    tap = StreamTap(keep_text=False)
    for quiet in NOT_CONTENT:
        tap.feed(sse(quiet))
        assert not tap.first_content
    for byte in sse(payload):
        tap.feed(bytes([byte]))
    assert tap.first_content


@pytest.mark.parametrize("keep_text", [True, False])
def test_an_answer_names_itself(keep_text: bool) -> None:
    """Its id and its model, in each dialect's place; nothing where it does not say."""
    for told in (chat(chunk({"content": "a"}), chunk(finish="stop"), usage_only()), sse(chunk({"content": "a"}))):
        result, _ = run([told], keep_text=keep_text)
        assert (result.id, result.model) == ("r1", "m")
    native = sse({"text": "a", "meta_info": {"id": "g1", "finish_reason": {"type": "stop"}}})
    result, _ = run([native, DONE], keep_text=keep_text, api="sglang")
    assert (result.id, result.model) == ("g1", None)
    result, _ = run([sse({"id": 7, "model": None}), DONE], keep_text=keep_text)
    assert (result.id, result.model) == (None, None)


def test_an_unknown_api_is_refused() -> None:
    """A tap that cannot read a stream says so at once."""
    with pytest.raises(EngineError, match=r"'smoke'; known: openai, .*responses, anthropic"):
        StreamTap(api="smoke")


def test_the_caller_knows_whether_the_engine_reports() -> None:
    """Case 34 in a stream: null details are zero only when reporting is known to be on."""
    data = chat(chunk(finish="stop"), usage_only({"prompt_tokens": 40, "prompt_tokens_details": None}))
    assert run([data])[0].usage.cached_read is None
    assert run([data], cache_report=True)[0].usage.cached_read == 0


@pytest.mark.parametrize("keep_text", [True, False])
def test_generate_streams(keep_text: bool) -> None:
    """SGLang's own API: text so far, counts per choice, [DONE]; hiding usage changes nothing."""
    meta = {"prompt_tokens": 100, "cached_tokens": 64}
    events = [
        {"text": "ab"[: n + 1], "output_ids": [1] * (n + 1), "meta_info": meta | {"completion_tokens": n + 1}}
        for n in range(2)
    ]
    events[-1]["meta_info"]["finish_reason"] = {"type": "length", "length": 2}
    data = chat(*events)
    for parts in every_way(data):
        result, forwarded = run(parts, api="sglang", keep_text=keep_text, hide_usage=True)
        assert forwarded == data
        assert (result.text, result.finish_reason) == ("ab" if keep_text else "", "length")
        assert result.usage == Usage(100, 64, None, 36, 2, 0.64, None)


def long_stream(events: int, *, choices: int = 1) -> bytes:
    """More than is retained: choice 0 ends long before the others."""
    deltas = [chunk({"content": f"{n} "}, index=n % choices) for n in range(events)]
    early = [chunk(finish="length")] if choices > 1 else []
    late = [chunk(index=choices - 1, finish="stop")]
    return chat(*early, *deltas, *late, usage_only())


@pytest.mark.parametrize("choices", [1, 2])
@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 30])
def test_long_streams_are_read_in_bounded_memory(choices: int, keep_text: bool, size: int) -> None:
    """Text is complete when asked for, and how the first choice ended is known, however long the stream."""
    data = long_stream(1500, choices=choices).replace(b"\n\n", b"\r\n\r\n")
    result, forwarded = run(pieces(data, range(size, len(data), size)), keep_text=keep_text, hide_usage=False)
    assert forwarded == data
    assert result.text == ("".join(f"{n} " for n in range(0, 1500, choices)) if keep_text else "")
    assert (result.finish_reason, result.usage, result.outcome) == (
        "length" if choices > 1 else "stop",
        REPORTED,
        "ok",
    )


def test_what_is_retained_is_bounded() -> None:
    """However long the stream, a tap that keeps no text keeps a bounded number of bytes."""
    tap = StreamTap(keep_text=False)
    for part in pieces(long_stream(20_000), range(0, 4_000_000, 4_096)):
        tap.feed(part)
        assert sum(map(len, tap._parts)) <= 2 * RETAINED


@pytest.mark.parametrize("keep_text", [True, False])
def test_a_last_event_larger_than_what_is_retained_is_read(keep_text: bool) -> None:
    """Whole events are kept up to EVENT_BYTES, so a long final event still gives its usage."""
    pad = {"logprobs": "x" * (EVENT_BYTES - 2_000)}
    data = chat(*[chunk({"content": "a"})] * 400, chunk(finish="stop"), usage_only() | pad)
    result, _ = run(pieces(data, range(0, len(data), 16_384)), keep_text=keep_text)
    assert (result.usage, result.finish_reason, result.done_seen) == (REPORTED, "stop", True)


@pytest.mark.parametrize("keep_text", [True, False])
def test_an_event_beyond_the_bound_is_unknown_and_the_rest_is_not(keep_text: bool) -> None:
    """A giant event costs bounded memory and only its own content."""
    giant = chunk({"content": "x" * (2 * EVENT_BYTES)}, usage=USAGE)
    data = chat(chunk({"content": "a"}), giant, chunk({"content": "b"}), chunk(finish="stop"))
    tap = StreamTap(keep_text=keep_text)
    for part in pieces(data, range(0, len(data), 16_384)):
        assert tap.feed(part) is part
        assert sum(map(len, tap._parts)) <= EVENT_BYTES + 16_384
    result = tap.close()
    assert (result.text, result.usage) == ("ab" if keep_text else "", None)
    assert (result.finish_reason, result.outcome) == ("stop", "ok")


TEXTS = st.text(st.sampled_from('aß"\\🦀\n{}: \u2028'), max_size=6)
REASONS = st.sampled_from(["stop", "length", "tool_calls"])
# (payload or raw line, text it adds to choice 0, finish reason it gives it)
EVENTS = st.one_of(
    TEXTS.map(lambda text: (chunk({"content": text}), text, None)),
    TEXTS.map(lambda text: (chunk({"content": text}, usage=None), text, None)),
    TEXTS.map(lambda text: (chunk({"content": text}, usage=USAGE | {"completion_tokens": len(text)}), text, None)),
    TEXTS.map(lambda text: (chunk({"reasoning_content": text}), "", None)),
    TEXTS.map(lambda text: (chunk({"content": text}, index=1), "", None)),
    REASONS.map(lambda reason: (chunk(finish=reason), "", reason)),
    st.integers(0, 99).map(lambda count: (usage_only(USAGE | {"completion_tokens": count}), "", None)),
    st.sampled_from(["{not json", "", "7", '"text"']).map(lambda raw: (raw, "", None)),
)
FRAMES = st.sampled_from(
    ["data: {}", "data:{}", ": hi|data: {}", "id: 1|data: {}|retry: 5", "event: message|data: {}"]
)
STREAMS = st.tuples(
    st.lists(st.tuples(EVENTS, FRAMES), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.booleans(),
)
CUTS = st.lists(st.integers(0, 2_000), max_size=12)


def written(stream: tuple, *, hide: bool) -> bytes:
    """The bytes of a generated stream, without its usage-only events when they are to be hidden."""
    events, end, done, mark = stream
    out = "\ufeff" if mark else ""
    for (payload, _, _), frame in events:
        if not (hide and isinstance(payload, dict) and payload["choices"] == []):
            data = sse(payload, end="", space="").decode().removeprefix("data:")
            out += frame.replace("{}", data, 1).replace("|", end) + end + end
    return (out + f"data: [DONE]{end}{end}" * done).encode()


@settings(deadline=None)
@given(STREAMS, CUTS, st.booleans(), st.sampled_from([RETAINED, 512]))
def test_any_stream_cut_anywhere(stream: tuple, cuts: list[int], hide: bool, retained: int) -> None:
    """Text, finish reason, usage and outcome are those of the events, and what passes is what should."""
    events, _, done, _ = stream
    data = written(stream, hide=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse_module, "RETAINED", retained)
        result, forwarded = run(pieces(data, [cut for cut in cuts if cut < len(data)]), hide_usage=hide)
    assert forwarded == written(stream, hide=hide)
    assert result.text == "".join(text for (_, text, _), _ in events)
    assert result.finish_reason == next((reason for (_, _, reason), _ in reversed(events) if reason), None)
    usages = [payload.get("usage") for (payload, _, _), _ in events if isinstance(payload, dict)]
    last = next((usage for usage in reversed(usages) if usage), None)
    assert (result.usage and result.usage.output) == (last and last["completion_tokens"])
    assert (result.outcome, result.done_seen, result.error) == ("ok" if done else "truncated", done, None)
    lean, _ = run([data], keep_text=False)
    assert lean == replace(result, text="", tail=b"")
