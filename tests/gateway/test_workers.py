"""gateway.workers: one endpoint each, and what is forgotten when it is not the engine it was."""

from typing import Any

import pytest

from engine_adapter.engine import EngineInfo, EngineLoad, State
from engine_adapter.sglang import SGLang
from gateway.errors import Refusal
from gateway.models import Models
from gateway.workers import Worker, Workers, worker_id

URL = "http://10.0.0.1:30000"


def info(**known: Any) -> EngineInfo:
    """What an engine says of itself."""
    values: dict[str, Any] = {
        "kind": "sglang",
        "version": None,
        "models": ("m",),
        "page_size": 16,
        "kv_capacity_tokens": 1000,
        "max_model_len": None,
        "cache_report": None,
        "boot_id": None,
        "dp_size": 1,
        "kv_events": None,
        "disaggregation": None,
    }
    return EngineInfo(**values | known)


def load(**known: Any) -> EngineLoad:
    """A load report."""
    values: dict[str, Any] = {
        "running": 1,
        "waiting": 0,
        "waiting_uncached_tokens": 0,
        "kv_used_tokens": 500,
        "prefilled_tokens": None,
    }
    return EngineLoad(**values | known)


@pytest.fixture
def workers() -> Workers:
    """One worker that is up and holds three blocks."""
    workers = Workers(Models("expected-ttft"))
    worker = workers.add(URL, SGLang())
    workers.introduce(worker, info(boot_id="b1"), ("m",), 0.0)
    workers.set_state(worker, State.UP)
    hold(workers)
    return workers


def hold(workers: Workers) -> None:
    """Serve a request of three blocks."""
    router = workers.models.group("m").router
    route = router.route([1, 2, 3], 100, 0.0)
    router.release(route, 1.0, cached_tokens=0, output_tokens=1)


def held(workers: Workers) -> int:
    """Blocks it is believed to hold."""
    return workers.models.group("m").router.blocks_held("10.0.0.1:30000")


def only(workers: Workers) -> Worker:
    """The one worker."""
    (worker,) = workers
    return worker


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://a:1", "a:1"),
        ("https://a", "a"),
        ("http://[::1]:30000", "[::1]:30000"),
        ("http://a:1/base/v2/", "a:1.base.v2"),
    ],
)
def test_ids_are_stable_and_safe_in_a_path(url: str, name: str) -> None:
    """Host and port, and the path's slashes as dots."""
    assert worker_id(url) == name


def test_what_is_not_there(workers: Workers) -> None:
    """An unknown worker is a 404 that names those there are; a known one cannot be added again."""
    for ask in (workers.get, workers.remove):
        with pytest.raises(Refusal, match=r"10\.0\.0\.1:30000") as caught:
            ask("nobody")
        assert caught.value.code == "worker_not_found"
    with pytest.raises(Refusal) as caught:
        workers.add(URL, SGLang())
    assert caught.value.code == "worker_exists"
    workers.remove("10.0.0.1:30000")
    with pytest.raises(Refusal, match="none"):
        workers.get("nobody")
    assert (len(workers), workers.models.ids()) == (0, [])


def test_only_what_is_up_and_not_drained_is_ready(workers: Workers) -> None:
    """In every other state it is no candidate; drained it stays out whatever its health."""
    worker = only(workers)
    group = workers.models.group("m")
    for state in State:
        workers.set_state(worker, state)
        assert (worker.ready, bool(group.ready)) == (state is State.UP, state is State.UP)
    workers.set_state(worker, State.UP)
    workers.drain(worker)
    workers.set_state(worker, State.UP)
    assert (worker.ready, bool(group.ready)) == (False, False)


@pytest.mark.parametrize(
    ("looks", "kept"),
    [
        ([{"boot_id": "b1"}], True),
        ([{"boot_id": None}, {"boot_id": "b1"}], True),
        ([{"boot_id": "b2"}], False),
        ([{"boot_id": None}, {"boot_id": "b2"}], False),
        ([{"prefilled_tokens": 10}, {"prefilled_tokens": 10}, {"prefilled_tokens": 50}], True),
        ([{"prefilled_tokens": 10}, {"prefilled_tokens": None}, {"prefilled_tokens": 9}], False),
        ([{"clearings": 0}, {"clearings": 0}, {"clearings": None}], True),
        ([{"clearings": 0}, {"clearings": 1}], False),
        ([{"clearings": 5}, {"prefilled_tokens": 3}, {"clearings": 6}], False),
    ],
)
def test_case_42_what_tells_another_cache(workers: Workers, looks: list[dict[str, Any]], kept: bool) -> None:
    """Another boot id, counters that went back, one more clearing; what a look does not tell proves nothing."""
    worker = only(workers)
    for look in looks:
        workers.observe_continuity(worker, **look)
    assert bool(held(workers)) is kept
    assert worker.state is State.UP


def test_a_cache_is_forgotten_once(workers: Workers) -> None:
    """What was placed after the restart is not forgotten again at the next look."""
    worker = only(workers)
    workers.observe_continuity(worker, boot_id="b2")
    hold(workers)
    workers.observe_continuity(worker, boot_id="b2")
    assert held(workers) == 3


def test_gone(workers: Workers) -> None:
    """Its process ended: no load, no blocks, and whatever comes back there is compared with nothing."""
    worker = only(workers)
    workers.observe_load(worker, load(prefilled_tokens=100), 0.0)
    workers.gone(worker, "refused")
    assert (worker.state, worker.load, worker.last_error, held(workers)) == (State.DOWN, None, "refused", 0)
    workers.introduce(worker, info(boot_id="b2"), ("m",), 1.0)
    workers.set_state(worker, State.UP)
    hold(workers)
    workers.observe_load(worker, load(prefilled_tokens=1), 2.0)
    assert held(workers) == 3


def test_kv_usage(workers: Workers) -> None:
    """A share of all ranks' capacity; unknown as long as one part of it is."""
    worker = only(workers)
    assert worker.kv_usage is None
    workers.observe_load(worker, load(kv_used_tokens=None), 0.0)
    assert worker.kv_usage is None
    workers.observe_load(worker, load(kv_used_tokens=500), 0.0)
    assert worker.kv_usage == 0.5
    workers.introduce(worker, info(dp_size=2), ("m",), 0.0)
    assert worker.kv_usage == 0.25
    workers.introduce(worker, info(kv_capacity_tokens=None), ("m",), 0.0)
    assert worker.kv_usage is None


def test_a_cache_report_is_believed_once_seen(workers: Workers) -> None:
    """The flag decides; an engine that does not say keeps what is known; only a sure no is warned of."""
    worker = only(workers)
    told = []
    for flag in (None, False, None, True, None):
        workers.introduce(worker, info(cache_report=flag), ("m",), 0.0)
        told.append((worker.cache_report, "--enable-cache-report" in (worker.warning or "")))
    assert told == [(None, False), (False, True), (False, True), (True, False), (True, False)]
