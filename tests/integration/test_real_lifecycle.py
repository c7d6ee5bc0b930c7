"""What real SGLang does when it starts, drains, dies, restarts and flushes, seen through the adapter within 2 s."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from engine_adapter.engine import Continuity, State, forgot, next_state
from engine_adapter.sglang import SGLang
from examples.real_sglang_cpu.engine_process import EngineProcess, EngineProcessError, Options
from tests.integration.engines import HOME, TINY, Engines, stop

pytestmark = pytest.mark.engines

SGLANG = SGLang()
NOTICED_S = 2.0
PROMPT = " ".join(f"word{i}" for i in range(300))


@pytest.fixture(scope="module")
def mortals(engines: Engines) -> Iterator[list[EngineProcess]]:
    """At most one engine for tests that end it."""
    started: list[EngineProcess] = []
    yield started
    stop(started)


@pytest.fixture
def mortal(engines: Engines, mortals: list[EngineProcess]) -> EngineProcess:
    """A healthy engine that a test may terminate or kill; the next test gets a living one again."""
    if mortals and not mortals[0].running():
        stop(mortals)
        mortals.clear()
    if not mortals:
        mortals += engines.launch(1, TINY)
    return mortals[0]


def health(engine: EngineProcess, before: State) -> State:
    """The state after one more health check."""
    try:
        return next_state(before, engine.request(SGLANG.health_path, timeout_s=5)[0])
    except OSError:
        return next_state(before, None)


def look(engine: EngineProcess) -> Continuity:
    """What the gateway gathers in one round: boot id, prefilled tokens, clearings."""
    info = SGLANG.parse_info(engine.request(SGLANG.info_paths[0])[1])
    load = SGLANG.parse_load(engine.request(SGLANG.load_paths[0])[1])
    clearings = SGLANG.parse_clearings(engine.request(SGLANG.metrics_path)[1])
    return Continuity(info.boot_id, load.prefilled_tokens, clearings)


def noticed(seen: Callable[[], bool]) -> bool:
    """Whether something is seen within 2 s, looking again and again."""
    deadline = time.monotonic() + NOTICED_S
    while time.monotonic() < deadline:
        if seen():
            return True
        time.sleep(0.1)
    return False


def complete(engine: EngineProcess, tokens: int = 2) -> int:
    """Run one completion; its status."""
    body = {"model": "tiny", "prompt": PROMPT, "max_tokens": tokens, "ignore_eos": True, "temperature": 0}
    return engine.request("/v1/completions", body)[0]


def cached(engine: EngineProcess) -> int:
    """Run one completion; its cached tokens as the engine reports them."""
    usage = engine.get_json("/v1/completions", {"model": "tiny", "prompt": PROMPT, "max_tokens": 2})["usage"]
    return int(usage["prompt_tokens_details"]["cached_tokens"])


def in_background(engine: EngineProcess, tokens: int) -> tuple[threading.Thread, list[int]]:
    """Start a long completion and return once it runs; its status is in the list when the thread has ended."""
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(complete(engine, tokens)))
    thread.start()
    assert noticed(lambda: SGLANG.parse_load(engine.request(SGLANG.load_paths[0])[1]).running > 0)
    return thread, statuses


def test_a_killed_engine_is_down_and_comes_back_as_another(mortal: EngineProcess) -> None:
    """Down within 2 s; then refused, 503 and up; another boot id, so its cache counts as forgotten."""
    complete(mortal)
    before = look(mortal)
    mortal.stop()
    assert noticed(lambda: health(mortal, State.UP) is State.DOWN)
    mortal.start()
    states = [State.UP]
    while states[-1] is not State.UP or len(states) == 1:
        state = health(mortal, states[-1])
        states += [state] if state is not states[-1] else []
        assert mortal.running(), mortal.last_words()
        time.sleep(0.05)
    assert states == [State.UP, State.DOWN, State.STARTING, State.UP]
    after = look(mortal)
    assert forgot(before, after)
    assert not forgot(after, look(mortal))
    assert cached(mortal) == 0


def test_a_draining_engine_says_so_and_finishes(mortal: EngineProcess) -> None:
    """After SIGTERM: draining within 2 s, running and even new requests are served, then it is down."""
    thread, statuses = in_background(mortal, 1500)
    mortal.terminate()
    assert noticed(lambda: health(mortal, State.UP) is State.DRAINING)
    assert complete(mortal) == 200
    thread.join()
    assert statuses == [200]
    assert mortal.process is not None
    mortal.process.wait(30)
    assert health(mortal, State.DRAINING) is State.DOWN


def test_a_flush_is_noticed(engines: Engines) -> None:
    """Within 2 s of /flush_cache the engine counts as having forgotten, and it has."""
    (engine,) = engines.take(1)
    assert cached(engine) == 0
    assert cached(engine) > 0
    before = look(engine)
    engine.flush()
    assert noticed(lambda: forgot(before, look(engine)))
    assert cached(engine) == 0
    assert not forgot(look(engine), look(engine))


def test_a_refused_flush_is_none(engines: Engines) -> None:
    """While a request runs SGLang does not flush, and nothing is forgotten."""
    (engine,) = engines.take(1)
    thread, _ = in_background(engine, 400)
    before = look(engine)
    assert engine.request("/flush_cache", {})[0] == 400
    thread.join()
    assert not forgot(before, look(engine))
    assert cached(engine) > 0


def test_load_follows_the_requests(engines: Engines) -> None:
    """Running requests and their KV show while they run and are gone afterwards, though the cache stays."""
    (engine,) = engines.take(1)
    thread, _ = in_background(engine, 200)
    busy = SGLANG.parse_load(engine.request(SGLANG.load_paths[0])[1])
    thread.join()
    assert busy.running == 1
    assert noticed(lambda: SGLANG.parse_load(engine.request(SGLANG.load_paths[0])[1]).kv_used_tokens == 0)
    assert cached(engine) > 0


def test_an_engine_without_reports(engines: Engines) -> None:
    """Without the flags: no cache report, no KV events, no clearings; usage does not tell 0 from unknown."""
    (engine,) = engines.take(1, replace(TINY, cache_report=False, kv_events=False, metrics=False))
    info = SGLANG.parse_info(engine.request(SGLANG.info_paths[0])[1])
    assert (info.cache_report, info.kv_events) == (False, None)
    assert SGLANG.parse_clearings(engine.request(SGLANG.metrics_path)[1]) is None
    for _ in range(2):
        answer = engine.get_json("/v1/completions", {"model": "tiny", "prompt": PROMPT, "max_tokens": 2})
        assert answer["usage"]["prompt_tokens_details"] is None
    generated = engine.get_json("/generate", {"text": PROMPT, "sampling_params": {"max_new_tokens": 2}})
    assert generated["meta_info"]["cached_tokens"] > 0


SALTED = [{}, {"cache_salt": "ab"}, {"cache_salt": "a", "extra_key": "b"}, {"extra_key": "ab"}, {"extra_key": "a"}]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/generate"])
def test_salts_part_caches_on_every_api(engines: Engines, path: str) -> None:
    """Each combination of salt and key has a cache of its own, on each API (case 37); repeats hit."""
    (engine,) = engines.take(1)
    prompts: dict[str, dict[str, Any]] = {
        "/v1/chat/completions": {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 2},
        "/v1/completions": {"prompt": PROMPT, "max_tokens": 2},
        "/generate": {"text": PROMPT, "sampling_params": {"max_new_tokens": 2}},
    }

    def hit(salts: dict[str, str]) -> bool:
        answer = engine.get_json(path, {"model": "tiny", **prompts[path], **salts})
        if path == "/generate":
            return bool(answer["meta_info"]["cached_tokens"])
        return bool(answer["usage"]["prompt_tokens_details"]["cached_tokens"])

    assert [hit(salts) for salts in SALTED] == [False] * len(SALTED)
    assert [hit(salts) for salts in SALTED] == [True] * len(SALTED)


def test_added_usage_arrives(engines: Engines) -> None:
    """With the adapter's additions the last event of a stream carries the usage and the cached tokens."""
    (engine,) = engines.take(1)
    added = SGLANG.additions(
        "/v1/chat/completions", stream=b"true", stream_options=b'{"continuous_usage_stats":true}'
    )
    body: dict[str, Any] = {name: json.loads(value) for name, value in added.members.items()}
    body |= {"model": "tiny", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 3, "stream": True}
    events = engine.request("/v1/chat/completions", body)[1].decode().strip().split("\n\n")
    assert events[-1] == "data: [DONE]"
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-1]]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}
    assert not any(chunk.get("usage") for chunk in chunks[:-1])


REFUSALS = [
    (
        "/v1/chat/completions",
        {"model": "nobody", "messages": [{"role": "user", "content": "x"}], "max_tokens": 1},
        200,
    ),
    ("/v1/chat/completions", {"model": "tiny", "messages": []}, 400),
    ("/v1/chat/completions", {"model": "tiny", "messages": "x"}, 400),
    ("/v1/chat/completions", {"model": "tiny", "messages": [{"role": "user", "content": "w " * 5000}]}, 400),
    ("/v1/completions", {"model": "tiny", "prompt": ""}, 400),
    ("/v1/completions", {"model": "tiny", "prompt": "w " * 5000}, 400),
    ("/generate", {"text": "w " * 5000}, 400),
    ("/v1/completions", {"model": "tiny", "prompt": "x", "max_tokens": 1, "cache_salt": ["a"]}, 400),
]


@pytest.mark.parametrize(("path", "body", "status"), REFUSALS)
def test_what_sglang_refuses(engines: Engines, path: str, body: dict[str, object], status: int) -> None:
    """A client's mistakes are 400; a model nobody serves is answered all the same."""
    (engine,) = engines.take(1)
    assert engine.request(path, body)[0] == status


def test_an_engine_that_cannot_start_leaves_nothing(own_engine: Callable[[Options], EngineProcess]) -> None:
    """One line that names the cause and the log, and its ports are free again."""
    broken = replace(TINY, extra=("--tokenizer-path", "/nonexistent"))
    with pytest.raises(
        EngineProcessError, match=r"^engine on port (\d+) ended while starting: [^\n]+\.log\)$"
    ) as error:
        own_engine(broken)
    EngineProcess(HOME, int(str(error.value).split()[3]), TINY).check_ports()
