"""gateway.models: which workers serve which model, and how many bytes a token has."""

import pytest

from engine_adapter.engine import EngineLoad
from gateway.errors import Refusal
from gateway.models import INITIAL_BYTES_PER_TOKEN, ModelGroup, Models
from prefix.blocks import BLOCK_BYTES


@pytest.fixture
def models() -> Models:
    """Two workers of `a` with an adapter, one of `b`."""
    models = Models("expected-ttft")
    models.join("w1", ("a", "lora"), 1000, 0.0)
    models.join("w2", ("a",), None, 0.0)
    models.join("w3", ("b",), 1000, 0.0)
    return models


def code(models: Models, name: object) -> str:
    """The code of the refusal."""
    with pytest.raises(Refusal) as caught:
        models.group(name)
    return caught.value.code


@pytest.mark.parametrize(
    ("name", "base"),
    [("a", "a"), ("lora", "a"), ("a:lora", "a"), ("a:anything", "a"), ("lora:x", "a"), ("b", "b")],
)
def test_names_that_can_be_asked_for(models: Models, name: str, base: str) -> None:
    """The base model, an adapter, or base:adapter."""
    assert models.group(name).name == base


def test_names_that_cannot(models: Models) -> None:
    """Unknown, no name while there are several, no string; nothing known at all is another matter."""
    assert code(models, "c") == "model_not_found"
    assert code(models, "c:a") == "model_not_found"
    assert code(models, "") == "model_not_found"
    assert code(models, None) == "missing_field"
    assert code(models, 5) == "invalid_type"
    assert code(models, ["a"]) == "invalid_type"
    for name in ("a", None, 5):
        assert code(Models("round-robin"), name) == "no_engine"


def test_one_group_needs_no_name(models: Models) -> None:
    """As soon as only one is left."""
    models.leave("w3")
    assert models.group(None).name == "a"
    assert models.ids() == ["a", "lora"]


def test_leaving(models: Models) -> None:
    """The last worker takes its model along; others stay what they were."""
    models.leave("w1")
    assert models.ids() == ["a", "b", "lora"]
    assert models.group("a").workers == {"w2"}
    models.leave("w2")
    assert models.ids() == ["b"]
    models.leave("nobody")
    assert code(models, "lora") == "model_not_found"


def test_a_worker_that_serves_another_model_now(models: Models) -> None:
    """It changes sides; its old model goes when nobody else has it."""
    models.set_ready("w3", ready=True)
    models.join("w3", ("a",), 1000, 1.0)
    assert models.ids() == ["a", "lora"]
    assert models.group("a").workers == {"w1", "w2", "w3"}
    assert models.group("a").ready == frozenset()


def test_readiness_is_a_workers_own(models: Models) -> None:
    """Only members of a group become candidates of it."""
    models.set_ready("w1", ready=True)
    models.set_ready("nobody", ready=True)
    assert models.group("a").ready == frozenset(("w1",))
    assert models.group("b").ready == frozenset()
    models.set_ready("w1", ready=False)
    assert models.group("a").ready == frozenset()


def test_joining_again_keeps_the_blocks_and_takes_the_new_capacity(models: Models) -> None:
    """An engine that only paused is not a new one; its pool may have another size."""
    router = models.group("a").router
    route = router.route([1, 2, 3], 100, 0.0, candidates={"w1"})
    router.release(route, 1.0, cached_tokens=0, output_tokens=1)
    assert router.blocks_held("w1") == 3
    models.join("w1", ("a", "lora"), 800, 2.0)
    assert router.blocks_held("w1") == 3
    models.join("w1", ("a", "lora"), 40, 2.0)
    assert router.blocks_held("w1") < 3
    models.forget("w1")
    assert router.blocks_held("w1") == 0


def test_load_that_is_not_told_is_not_zero(models: Models) -> None:
    """A report without tokens changes nothing; one with them turns requests away from the busy worker."""
    models.join("w2", ("a",), 1000, 0.0)
    router = models.group("a").router
    for waiting, elsewhere in ((None, False), (100_000, True)):
        models.observe("w1", EngineLoad(5, 5, waiting, 0, None), 0.0)
        models.observe("nobody", EngineLoad(5, 5, waiting, 0, None), 0.0)
        chosen = set()
        for _ in range(8):
            route = router.route([], 10, 0.0)
            router.release(route, 0.0, cached_tokens=None, output_tokens=0)
            chosen.add(route.worker)
        assert (chosen == {"w2"}) is elsewhere


def test_the_ratio_is_learned_within_limits() -> None:
    """It moves towards what engines report, long prompts count more, short ones not, nonsense is bounded."""
    group = ModelGroup("m", "round-robin")
    group.learn_ratio(10, 5)
    assert group.bytes_per_token == INITIAL_BYTES_PER_TOKEN
    group.learn_ratio(200, 100)
    short = group.bytes_per_token
    assert short < INITIAL_BYTES_PER_TOKEN
    for _ in range(500):
        group.learn_ratio(6000, 3000)
    assert group.bytes_per_token == pytest.approx(2.0)
    assert group.router.block_tokens == pytest.approx(BLOCK_BYTES / 2)
    for size, bound in ((10**9, 16.0), (0, 1.0)):
        for _ in range(500):
            group.learn_ratio(size, 3000)
        assert group.bytes_per_token == pytest.approx(bound)
