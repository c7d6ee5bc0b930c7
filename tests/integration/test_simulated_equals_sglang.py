"""The simulated engine against the real one: the same cached tokens on every request, and the same shapes.

What is real here is SGLang's own scheduler, allocator and (Rust) radix cache; the model is tiny. The pool is 2,048
tokens, so most of what is asked makes room first. Seeds are drawn anew and printed; PREFIXGATE_SEED repeats one.
"""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import aiohttp
import pytest

from engine_adapter.engine_request import EngineConfig
from engine_adapter.engine_timing import Timing
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from tests.integration.engines import TINY, Engines

pytestmark = pytest.mark.engines

KV_TOKENS = 2_048
ALONE, WAVES, AT_ONCE = 320, 60, 4
SYSTEMS = (5, 40, 130, 260)
SPACES = (
    {},
    {},
    {"cache_salt": "a"},
    {"extra_key": "k"},
    {"cache_salt": "ab", "extra_key": "c"},
    {"cache_salt": "a", "extra_key": "bc"},
)
STEP_S = 0.04  # of the simulated prefill: long enough to put a request into a chosen iteration
SLOW_PREFILL = Timing(
    prefill_tokens_per_s=1e9,
    attention_tokens=1e9,
    prefill_step_s=STEP_S,
    decode_step_s=1e-3,
    decode_request_s=0,
    decode_token_s=0,
)


@dataclass
class Conversation:
    """A namespace and all tokens so far."""

    space: dict[str, str]
    tokens: list[int]


@dataclass
class Asked:
    """One request, and the conversation that goes on with its answer."""

    space: dict[str, str]
    tokens: list[int]
    max_new_tokens: int
    conversation: Conversation | None = None

    def body(self) -> dict[str, Any]:
        """The body for /generate."""
        sampling = {"max_new_tokens": self.max_new_tokens, "temperature": 0, "ignore_eos": True}
        return {"input_ids": self.tokens, "sampling_params": sampling, **self.space}

    def answered(self, output: list[int]) -> None:
        """The answer becomes history."""
        if self.conversation is not None and self.conversation.tokens == self.tokens:
            self.conversation.tokens = self.tokens + output


@dataclass
class Workload:
    """Conversations over shared system prompts, repeats, cut prompts, very short ones; in several namespaces."""

    chance: random.Random
    systems: list[list[int]] = field(default_factory=list)
    talking: list[Conversation] = field(default_factory=list)
    past: list[Asked] = field(default_factory=list)

    def tokens(self, count: int) -> list[int]:
        """New tokens."""
        return [self.chance.randrange(300, 4_000) for _ in range(count)]

    def next(self) -> Asked:
        """The next request."""
        asked = self._draw(self.chance.random())
        self.past = [*self.past[-12:], asked]
        return asked

    def _draw(self, kind: float) -> Asked:
        chance, output = self.chance, self.chance.choice((1, 1, 2, 3, 5, 9, 17, 40))
        if kind < 0.08:
            return Asked(chance.choice(SPACES), self.tokens(chance.randint(1, 3)), output)
        if kind < 0.30 or not self.talking:
            return self._turn(self._begin(), output)
        if kind < 0.70:
            conversation = chance.choice(self.talking)
            conversation.tokens = conversation.tokens + self.tokens(chance.randint(1, 60))
            if len(conversation.tokens) > 1_600:
                self.talking.remove(conversation)
            return self._turn(conversation, output)
        old = chance.choice(self.past)
        if kind < 0.85:
            return Asked(old.space, old.tokens, output)
        more = self.tokens(chance.choice((0, chance.randint(1, 20))))
        return Asked(old.space, old.tokens[: chance.randint(1, len(old.tokens))] + more, output)

    def _begin(self) -> Conversation:
        self.systems = self.systems or [self.tokens(count) for count in SYSTEMS]
        opening = self.chance.choice(self.systems) + self.tokens(self.chance.randint(1, 300))
        conversation = Conversation(self.chance.choice(SPACES), opening)
        self.talking = [*self.talking[-7:], conversation]
        return conversation

    def _turn(self, conversation: Conversation, output: int) -> Asked:
        return Asked(conversation.space, conversation.tokens, output, conversation)


@pytest.fixture
def seed() -> int:
    """The seed of this run, printed."""
    drawn = int(os.environ.get("PREFIXGATE_SEED", random.SystemRandom().randrange(10**9)))
    print(f"\nseed {drawn}")
    return drawn


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """A client."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
        yield session


async def ask(http: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> Any:
    """The answer of /generate, which must be one."""
    async with http.post(url + "/generate", json=body) as response:
        answer = await response.json()
        assert response.status == 200, answer
        return answer


async def twin(http: aiohttp.ClientSession, url: str) -> EngineConfig:
    """The configuration that the real engine says it has."""
    async with http.get(url + "/server_info") as response:
        info = await response.json()
    assert info["max_total_num_tokens"] == KV_TOKENS
    return EngineConfig(
        page_tokens=info["page_size"],
        kv_capacity_tokens=info["max_total_num_tokens"],
        context_tokens=info["context_length"],
        chunk_tokens=info["chunked_prefill_size"],
        prefill_tokens=info["max_prefill_tokens"],
        max_running=info["max_running_requests"],
        timing=SLOW_PREFILL,
    )


def cached(answer: dict[str, Any]) -> int:
    """The cached tokens that an answer reports."""
    count: int = answer["meta_info"]["cached_tokens"]
    return count


@pytest.mark.parametrize("page", [1, 16, 64])
async def test_one_at_a_time_all_are_equal(
    engines: Engines, http: aiohttp.ClientSession, seed: int, page: int
) -> None:
    """On every single request both engines report the same number of cached tokens."""
    (real,) = engines.take(1, replace(TINY, page_size=page, kv_tokens=KV_TOKENS))
    workload = Workload(random.Random(seed))
    mismatches, prompt_tokens, hits = [], 0, 0
    options = EngineOptions(config=await twin(http, real.url), speed=1_000)
    async with SimulatedEngine(options) as simulated:
        for number in range(ALONE):
            asked = workload.next()
            truth = await ask(http, real.url, asked.body())
            forced = {"simulated_output_ids": truth["output_ids"]}
            claim = await ask(http, simulated.url, {**asked.body(), **forced})
            assert claim["output_ids"] == truth["output_ids"]
            asked.answered(truth["output_ids"])
            prompt_tokens, hits = prompt_tokens + len(asked.tokens), hits + cached(truth)
            if cached(claim) != cached(truth):
                mismatches.append((number, len(asked.tokens), cached(truth), cached(claim)))
        cache = simulated.scheduler.cache
    print(
        f"page {page}: {ALONE} requests, {prompt_tokens} prompt tokens, {hits} cached, "
        f"evicted {cache.evicted_tokens} tokens in {cache.evicted_nodes} nodes, mismatches {len(mismatches)}"
    )
    assert cache.evicted_tokens > 4 * KV_TOKENS
    assert hits > prompt_tokens / 5
    assert mismatches == []


@pytest.mark.parametrize("page", [1, 16, 64])
async def test_four_at_once_totals_are_equal(
    engines: Engines, http: aiohttp.ClientSession, seed: int, page: int
) -> None:
    """Four at once: the totals are within 1 %.

    Which of the four share a prefill iteration is a matter of milliseconds in the real engine's sockets, and it
    says (`forward_entry_time`) which did. The simulated one gets the same requests in the same iterations.
    """
    (real,) = engines.take(1, replace(TINY, page_size=page, kv_tokens=KV_TOKENS))
    workload = Workload(random.Random(seed))
    truths, claims, different = 0, 0, 0
    async with SimulatedEngine(EngineOptions(config=await twin(http, real.url))) as simulated:
        for _ in range(WAVES):
            wave = [workload.next() for _ in range(AT_ONCE)]
            real_answers = await asyncio.gather(*(ask(http, real.url, asked.body()) for asked in wave))
            answers = await play(http, simulated.url, wave, real_answers)
            for asked, truth in zip(wave, real_answers, strict=True):
                asked.answered(truth["output_ids"])
            truths += sum(map(cached, real_answers))
            claims += sum(map(cached, answers))
            different += list(map(cached, real_answers)) != list(map(cached, answers))
        evicted = simulated.scheduler.cache.evicted_tokens
    print(
        f"page {page}: {WAVES} times {AT_ONCE} requests, cached {truths} real, {claims} simulated "
        f"({(claims - truths) / truths:+.2%}), {different} waves differ, evicted {evicted} tokens"
    )
    assert evicted > 4 * KV_TOKENS
    assert abs(claims - truths) <= truths / 100


async def play(
    http: aiohttp.ClientSession, url: str, wave: list[Asked], truths: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Send a wave to the simulated engine, one batch for each prefill iteration of the real one."""
    sent: list[tuple[list[int], asyncio.Future[Any]]] = []
    for batch in iterations(truths):
        asked = [wave[index] for index in batch]
        body = {
            "input_ids": [each.tokens for each in asked],
            "sampling_params": [each.body()["sampling_params"] for each in asked],
            "extra_key": [each.space.get("extra_key") for each in asked],
            "cache_salt": [each.space.get("cache_salt") for each in asked],
            "simulated_output_ids": [truths[index]["output_ids"] for index in batch],
        }
        sent.append((batch, asyncio.ensure_future(ask(http, url, body))))
        await asyncio.sleep(STEP_S if len(sent) > 1 else STEP_S / 2)
    answers: dict[int, dict[str, Any]] = {}
    for batch, future in sent:
        answers.update(zip(batch, await future, strict=True))
    return [answers[index] for index in range(len(wave))]


def iterations(truths: list[dict[str, Any]]) -> Iterator[list[int]]:
    """The requests of each prefill iteration, in its order."""

    def entered(index: int) -> float:
        time: float = truths[index]["meta_info"]["forward_entry_time"]
        return time

    order = sorted(range(len(truths)), key=lambda i: (entered(i), truths[i]["meta_info"]["prefill_finished_time"]))
    for _, batch in groupby(order, key=entered):
        yield list(batch)


# ---------------------------------------------------------------------- shapes

CHAT = {
    "model": "tiny",
    "messages": [{"role": "user", "content": "Once upon a time there was a king who had three daughters."}],
    "max_tokens": 3,
    "temperature": 0,
}
STREAM = {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
WHAT_IS_READ = {
    "/server_info": {
        "page_size": int,
        "max_total_num_tokens": int,
        "max_running_requests": int,
        "context_length": int,
        "chunked_prefill_size": int,
        "max_prefill_tokens": int,
        "max_req_input_len": int,
        "dp_size": int,
        "enable_cache_report": bool,
        "served_model_name": str,
        "version": str,
        "status": str,
        "internal_states": list,
    },
    "/v1/loads": {"loads": list, "version": str, "timestamp": str},
    "/v1/models": {"data": list, "object": str},
    "/model_info": {"model_path": str, "is_generation": bool},
}
LOAD = {
    "dp_rank": int,
    "num_running_reqs": int,
    "num_waiting_reqs": int,
    "num_waiting_uncached_tokens": int,
    "num_used_tokens": int,
    "max_total_num_tokens": int,
    "max_running_requests": int,
    "token_usage": float,
}
METRICS = ("prompt_tokens_total", "cached_tokens_total", "num_running_reqs", "num_queue_reqs", "token_usage")


@dataclass
class Pair:
    """Both engines, cold."""

    urls: tuple[str, str]
    http: aiohttp.ClientSession

    async def call(self, path: str, body: dict[str, Any] | None = None) -> list[tuple[int, str, str]]:
        """Status, content type and text from the real engine, then from the simulated one."""
        seen = []
        for url in self.urls:
            method = "GET" if body is None else "POST"
            async with self.http.request(method, url + path, json=body) as response:
                seen.append((response.status, response.headers.get("content-type", ""), await response.text()))
        return seen


@pytest.fixture
async def pair(engines: Engines, http: aiohttp.ClientSession) -> AsyncIterator[Pair]:
    """A real engine and its simulated twin."""
    (real,) = engines.take(1, replace(TINY, page_size=16, kv_tokens=KV_TOKENS))
    options = EngineOptions(config=await twin(http, real.url), model="tiny", speed=1_000)
    async with SimulatedEngine(options) as simulated:
        yield Pair((real.url, simulated.url), http)


def shape(value: Any) -> Any:
    """Keys and types of a JSON value; of a list, those of its first element."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items() if key != "metadata"}
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    return type(value).__name__


@pytest.mark.parametrize("path", WHAT_IS_READ)
async def test_what_the_gateway_reads_is_in_both(pair: Pair, path: str) -> None:
    """Every key that is read has the same type in both; the load report has the same keys in its rank."""
    for status, kind, text in await pair.call(path):
        answer = json.loads(text)
        assert (status, kind) == (200, "application/json")
        assert {key: type(answer.get(key)) for key in WHAT_IS_READ[path]} == WHAT_IS_READ[path]
        for rank in answer.get("loads", []):
            assert {key: type(rank.get(key)) for key in LOAD} == LOAD


async def test_answers_have_one_shape(pair: Pair) -> None:
    """Chat and completion answers: the same keys with the same types, when cold and when cached."""
    bodies = {"/v1/chat/completions": CHAT, "/v1/completions": {**CHAT, "prompt": "Once upon a time", "n": 2}}
    for path, body in bodies.items():
        for _ in range(2):
            real, simulated = [
                (status, kind, shape(json.loads(text))) for status, kind, text in await pair.call(path, body)
            ]
            assert real == simulated


async def test_generate_answers_have_what_is_read(pair: Pair) -> None:
    """/generate: every key of ours is one of theirs, with its type."""
    body = {"input_ids": list(range(300, 340)), "sampling_params": {"max_new_tokens": 3}}
    real, simulated = [shape(json.loads(text)) for _, _, text in await pair.call("/generate", body)]
    assert simulated["meta_info"].items() <= real.pop("meta_info").items()
    assert {key: each for key, each in simulated.items() if key != "meta_info"} == real


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
async def test_streams_have_one_framing(pair: Pair, path: str) -> None:
    """The same chunks in the same order: keys, types, null fields, usage, the end mark."""
    body = {**CHAT, **STREAM, "prompt": "Once upon a time"}
    frames = []
    for status, kind, text in await pair.call(path, body):
        assert (status, kind) == (200, "text/event-stream; charset=utf-8")
        *chunks, end, rest = text.split("\n\n")
        assert (end, rest) == ("data: [DONE]", "")
        assert all(chunk.startswith("data: ") for chunk in chunks)
        frames.append([shape(json.loads(chunk.removeprefix("data: "))) for chunk in chunks])
    real, simulated = ([chunk for chunk, _ in groupby(each)] for each in frames)
    assert real == simulated


MESSAGES = {
    "model": "tiny",
    "max_tokens": 5,
    "temperature": 0,
    "messages": [{"role": "user", "content": "Once upon"}],
}
LONG = {**MESSAGES, "system": "A long story about a very small model. " * 20}


async def test_anthropic_answers_have_one_shape(pair: Pair) -> None:
    """Messages cold and cached, and token counts: the same keys with the same types."""
    asked = [("", MESSAGES), ("", LONG), ("", LONG), ("/count_tokens", LONG)]
    for path, body in asked:
        real, simulated = [
            (status, kind, shape(json.loads(text)))
            for status, kind, text in await pair.call(f"/v1/messages{path}", body)
        ]
        assert real == simulated


async def test_anthropic_streams_have_one_framing(pair: Pair) -> None:
    """The same named events in the same order, cold and cached."""
    for _ in range(2):
        frames = []
        for status, kind, text in await pair.call("/v1/messages", {**LONG, "stream": True}):
            assert (status, kind) == (200, "text/event-stream; charset=utf-8")
            pairs = [event.split("\n") for event in text.removesuffix("\n\n").split("\n\n")]
            frames.append([(name, shape(json.loads(data.removeprefix("data: ")))) for name, data in pairs])
        real, simulated = ([event for event, _ in groupby(each)] for each in frames)
        assert real == simulated


BAD = [
    ("/v1/messages", {**MESSAGES, "messages": []}),
    ("/v1/messages", {**MESSAGES, "max_tokens": 0}),
    ("/v1/messages", {**MESSAGES, "max_tokens": 9_000}),
    ("/v1/messages", {**MESSAGES, "max_tokens": 9_000, "stream": True}),
    ("/v1/messages", {"model": "tiny", "messages": MESSAGES["messages"]}),
    ("/v1/messages/count_tokens", {"model": "tiny"}),
    ("/v1/embeddings", {"model": "tiny", "input": "x"}),
    ("/v1/embeddings", {"model": "tiny", "input": ""}),
    ("/v1/embeddings", {"model": "tiny"}),
    ("/v1/chat/completions", {"model": "tiny"}),
    ("/v1/chat/completions", {**CHAT, "messages": []}),
    ("/v1/chat/completions", {**CHAT, "messages": "x"}),
    ("/v1/chat/completions", {**CHAT, "messages": [{"role": "x", "content": "y"}]}),
    ("/v1/chat/completions", {**CHAT, "max_tokens": -1}),
    ("/v1/chat/completions", {**CHAT, "temperature": -1}),
    ("/v1/chat/completions", {**CHAT, "messages": [{"role": "user", "content": "word " * 9_000}]}),
    ("/v1/completions", {"model": "tiny"}),
    ("/v1/completions", {"model": "tiny", "prompt": ""}),
    ("/generate", {}),
    ("/generate", {"input_ids": [7] * 5_000}),
    ("/generate", {"input_ids": [7] * 2_042}),
    ("/generate", {"input_ids": [7], "sampling_params": {"max_new_tokens": -1}}),
    ("/generate", {"input_ids": [7], "sampling_params": {"max_new_tokens": 5_000}}),
    ("/no/such/path", {}),
]


@pytest.mark.parametrize(("path", "body"), BAD)
async def test_errors_have_one_shape(pair: Pair, path: str, body: dict[str, Any]) -> None:
    """What the real engine refuses is refused with the same status, keys, types and kind of error."""
    answers = []
    for status, kind, text in await pair.call(path, body):
        error = json.loads(text)
        answers.append((status, kind, shape(error), error.get("type"), error.get("code")))
    assert answers[0] == answers[1]


async def test_metrics_have_one_name(pair: Pair) -> None:
    """The counters and gauges that are read exist in both, and count the same tokens."""
    body = {"input_ids": list(range(300, 400)), "sampling_params": {"max_new_tokens": 2}}
    before = [values(text) for _, _, text in await pair.call("/metrics")]
    for _ in range(2):
        await pair.call("/generate", body)
    await asyncio.sleep(0.5)
    after = [values(text) for _, _, text in await pair.call("/metrics")]
    grown = [
        {name: late.get(name, 0) - early.get(name, 0) for name in METRICS[:2]}
        for early, late in zip(before, after, strict=True)
    ]
    assert grown[0] == grown[1] == {"prompt_tokens_total": 200, "cached_tokens_total": 96}
    assert all(name in each for each in after for name in METRICS)


def values(text: str) -> dict[str, float]:
    """Sums over labels of the sglang: metrics of an exposition."""
    sums: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("sglang:"):
            name, value = line.removeprefix("sglang:").split("{")[0], float(line.rsplit(" ", 1)[1])
            sums[name] = sums.get(name, 0) + value
    return sums
