"""The tap reads Responses and Anthropic streams as real engines write them, wherever their bytes were cut."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_adapter.sse import RETAINED, StreamTap
from engine_adapter.usage import Usage
from engine_adapter.usage_filter import EVENT_BYTES
from tests.engine_adapter.streams import DONE, every_way, pieces, run, sse

STREAMS = Path(__file__).parents[1] / "data" / "streams"
RECORDED = {path.stem.removeprefix("sglang-"): path.read_bytes() for path in STREAMS.glob("sglang-*.sse")}
API = {"messages": "anthropic", "responses": "responses", "responses-failed": "responses"}
TOLD = {
    "messages": ("SCIIenterenterenterenterenterenterenter", Usage(84, 80, None, 4, 8, 0.952381, None), "max_tokens"),
    "responses": ("SCIIenterenterenterenterenter", Usage(84, 80, 0, 4, 6, 0.952381, None), "max_output_tokens"),
    "responses-failed": ("", None, "failed"),
}


def typed(kind: str, **fields: object) -> bytes:
    """An event with its name and its type."""
    return f"event: {kind}\n".encode() + sse({"type": kind, **fields})


def ends(name: str) -> int:
    """Where the last event begins."""
    return RECORDED[name].rstrip(b"\n").rfind(b"\n\n") + 2


@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize("name", RECORDED)
def test_real_streams_are_read_the_same_wherever_they_are_cut(name: str, keep_text: bool) -> None:
    """What SGLang 0.5.23 wrote: every byte goes on, and text, usage, end and error are known."""
    data = RECORDED[name]
    text, usage, reason = TOLD[name]
    step = 1 if len(data) < 3_000 else 7
    for parts in list(every_way(data))[:: step if keep_text else 5 * step]:
        result, forwarded = run(parts, keep_text=keep_text, api=API[name])
        assert forwarded == data
        assert (result.usage, result.finish_reason, result.done_seen) == (usage, reason, True)
        assert result.text == (text if keep_text else "")
        assert result.outcome == ("error" if "failed" in name else "ok")
        assert (result.error or "").startswith("Requested token count" if "failed" in name else "")
        assert not result.usage_partial


@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize("name", RECORDED)
def test_an_answer_names_itself_and_its_model(name: str, keep_text: bool) -> None:
    """Wherever the dialect says it: at the start, at the end, or in every event."""
    result, _ = run([RECORDED[name]], keep_text=keep_text, api=API[name])
    told = RECORDED[name].decode()
    assert result.id
    assert f'"id":"{result.id}"' in told
    assert result.model
    assert f'"model":"{result.model}"' in told


@pytest.mark.parametrize("name", ["messages", "responses"])
def test_a_stream_cut_off_anywhere_is_truncated(name: str) -> None:
    """Case 49 in these dialects: before the event that ends it, an answer is half, and its counts are partial."""
    data = RECORDED[name]
    for end in range(0, ends(name) + 20, 11):
        for keep_text in (True, False):
            result, _ = run([data[:end]], keep_text=keep_text, api=API[name])
            assert (result.outcome, result.done_seen) == ("truncated", False)
            assert result.usage_partial == (result.usage is not None)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_cuts_give_one_result(data: st.DataObject) -> None:
    """Line ends of any kind, comments between events and any cuts: one result."""
    name = data.draw(st.sampled_from(sorted(RECORDED)))
    end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    comment = data.draw(st.sampled_from([b"", b": ping\n\n", b'event: ping\ndata: {"type":"ping"}\n\n']))
    stream = (comment + RECORDED[name].replace(b"\n\n", b"\n\n" + comment)).replace(b"\n", end)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=9))
    whole, _ = run([RECORDED[name]], api=API[name])
    result, forwarded = run(pieces(stream, cuts), api=API[name])
    assert (result, forwarded) == (whole, stream)


@pytest.mark.parametrize("size", [1, 7, 4000])
@pytest.mark.parametrize("name", ["messages", "responses"])
def test_a_long_stream_keeps_what_its_first_and_last_events_counted(name: str, size: int) -> None:
    """Memory is bounded, and the input counted at the start of an Anthropic stream is not lost with it."""
    data = RECORDED[name]
    delta = next(event + b"\n\n" for event in data.split(b"\n\n") if b"delta" in event)
    at = data.find(delta)
    long = data[:at] + delta * (3 * RETAINED // len(delta)) + data[at:]
    tap = StreamTap(api=API[name], keep_text=False)
    for start in range(0, len(long), size):
        tap.feed(long[start : start + size])
        assert tap._held <= 2 * RETAINED
    result = tap.close()
    assert (result.usage, result.outcome) == (TOLD[name][1], "ok")


@pytest.mark.parametrize("name", ["messages", "responses"])
def test_first_content_is_the_first_delta(name: str) -> None:
    """Not the start of the answer, whatever the request that it repeats says."""
    data = RECORDED[name]
    told = data.find(b'delta":"SCII' if name == "responses" else b'"text":"SCII')
    for cut in range(told - 200, told):
        tap = StreamTap(api=API[name], keep_text=False)
        tap.feed(data[:cut])
        seen = tap.first_content
        tap.feed(data[cut : told + 20])
        assert tap.first_content
        assert seen is False or b".delta" in data[cut - 60 : cut]


def test_the_id_of_a_response_is_known_from_its_first_event() -> None:
    """Before any text, wherever it was cut; a text that looks like one is none."""
    first = typed("response.created", response={"id": "resp_1", "instructions": '"response":{"id":"resp_0"'})
    later = typed("response.in_progress", response={"instructions": "x", "id": "resp_1"})
    for cut in range(len(first)):
        tap = StreamTap(api="responses", keep_text=False)
        tap.feed(first[:cut])
        tap.feed(first[cut:])
        assert tap.response_id == "resp_1"
        tap.close()
    tap = StreamTap(api="responses")
    tap.feed(later)
    tap.close()
    assert tap.response_id == "resp_1"


FAULTS = {
    "event and type": typed("error", error={"type": "overloaded_error", "message": "boom"}),
    "type only": sse({"type": "error", "error": {"type": "api_error", "message": "boom"}}),
    "flat": typed("error", code="server_error", message="boom", param=None),
    "no type": b'event: error\ndata: {"message":"boom"}\n\n',
    "with an end": typed("error", error={"message": "boom"}) + typed("message_stop"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("api", ["responses", "anthropic"])
@pytest.mark.parametrize("keep_text", [True, False])
def test_error_events_end_a_stream_with_their_message(fault: str, api: str, keep_text: bool) -> None:
    """In the shapes of both APIs; what came before is kept."""
    data = RECORDED["messages" if api == "anthropic" else "responses"][:1000] + b"\n\n" + FAULTS[fault]
    for parts in ([data], [data[i : i + 1] for i in range(len(data))]):
        result, _ = run(parts, api=api, keep_text=keep_text)
        assert (result.outcome, result.error) == ("error", "boom")


ANTHROPIC = [
    # (usage at the start, usage at the end) -> what the request cost
    ({"input_tokens": 25, "output_tokens": 1}, {"output_tokens": 15}, Usage(25, None, None, None, 15)),
    ({"input_tokens": 25, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 15}, Usage(25, output=15)),
    ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 30, "output_tokens": 5}, Usage(30, output=5)),
    (
        {"input_tokens": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output_tokens": 1},
        {"output_tokens": 4, "input_tokens": None},
        Usage(100, 90, 7, 10, 4, 0.9),
    ),
    (
        {"input_tokens": 3, "output_tokens": 1},
        {"input_tokens": 3, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0, "output_tokens": 4},
        Usage(10, 7, 0, 3, 4, 0.7),
    ),
    ({"input_tokens": -3}, {"output_tokens": 4}, Usage(output=4, anomaly="negative_count")),
    (None, {"output_tokens": 4}, Usage(output=4)),
    (None, None, None),
]


@pytest.mark.parametrize(("first", "last", "usage"), ANTHROPIC)
def test_anthropic_counts_come_in_two_parts(first: object, last: object, usage: Usage | None) -> None:
    """Input at the start, output at the end, repeated or not; unknown is not zero and odd counts are flagged."""
    data = typed("message_start", message={"id": "m", "usage": first}) + typed("ping")
    data += typed("content_block_delta", index=0, delta={"type": "text_delta", "text": "hi"})
    data += typed("message_delta", delta={"stop_reason": "end_turn"}, usage=last) + typed("message_stop")
    for keep_text in (True, False):
        result, _ = run([data], api="anthropic", keep_text=keep_text)
        assert (result.usage, result.finish_reason, result.outcome) == (usage, "end_turn", "ok")


def test_an_end_too_long_to_keep_is_an_end() -> None:
    """The last event of a response repeats all of it; beyond the bound its counts are unknown, but not its end."""
    long = typed("response.completed", response={"id": "r", "output": ["x" * EVENT_BYTES]})
    for data, outcome in ((long, "ok"), (long[:-3], "truncated"), (long[: EVENT_BYTES + 20], "truncated")):
        parts = list(pieces(typed("response.created", response={"id": "r"}) + data, range(0, len(data), 50_000)))
        result, forwarded = run(parts, api="responses", keep_text=False)
        assert (result.outcome, len(forwarded)) == (outcome, sum(map(len, parts)))


def test_ends_of_responses() -> None:
    """Each status that ends a response, the text that came without deltas, and a [DONE] that some proxies add."""
    output = [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}]
    for status, details, reason in (
        ("completed", None, "completed"),
        ("incomplete", {"reason": "content_filter"}, "content_filter"),
        ("incomplete", None, "incomplete"),
        ("cancelled", None, "cancelled"),
    ):
        body = {"id": "r", "status": status, "output": output, "incomplete_details": details}
        for tail in (b"", DONE):
            result, _ = run([typed(f"response.{status}", response=body) + tail], api="responses")
            assert (result.text, result.finish_reason, result.outcome) == ("hi", reason, "ok")


def test_hiding_usage_leaves_these_dialects_alone() -> None:
    """Their counts come with the events that end them."""
    for name, api in API.items():
        assert run([RECORDED[name]], api=api, hide_usage=True)[1] == RECORDED[name]


def test_sglang_chat_is_read_by_its_own_name_too() -> None:
    """An engine's name is no other dialect: chat chunks of SGLang are OpenAI's."""
    body = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}
    result, _ = run([sse(json.loads(json.dumps(body))) + DONE], api="sglang")
    assert (result.text, result.finish_reason, result.outcome) == ("hi", "stop", "ok")
