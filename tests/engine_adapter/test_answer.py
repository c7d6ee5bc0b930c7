"""Events add up to an answer: one reader per API, later values over earlier ones."""

import pytest

from engine_adapter.answer import Answer, read
from engine_adapter.dialects import DIALECTS
from engine_adapter.usage import Usage
from tests.engine_adapter.streams import USAGE, chunk, sse, usage_only


def fold(*payloads: object, api: str = "openai", event: str = "") -> Answer:
    """The answer after these events."""
    answer = Answer(keep_text=True)
    for payload in payloads:
        read(answer, event.encode() + sse(payload).rstrip(), DIALECTS[api].reader)
    return answer


def test_text_is_what_was_generated_as_content() -> None:
    """Deltas of the first choice add up; reasoning, tool calls and roles are not its text."""
    answer = fold(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "hm"}),
        chunk({"content": "a", "tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}),
        chunk({"content": "other"}, index=1),
        chunk({"content": None}),
        chunk({"content": "b"}),
    )
    assert "".join(answer.first.text) == "ab"
    assert "".join(answer.choices[1].text) == "other"


def test_completions_carry_text_beside_the_choice() -> None:
    """The completions API has no delta."""
    answer = fold(*({"choices": [{"index": 0, "text": text, "finish_reason": None}]} for text in "ab"))
    assert "".join(answer.first.text) == "ab"


def test_finish_reasons_are_per_choice() -> None:
    """The first choice's stands for the answer, in whichever order they come, and null does not erase it."""
    answer = fold(chunk(index=1, finish="length"), chunk(finish="stop"), chunk(index=1), chunk())
    assert (answer.first.finish_reason, answer.choices[1].finish_reason) == ("stop", "length")
    assert fold(chunk(), chunk(index=1, finish="stop")).first.finish_reason is None


def test_the_last_usage_counts_and_null_does_not_erase_it() -> None:
    """Continuous usage grows; null, empty and non-object usage is no report."""
    first = USAGE | {"completion_tokens": 1}
    answer = fold(chunk(usage=first), chunk(usage=USAGE), chunk(usage=None), chunk(usage={}), chunk(usage=3))
    assert answer.usage(choices=1, cache_report=None) == Usage(100, 64, None, 36, 3, 0.64, None)
    assert fold(chunk(usage=None)).usage(choices=1, cache_report=None) is None


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"error": {"object": "error", "message": "out of memory", "code": 500}}, "out of memory"),
        ({"error": "boom"}, "boom"),
        ({"object": "error", "message": "old vLLM", "error": None}, "old vLLM"),
        ({"error": {"code": 500}}, "error event"),
        ({"error": True}, "error event"),
    ],
)
def test_error_objects_are_errors(payload: dict, message: str) -> None:
    """Every engine's spelling is seen, with its message; the first error stays."""
    assert fold(payload, {"error": "later"}).error == message


@pytest.mark.parametrize(
    ("data", "message"),
    [({"message": "no"}, "no"), ("plain words", "plain words"), ({}, "{}"), ("", "error event")],
)
def test_events_named_error_are_errors(data: object, message: str) -> None:
    """`event: error` is one whatever its data says."""
    assert fold(data, event="event: error\n").error == message


def test_a_null_error_is_none() -> None:
    """Servers that always write the key report no error with it."""
    assert fold(chunk() | {"error": None}, chunk() | {"error": {}}).error is None


UNEXPECTED = [
    [1],
    7,
    "text",
    {"choices": 5},
    {"choices": [None, 3]},
    {"choices": [{"delta": 1, "index": "x"}]},
    {"choices": [{"delta": {"content": 3}, "finish_reason": 5}]},
    {"usage": []},
    {"usage": {"usage": 5}},
    {"meta_info": 1},
    {"meta_info": {}, "text": 1},
    {"meta_info": {"usage": [], "finish_reason": 1}},
]


@pytest.mark.parametrize("payload", UNEXPECTED, ids=str)
@pytest.mark.parametrize("api", DIALECTS)
def test_unexpected_shapes_are_passed_over(payload: object, api: str) -> None:
    """Whatever an engine answers, reading it does not raise."""
    answer = fold(payload, api=api)
    answer.usage(choices=1, cache_report=None)
    assert (answer.first.text, answer.first.finish_reason, answer.error) == ([], None, None)


def generated(text: str, ids: int | None, tokens: int, reason: object = None, **extra: object) -> dict:
    """An event of SGLang's /generate."""
    meta = {
        "id": "g",
        "finish_reason": reason,
        "prompt_tokens": 100,
        "cached_tokens": 64,
        "completion_tokens": tokens,
    }
    return {"text": text, "meta_info": meta} | ({} if ids is None else {"output_ids": [1] * ids}) | extra


@pytest.mark.parametrize("with_ids", [True, False])
def test_generate_repeats_the_text_so_far(with_ids: bool) -> None:
    """The newest event has the whole text."""
    events = [generated("ha" * n, n if with_ids else None, n) for n in (1, 2, 3)]
    answer = fold(*events, api="sglang")
    assert "".join(answer.first.text) == "hahaha"
    assert answer.usage(choices=1, cache_report=None) == Usage(100, 64, None, 36, 3, 0.64, None)


def test_generate_may_take_a_stop_string_back() -> None:
    """A shorter last text is still the whole text."""
    events = [
        generated("a", 1, 1),
        generated("a ST", 2, 2),
        generated("a ", 3, 3, {"type": "stop", "matched": "STOP"}),
    ]
    answer = fold(*events, api="sglang")
    assert ("".join(answer.first.text), answer.first.finish_reason) == ("a ", "stop")


@pytest.mark.parametrize("pieces", [["ha", "ha", "ha"], ["h", "hi", ""]])
def test_generate_in_incremental_mode_adds(pieces: list[str]) -> None:
    """Fewer output_ids than tokens so far: the text is a piece, even when pieces look like repetitions."""
    answer = fold(*(generated(piece, 1, n + 1) for n, piece in enumerate(pieces)), api="sglang")
    assert "".join(answer.first.text) == "".join(pieces)


def test_incremental_pieces_without_ids_are_told_by_their_text() -> None:
    """A text that does not start with the first one is a piece."""
    answer = fold(*(generated(piece, None, n + 1) for n, piece in enumerate(["He", "llo", "!"])), api="sglang")
    assert "".join(answer.first.text) == "Hello!"


def test_generate_choices_share_their_prompt() -> None:
    """With an index, the prompt counts once per `choices` and output is added."""
    events = [generated("x", 1, 7, index=0), generated("y", 1, 8, index=1), generated("z", 1, 9, index=2)]
    answer = fold(*events, api="sglang")
    assert answer.usage(choices=3, cache_report=None) == Usage(100, 64, None, 36, 24, 0.64, None)
    assert answer.usage(choices=1, cache_report=None) == Usage(300, 192, None, 108, 24, 0.64, None)


def test_an_abort_with_a_status_is_an_error() -> None:
    """SGLang reports timeouts and memory exhaustion so; an abort the caller asked for has no status."""
    asked = {"type": "abort", "message": "Abort before prefill"}
    assert fold(generated("", 0, 0, asked), api="sglang").error is None
    failed = fold(generated("", 0, 0, asked | {"status_code": 503}), api="sglang")
    assert (failed.error, failed.first.finish_reason) == ("Abort before prefill", "abort")


def test_an_answer_is_settled_when_nothing_earlier_can_change_it() -> None:
    """Done, finished and reported, of one choice."""
    answer = fold(chunk(finish="stop"), usage_only(), "[DONE]")
    assert answer.settled
    assert not fold(chunk(finish="stop"), "[DONE]").settled
    assert not fold(chunk(index=1, finish="stop"), usage_only(), "[DONE]").settled
    assert not fold(generated("x", 1, 1, {"type": "stop"}, index=0), "[DONE]", api="sglang").settled
