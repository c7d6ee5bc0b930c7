"""Usage in every dialect becomes one record, and oddities are flagged instead of repaired."""

from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from engine_adapter.usage import ANOMALIES, Usage, parse_usage, sum_choices
from prefix.errors import UsageError
from tests.cases import case

DIALECT_CASES = [57, 58, 59, 60, 62, 64]


@pytest.mark.parametrize("number", DIALECT_CASES)
def test_records_of_the_public_cases(number: int) -> None:
    """Each dialect's usage object gives exactly the case's record."""
    data = case(number)
    assert asdict(parse_usage(data["input"]["usage"])) == data["expected"]["record"]


@pytest.mark.parametrize("number", DIALECT_CASES)
@pytest.mark.parametrize("wrap", ["usage", "response", "message"])
def test_whole_responses_are_unwrapped(number: int, wrap: str) -> None:
    """A usage object reads the same inside a response body or a stream event."""
    data = case(number)
    body = {"id": "r", "model": "m", "usage": data["input"]["usage"]}
    assert (
        asdict(parse_usage(body if wrap == "usage" else {"type": "event", wrap: body})) == data["expected"]["record"]
    )


@pytest.mark.parametrize(
    "details", [{"prompt_tokens_details": None}, {}, {"prompt_tokens_details": {"cached_tokens": None}}]
)
def test_an_absent_cached_count_is_unknown_until_reporting_is_known(details: dict) -> None:
    """Case 34: null or missing is 0 only when the engine is known to report."""
    data = case(34)
    usage = {key: value for key, value in data["input"]["usage"].items() if key != "prompt_tokens_details"} | details
    on, unknown = data["expected"]["cache_report_known_on"], data["expected"]["cache_report_unknown"]
    assert asdict(parse_usage(usage, cache_report=True)) == on
    assert asdict(parse_usage(usage)) == asdict(parse_usage(usage, cache_report=False)) == unknown


def test_a_reported_count_wins_over_what_is_known_of_the_engine() -> None:
    """cache_report only says what absence means."""
    usage = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}
    assert parse_usage(usage, cache_report=False).cached_read == 4
    assert parse_usage(usage, cache_report=True).cached_read == 4


def test_parallel_choices_count_their_prompt_once() -> None:
    """Case 36: prompt and cached tokens of the first choice, output of all."""
    data = case(36)
    metas = [{"text": "", "meta_info": meta} for meta in data["input"]["per_choice_meta"]]
    usage = sum_choices(dict(enumerate(map(parse_usage, metas))), choices=data["input"]["request"]["n"])
    expected = data["expected"]["usage"]
    assert (usage.input_total, usage.cached_read, usage.output) == tuple(
        expected[key] for key in ("prompt_tokens", "cached_tokens", "completion_tokens")
    )
    assert usage.hit_ratio == data["expected"]["hit_ratio"]


def test_choices_of_several_prompts_add_up() -> None:
    """The prompts of a batch are added, a choice whose counts are missing makes the sum unknown."""
    each = Usage(input_total=10, cached_read=4, output=2)
    batch = dict(enumerate([each, Usage(input_total=10, cached_read=9, output=2)] * 2))
    assert sum_choices(batch, choices=2) == Usage(20, 8, None, 12, 8, 0.4, None)
    assert sum_choices(batch | {1: Usage()}, choices=2).output is None
    assert sum_choices({1: each}, choices=2) == Usage(output=2)


SHAPES = {
    "vllm": (
        {
            "prompt_tokens": 980,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 960, "created_cache_tokens": 0},
        },
        Usage(980, 960, 0, 20, 2, 0.979592, None),
    ),
    "sglang /generate": (
        {"text": "x", "meta_info": {"prompt_tokens": 920, "cached_tokens": 912, "completion_tokens": 3}},
        Usage(920, 912, None, 8, 3, 0.991304, None),
    ),
    "anthropic without cache fields": (
        {"type": "message", "usage": {"input_tokens": 40, "output_tokens": 5}},
        Usage(40, None, None, None, 5, None, None),
    ),
    "anthropic by lifetime": (
        {
            "input_tokens": 1,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 2},
        },
        Usage(10, 0, 9, 10, None, 0.0, None),
    ),
    "anthropic message_start": (
        {
            "type": "message_start",
            "message": {"usage": {"input_tokens": 2, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 0}},
        },
        Usage(10, 8, 0, 2, None, 0.8, None),
    ),
    "responses event": (
        {
            "type": "response.completed",
            "response": {
                "usage": {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 16}, "output_tokens": 1}
            },
        },
        Usage(20, 16, None, 4, 1, 0.8, None),
    ),
    "deepseek without a prompt count": (
        {"prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 1},
        Usage(4, 3, None, 1, None, 0.75, None),
    ),
    "deepseek without a hit count": (
        {"prompt_tokens": 4, "prompt_cache_miss_tokens": 1},
        Usage(4, 3, None, 1, None, 0.75, None),
    ),
    "gemini, thoughts apart": (
        {
            "candidates": [],
            "usageMetadata": {
                "promptTokenCount": 100,
                "cachedContentTokenCount": 80,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 7,
                "totalTokenCount": 112,
            },
        },
        Usage(100, 80, None, 20, 12, 0.8, None),
    ),
    "gemini, thoughts included": (
        {"promptTokenCount": 100, "candidatesTokenCount": 12, "thoughtsTokenCount": 7, "totalTokenCount": 112},
        Usage(100, None, None, None, 12, None, None),
    ),
    "no usage yet": ({"id": "r1", "choices": [], "usage": None}, Usage()),
    "an empty prompt": ({"prompt_tokens": 0, "cached_tokens": 0}, Usage(0, 0, None, 0, None, None, None)),
    "an immutable mapping": (MappingProxyType({"usage": MappingProxyType({"prompt_tokens": 1})}), Usage(1)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_without_a_public_case(shape: str) -> None:
    """Further dialects and envelopes give the record their documentation implies."""
    payload, expected = SHAPES[shape]
    assert parse_usage(payload) == expected


ODD = {
    "more cached than sent": (
        {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 120}},
        Usage(100, 120, anomaly="cached_exceeds_input"),
    ),
    "negative": ({"prompt_tokens": -1, "cached_tokens": 0}, Usage(None, 0, anomaly="negative_count")),
    "a float": ({"prompt_tokens": 10.0, "cached_tokens": 1}, Usage(None, 1, anomaly="not_an_integer")),
    "a bool": ({"prompt_tokens": 10, "cached_tokens": True}, Usage(10, anomaly="not_an_integer")),
    "a string": ({"prompt_tokens": "10"}, Usage(anomaly="not_an_integer")),
    "details that are no object": (
        {"prompt_tokens": 9, "prompt_tokens_details": 4},
        Usage(9, anomaly="not_an_integer"),
    ),
    "more written than uncached": (
        {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 5}},
        Usage(10, 8, 5, 2, None, 0.8, "cache_write_exceeds_uncached"),
    ),
    "hit and miss do not add up": (
        {"prompt_tokens": 10, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 1},
        Usage(10, 8, None, 2, None, 0.8, "conflicting_cache_fields"),
    ),
    "more misses than input": (
        {"prompt_tokens": 4, "prompt_cache_miss_tokens": 9},
        Usage(4, anomaly="conflicting_cache_fields"),
    ),
    "lifetimes do not add up": (
        {"input_tokens": 1, "cache_creation_input_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 6}},
        Usage(7, None, 6, None, None, None, "conflicting_cache_fields"),
    ),
    "two inputs": ({"prompt_tokens": 10, "input_tokens": 9}, Usage(10, anomaly="conflicting_input_fields")),
}


@pytest.mark.parametrize("oddity", ODD)
def test_oddities_are_flagged_and_never_clamped(oddity: str) -> None:
    """What cannot be is unknown and named; what was reported stays as reported."""
    payload, expected = ODD[oddity]
    assert parse_usage(payload) == expected
    assert expected.anomaly in ANOMALIES


def test_a_malformed_report_is_not_a_zero() -> None:
    """cache_report makes absence zero, not garbage."""
    usage = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": -3}}
    assert parse_usage(usage, cache_report=True).cached_read is None


def test_an_anthropic_usage_that_also_carries_the_inclusive_count() -> None:
    """Proxies that add `prompt_tokens` to an Anthropic usage report the same prompt twice, not a conflict."""
    usage = case(58)["input"]["usage"] | {"prompt_tokens": 130213}
    assert asdict(parse_usage(usage)) == case(58)["expected"]["record"]


@pytest.mark.parametrize("payload", [[], None, "usage", 3, {"usage": 5}, {"usage": [1]}, {"meta_info": "x"}])
def test_what_is_no_object_is_a_named_error(payload: object) -> None:
    """Only an object can be a usage payload."""
    with pytest.raises(UsageError, match="must be a JSON object"):
        parse_usage(payload)


KEYS = st.sampled_from(
    "prompt_tokens input_tokens completion_tokens cached_tokens prompt_tokens_details usage input_tokens_details "
    "cache_read_input_tokens prompt_cache_miss_tokens promptTokenCount response".split()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 200) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.dictionaries(KEYS, inner, max_size=5) | st.lists(inner, max_size=2),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=6), st.none() | st.booleans())
def test_any_object_gives_a_consistent_record(payload: dict, cache_report: bool | None) -> None:
    """Counts are never negative, uncached and cached always add up, and nothing but UsageError is raised."""
    try:
        usage = parse_usage(payload, cache_report=cache_report)
    except UsageError:
        return
    counts = (usage.input_total, usage.cached_read, usage.cache_write, usage.uncached, usage.output)
    assert all(count is None or (type(count) is int and count >= 0) for count in counts)
    if usage.uncached is not None:
        assert usage.uncached + usage.cached_read == usage.input_total
    assert usage.hit_ratio is None or 0 <= usage.hit_ratio <= 1
