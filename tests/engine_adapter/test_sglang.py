"""SGLang's answers as recorded from the real server (tests/data/sglang), and what else may come."""

import json
from pathlib import Path

import pytest

from engine_adapter.engine import Continuity, EngineInfo, EngineLoad, KvEvents, forgot
from engine_adapter.sglang import SGLang
from prefix.errors import EngineError

DATA = Path(__file__).parents[1] / "data" / "sglang"
SGLANG = SGLang()
LOAD_1 = (
    b'{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":1,"num_waiting_uncached_tokens":70,"num_used_tokens":900}'
)
LOAD_2 = (
    b'{"dp_rank":1,"num_running_reqs":2,"num_waiting_reqs":0,"num_waiting_uncached_tokens":0,"num_used_tokens":100}'
)
RANKS = (EngineLoad(3, 1, 70, 900, None), EngineLoad(2, 0, 0, 100, None))
GET_LOAD = (EngineLoad(3, 2, None, 640, None), EngineLoad(1, 0, None, 16, None))
MANY = b"""
sglang:http_responses_total{endpoint="/flush_cache",method="GET",status_code="200"} 2.0
sglang:http_responses_total{endpoint="/flush_cache",method="POST",status_code="200"} 3.0
sglang:http_responses_total{endpoint="/update_weights_from_disk",method="POST",status_code="200"} 4.0
sglang:http_responses_total{endpoint="/flush_cache_x",method="POST",status_code="200"} 50.0
sglang:http_requests_total{endpoint="/flush_cache",method="POST"} 600.0
"""
GARBAGE = [b"", b"null", b"<html>", b"[]", b'"x"', b"\xff\xfe", b'{"loads":[]}', b"[" * 100_000, b'{"data":1}']


def recorded(name: str) -> bytes:
    """One recorded answer."""
    return (DATA / name).read_bytes()


def test_server_info_of_the_real_server() -> None:
    """Page size, capacity, names, flags and the KV event endpoints come out of 37 KB of settings."""
    info = SGLANG.parse_info(recorded("server_info.json"))
    assert info == EngineInfo(
        kind="sglang",
        version="0.5.23",
        models=("tiny",),
        page_size=16,
        kv_capacity_tokens=32768,
        max_model_len=4096,
        cache_report=True,
        boot_id=info.boot_id,
        dp_size=1,
        kv_events=KvEvents(None, 21601, 21602, "kv-events", 16),
        disaggregation=None,
    )


def test_flags_that_are_off_and_flags_that_nobody_mentions() -> None:
    """No cache report is False when the server says so and None, unknown, when it says nothing."""
    bare, old = (SGLANG.parse_info(recorded(f"server_info_{name}.json")) for name in ("bare", "0.5.10"))
    assert (bare.cache_report, bare.kv_events) == (False, None)
    assert (old.cache_report, old.boot_id, old.models, old.kv_capacity_tokens) == (None, None, ("m",), 1_000_000)


def test_a_restart_has_another_boot_id() -> None:
    """The same engine with the same flags, started again, is another boot; asked again, it is the same (case 42)."""
    first, second = (
        Continuity(SGLANG.parse_info(recorded(name)).boot_id)
        for name in ("server_info.json", "server_info_restarted.json")
    )
    assert forgot(first, second)
    assert not forgot(first, Continuity(SGLANG.parse_info(recorded("server_info.json")).boot_id))


def test_a_fixed_seed_alone_is_still_a_boot_id() -> None:
    """Versions without start-up times tell boots apart by the random seed."""
    old = json.loads(recorded("server_info_0.5.10.json"))
    boots = {SGLANG.parse_info(json.dumps({**old, "random_seed": seed}).encode()).boot_id for seed in (1, 1, 2)}
    assert len(boots) == 2
    assert None not in boots


@pytest.mark.parametrize(("mode", "expected"), [("null", None), ("prefill", "prefill"), ("decode", "decode")])
def test_disaggregation(mode: str, expected: str | None) -> None:
    """SGLang spells 'not disaggregated' as the string null."""
    info = json.loads(recorded("server_info_0.5.10.json"))
    assert SGLANG.parse_info(json.dumps({**info, "disaggregation_mode": mode}).encode()).disaggregation == expected


def test_models_with_their_longest_prompt() -> None:
    """/v1/models names what the server answers to."""
    assert SGLANG.parse_models(recorded("models.json")) == {"tiny": 4096}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (recorded("loads_busy.json"), EngineLoad(8, 4, 604, 1744, 1520)),
        (recorded("loads_idle.json"), EngineLoad(0, 0, 0, 0, 1504)),
        (recorded("get_load_0.5.10.json"), EngineLoad(4, 2, None, 656, None, GET_LOAD)),
        (b'{"loads":[' + LOAD_1 + b"," + LOAD_2 + b"]}", EngineLoad(5, 1, 70, 1000, None, RANKS)),
        (b'{"loads":[' + LOAD_2 + b"," + LOAD_1 + b"]}", EngineLoad(5, 1, 70, 1000, None, RANKS)),
        (b'{"loads":[{"num_running_reqs":0}]}', EngineLoad(0, 0, None, None, None)),
        (b'[{"num_reqs":1,"num_waiting_reqs":2}]', EngineLoad(0, 2, None, None, None)),
    ],
)
def test_loads(answer: bytes, expected: EngineLoad) -> None:
    """Loads of DP ranks add up, each by its number; what a version does not report is unknown, not zero."""
    assert SGLANG.parse_load(answer) == expected


def test_a_flush_is_in_the_metrics() -> None:
    """One successful flush counts one clearing; the refused one before it counts none."""
    before, after = (SGLANG.parse_clearings(recorded(f"metrics_{name}.txt")) for name in ("before", "flushed"))
    assert (before, after) == (0, 1)
    assert forgot(Continuity(clearings=before), Continuity(clearings=after))
    assert b'endpoint="/flush_cache",method="POST",status_code="400"' in recorded("metrics_flushed.txt")


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (b"", None),
        (b'{"detail":"Not Found"}', None),
        (b'sglang:http_responses_total{endpoint="/health",method="GET",status_code="200"} 7.0\n', 0),
        (b'sglang:http_responses_total{status_code="200",endpoint="/flush_cache"} 1e+06\n', 1_000_000),
        (MANY, 9),
    ],
)
def test_clearings(metrics: bytes, expected: int | None) -> None:
    """New weights empty the cache too; a page without the counter leaves the number unknown."""
    assert SGLANG.parse_clearings(metrics) == expected


@pytest.mark.parametrize("payload", GARBAGE)
def test_garbage_is_one_line(payload: bytes) -> None:
    """An answer that is not ours raises EngineError with a single line, whatever it is."""
    for parse in (SGLANG.parse_models, SGLANG.parse_load):
        with pytest.raises(EngineError) as caught:
            parse(payload)
        assert str(caught.value).startswith("sglang /v1/")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("payload", [b"", b"[]", b"<html>", b'{"page_size":"16"}', b'{"kv_events":[]}'])
def test_garbage_server_info(payload: bytes) -> None:
    """A /server_info that cannot be read raises EngineError, and is not detected as SGLang."""
    with pytest.raises(EngineError, match=r"^sglang /server_info: [^\n]+$"):
        SGLANG.parse_info(payload)
    assert not SGLANG.detects(payload)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (recorded("server_info.json"), True),
        (recorded("server_info_0.5.10.json"), True),
        (b'{"vllm_config":{"model_config":{}}}', False),
        (b'{"detail":"Not Found"}', False),
        (recorded("models.json"), False),
    ],
)
def test_detection(payload: bytes, expected: bool) -> None:
    """SGLang is known by its own settings, not by answering at the path."""
    assert SGLANG.detects(payload) is expected


def test_additions_ask_for_usage_only_where_there_are_stream_options() -> None:
    """/generate reports its tokens in every chunk, so nothing is added there."""
    for path in ("/v1/chat/completions", "/v1/completions"):
        added = SGLANG.additions(path, stream=b"true", stream_options=None)
        assert (added.members, added.hide_usage) == ({"stream_options": b'{"include_usage":true}'}, True)
    added = SGLANG.additions("/generate", stream=b"true", stream_options=None)
    assert (added.members, added.hide_usage) == ({}, False)


def test_additions_name_the_rank_where_it_is_read() -> None:
    """Every API whose body has the field; without a rank nothing is said."""
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/generate"):
        assert SGLANG.additions(path, stream=None, stream_options=None, rank=0).members == {"routed_dp_rank": b"0"}
        assert not SGLANG.additions(path, stream=None, stream_options=None).members
    for path in ("/v1/messages", "/v1/embeddings"):
        assert not SGLANG.additions(path, stream=None, stream_options=None, rank=1).members
    headers = {path: SGLANG.rank_headers(path, 1) for path in ("/v1/messages", "/v1/embeddings", "/generate")}
    assert headers == {"/v1/messages": ((b"x-data-parallel-rank", b"1"),), "/v1/embeddings": (), "/generate": ()}


def test_additions_carry_the_salt_everywhere() -> None:
    """An isolated request names its namespace on every API, as a JSON string."""
    for path in ("/v1/chat/completions", "/v1/completions", "/generate"):
        added = SGLANG.additions(path, stream=None, stream_options=None, salt='s"alt')
        assert added.members == {"cache_salt": b'"s\\"alt"'}
