"""engine_adapter.vllm: what only vLLM says."""

import pytest

from engine_adapter.engine import Continuity, forgot
from engine_adapter.usage import parse_usage
from engine_adapter.vllm import VLLM
from tests.engine_adapter.test_contract import DATA

ENGINE = VLLM()
PAGE = (DATA / "vllm" / "metrics_busy.txt").read_bytes()


def test_a_restart_has_another_start_time() -> None:
    """The process's start time is the boot id; a page without it proves nothing."""
    models = (DATA / "vllm" / "models.json").read_bytes()
    boots = [
        ENGINE.parse_info(models, {"/metrics": page}).boot_id for page in (PAGE, PAGE.replace(b"e+09", b"e+08"), b"")
    ]
    assert boots[0] is not None
    assert forgot(Continuity(boots[0]), Continuity(boots[1]))
    assert not forgot(Continuity(boots[0]), Continuity(boots[2]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("metrics_busy.txt", 0), ("metrics_flushed.txt", 1)],
)
def test_a_reset_of_the_cache_is_in_the_metrics(name: str, expected: int) -> None:
    """One answered /reset_prefix_cache is one clearing; a page that counts no requests leaves it unknown."""
    assert ENGINE.parse_clearings((DATA / "vllm" / name).read_bytes()) == expected
    assert ENGINE.parse_clearings(b"vllm:num_requests_running 1.0\n") is None


def test_waiting_requests_are_as_long_as_those_before() -> None:
    """vLLM tells how many wait, not how long their prompts are; before the first request that is unknown."""
    page = (
        b"vllm:num_requests_running 1.0\nvllm:num_requests_waiting 3.0\nvllm:prompt_tokens_total 1000.0\n"
        b"vllm:prompt_tokens_cached_total 400.0\nvllm:request_prompt_tokens_count 10.0\n"
    )
    assert ENGINE.parse_load(page).waiting_uncached_tokens == 3 * 60
    assert ENGINE.parse_load(page.replace(b" 10.0", b" 0.0")).waiting_uncached_tokens is None
    assert ENGINE.parse_load(page).kv_used_tokens is None


@pytest.mark.parametrize(("answer", "asleep"), [(b'{"is_sleeping":true}', True), (b'{"is_sleeping":false}', False)])
def test_sleep(answer: bytes, asleep: bool) -> None:
    """/is_sleeping says so; /health does not."""
    assert ENGINE.parse_asleep(answer) is asleep


def test_usage_of_messages_leaves_the_cached_out_as_anthropic_does() -> None:
    """input_tokens are the uncached ones: 23 and 288 cached were 311."""
    usage = parse_usage(
        {"input_tokens": 23, "output_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 288}
    )
    assert (usage.input_total, usage.cached_read) == (311, 288)
