"""The simulated engine over HTTP: SGLang's endpoints, shapes, errors, and what happens when things go wrong."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions, read_options
from engine_adapter.simulated_text import encode, invent_output, render_chat, render_tools, token_count, token_text
from tests.cases import case

CONFIG = EngineConfig(page_tokens=4, kv_capacity_tokens=2_048, context_tokens=1_024)
TALK = [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": "How are you?"}]
LISTENING = "simulated engine listening on http://127.0.0.1:"


@pytest.fixture
async def engine() -> AsyncIterator[SimulatedEngine]:
    """A fast engine."""
    async with SimulatedEngine(EngineOptions(config=CONFIG, speed=1_000, model="m")) as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """A client."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        yield session


async def post(http: aiohttp.ClientSession, url: str, body: Any) -> tuple[int, Any]:
    """Status and parsed body of a POST; bytes are sent as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with http.post(url, data=data, headers={"content-type": "application/json"}) as response:
        return response.status, await response.json()


async def events(http: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> list[str]:
    """The data of a stream's events."""
    async with http.post(url, json={**body, "stream": True}) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        text = (await response.read()).decode()
    assert text.endswith("\n\n")
    lines = text.removesuffix("\n\n").split("\n\n")
    assert all(line.startswith("data: ") for line in lines)
    return [line.removeprefix("data: ") for line in lines]


def chat(**more: Any) -> dict[str, Any]:
    """A chat request for five tokens."""
    return {"model": "m", "messages": TALK, "max_tokens": 5, **more}


async def idle(engine: SimulatedEngine) -> None:
    """Wait until nothing runs or waits."""
    async with asyncio.timeout(5):
        while engine.scheduler.busy:
            await asyncio.sleep(0.001)


async def test_a_chat_and_its_repeat(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """The same request gets the same answer, and all whole pages but the last token from the cache."""
    answers = [(await post(http, engine.url + "/v1/chat/completions", chat()))[1] for _ in range(2)]
    prompt = answers[0]["usage"]["prompt_tokens"]
    assert prompt == token_count(render_chat(TALK, []))
    assert answers[0]["choices"] == answers[1]["choices"]
    assert answers[0]["choices"][0]["finish_reason"] == "length"
    cached = [answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in answers]
    assert cached == [0, (prompt - 1) // 4 * 4]
    assert answers[1]["usage"]["total_tokens"] == prompt + 5


async def test_the_next_turn_finds_the_answer_cached(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """An answer sent back as history has the tokens it was generated with."""
    _, first = await post(http, engine.url + "/v1/chat/completions", chat(max_tokens=40))
    turn = [*TALK, first["choices"][0]["message"], {"role": "user", "content": "And you?"}]
    _, second = await post(http, engine.url + "/v1/chat/completions", chat(messages=turn))
    seen = first["usage"]["prompt_tokens"] + 40 - 1
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] == seen // 4 * 4


async def test_a_chat_stream(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """Role chunk, a chunk a token, a chunk with the reason, the usage chunk that was asked for, the end mark."""
    url = engine.url + "/v1/chat/completions"
    _, whole = await post(http, url, chat())
    lines = await events(http, url, chat(stream_options={"include_usage": True}))
    assert lines.pop() == "[DONE]"
    chunks = [json.loads(line) for line in lines]
    usage = chunks.pop()
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 5
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"reasoning_content": None, "role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == whole["choices"][0]["message"]["content"]
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
    assert reasons == [None] * 6 + ["length"]
    assert not any("usage" in chunk for chunk in chunks)
    assert len({chunk["id"] for chunk in [*chunks, usage]}) == 1


async def test_usage_in_streams(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """Without include_usage there is none; with continuous_usage_stats it is on every chunk with text."""
    url = engine.url + "/v1/chat/completions"
    plain = await events(http, url, chat())
    assert not any("usage" in line for line in plain)
    options = {"include_usage": True, "continuous_usage_stats": True}
    chunks = [json.loads(line) for line in (await events(http, url, chat(stream_options=options)))[:-1]]
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks if "usage" in chunk]
    assert counts == [1, 2, 3, 4, 5, 5]


async def test_completions(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """A text, a list of texts, token ids; echo; and a stream with null usage on its chunks."""
    url = engine.url + "/v1/completions"
    _, one = await post(http, url, {"model": "m", "prompt": "Once upon a time", "max_tokens": 3, "echo": True})
    assert one["choices"][0]["text"].startswith("Once upon a time")
    _, two = await post(http, url, {"model": "m", "prompt": ["Once upon", "a time"], "max_tokens": 3})
    assert [choice["index"] for choice in two["choices"]] == [0, 1]
    _, ids = await post(http, url, {"model": "m", "prompt": [5, 6, 7], "max_tokens": 3})
    assert ids["usage"]["prompt_tokens"] == 3
    lines = await events(http, url, {"model": "m", "prompt": "Once upon a time", "max_tokens": 2})
    chunks = [json.loads(line) for line in lines[:-1]]
    assert [chunk["usage"] for chunk in chunks] == [None, None]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, "length"]


async def test_generate(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """SGLang's own API: text or ids, one or many, and a stream in which each event repeats what came before."""
    url = engine.url + "/generate"
    sampling = {"sampling_params": {"max_new_tokens": 3}}
    _, one = await post(http, url, {"text": "Once upon a time", **sampling})
    assert one["meta_info"]["completion_tokens"] == 3
    assert one["meta_info"]["finish_reason"] == {"type": "length", "length": 3}
    _, many = await post(http, url, {"input_ids": [[1, 2, 3], [4, 5]], **sampling})
    assert [each["meta_info"]["prompt_tokens"] for each in many] == [3, 2]
    lines = await events(http, url, {"text": "Once upon a time", **sampling})
    assert [len(json.loads(line)["output_ids"]) for line in lines[:-1]] == [1, 2, 3]
    assert json.loads(lines[2])["text"] == one["text"]


async def test_forced_output(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """simulated_output_ids are the output, for each prompt its own; max_new_tokens still cuts them."""
    url = engine.url + "/generate"
    body = {"input_ids": [1, 2, 3], "simulated_output_ids": [9, 8, 7]}
    _, answer = await post(http, url, body)
    assert answer["output_ids"] == [9, 8, 7]
    assert answer["meta_info"]["finish_reason"]["type"] == "stop"
    _, cut = await post(http, url, {**body, "sampling_params": {"max_new_tokens": 2}})
    assert (cut["output_ids"], cut["meta_info"]["finish_reason"]["type"]) == ([9, 8], "length")
    _, two = await post(http, url, {"input_ids": [[1], [2]], "simulated_output_ids": [[9], [8, 7]]})
    assert [each["output_ids"] for each in two] == [[9], [8, 7]]


async def test_choices_share_one_prompt(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """n answers: the prompt and its cached tokens count once, the output n times (case 36)."""
    ids = list(range(100))
    _, answer = await post(http, engine.url + "/v1/completions", {"prompt": ids, "max_tokens": 4, "n": 3})
    assert len(answer["choices"]) == 3
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (100, 12)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 96  # SGLang runs the prompt once before the choices
    lines = await events(http, engine.url + "/v1/chat/completions", chat(n=2, stream_options={"include_usage": True}))
    chunks = [json.loads(line) for line in lines[:-1]]
    assert {chunk["choices"][0]["index"] for chunk in chunks[:-1]} == {0, 1}
    assert chunks[-1]["usage"]["completion_tokens"] == 10


async def test_namespaces(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """Salt, extra key and adapter are kept apart, and apart from each other (case 37)."""
    spaces = [
        {"cache_salt": each["cache_salt"], "extra_key": each["extra_key"], "lora_path": each["lora"]}
        for each in case(37)["input"]["requests"]
    ]
    for expected in (0, 20):
        for space in [{}, *spaces]:
            _, answer = await post(http, engine.url + "/generate", {"input_ids": list(range(24)), **space})
            assert answer["meta_info"]["cached_tokens"] == expected


def test_tool_choice_shrinks_the_prompt() -> None:
    """All tools, the named one, or none (case 30)."""
    bodies, expected = case(30)["input"], case(30)["expected"]["tools_rendered_by_sglang"]
    for kind, names in expected.items():
        rendered = render_tools(bodies[kind]["tools"], bodies[kind]["tool_choice"])
        assert [tool["name"] for tool in rendered] == names


def test_tools_come_first() -> None:
    """Two chats with the same tools share them, and with other tools nothing but the header."""
    tools = [[{"name": name, "parameters": {"type": "object"}}] for name in ("search", "finish")]
    first, second, other = (render_chat(TALK, tool) for tool in (tools[0], tools[0], tools[1]))
    assert first == second
    assert first[:4] == other[:4]
    assert first[:40] != other[:40]


@pytest.mark.parametrize(
    "text", ["Hello, world! How are things?", "naïve café — 東京", "a  b\n\n\tc", "x" * 50, "🙂🙂"]
)
def test_tokens_are_stable_at_word_boundaries(text: str) -> None:
    """Text that goes on leaves the tokens before it as they were; nothing is lost."""
    whole = encode(text + " and more")
    assert whole.startswith(encode(text))
    assert token_count(encode(text)) <= len(text.encode())


def test_a_token_is_about_four_bytes() -> None:
    """English prose: 3 to 5.5 bytes a token."""
    prose = "The quick brown fox jumps over the lazy dog, and nobody was really surprised by it. " * 20
    assert 3 < len(prose.encode()) / token_count(encode(prose)) < 5.5


def test_output_reads_back_as_its_tokens() -> None:
    """Text made of output tokens has these tokens."""
    ids = invent_output(encode("a prompt"), 200)
    assert encode("".join(token_text(token) for token in ids)) == b"".join(each.to_bytes(4, "little") for each in ids)


async def test_without_cache_report(http: aiohttp.ClientSession) -> None:
    """No report: the details are null always, and the server says so."""
    async with SimulatedEngine(EngineOptions(config=CONFIG, speed=1_000, cache_report=False)) as engine:
        for _ in range(2):
            _, answer = await post(http, engine.url + "/v1/chat/completions", chat())
            assert answer["usage"]["prompt_tokens_details"] is None
        async with http.get(engine.url + "/server_info") as response:
            assert (await response.json())["enable_cache_report"] is False


BAD_BODIES = [
    ("/v1/chat/completions", b"{nope", "Bad Request"),
    ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": "\xff"}]}', "Bad Request"),
    ("/v1/chat/completions", {"model": "m"}, "Bad Request"),
    ("/v1/chat/completions", {"messages": "x"}, "Bad Request"),
    ("/v1/chat/completions", [1], "Bad Request"),
    ("/v1/chat/completions", {"messages": [{"role": "x", "content": "y"}]}, "Bad Request"),
    ("/v1/chat/completions", {"messages": [{"content": "y"}]}, "Bad Request"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": 1}]}, "Bad Request"),
    ("/v1/chat/completions", {"messages": []}, "BadRequestError"),
    ("/v1/chat/completions", chat(max_tokens=-1), "BadRequestError"),
    ("/v1/chat/completions", chat(n=0), "BadRequestError"),
    ("/v1/chat/completions", chat(temperature=-1), "BadRequestError"),
    ("/v1/chat/completions", chat(max_tokens=5_000), "BadRequestError"),
    ("/v1/chat/completions", chat(messages=[{"role": "user", "content": "word " * 2_000}]), "BadRequestError"),
    (
        "/v1/chat/completions",
        chat(messages=[{"role": "user", "content": "word " * 2_000}], stream=True),
        "BadRequestError",
    ),
    ("/v1/completions", {"model": "m"}, "Bad Request"),
    ("/v1/completions", {"prompt": ""}, "BadRequestError"),
    ("/v1/completions", {"prompt": [{}]}, "BadRequestError"),
    ("/generate", b"{x", "Bad Request"),
]


@pytest.mark.parametrize(("path", "body", "kind"), BAD_BODIES)
async def test_bad_bodies(
    engine: SimulatedEngine, http: aiohttp.ClientSession, path: str, body: Any, kind: str
) -> None:
    """A body that SGLang refuses is refused with its status and its shape."""
    status, error = await post(http, engine.url + path, body)
    assert status == 400
    assert error == {"object": "error", "message": error["message"], "type": kind, "param": None, "code": 400}
    assert not engine.scheduler.busy


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": ""},
        {"input_ids": []},
        {"input_ids": [-7]},
        {"input_ids": [2**40]},
        {"input_ids": [7] * 1_024},
        {"input_ids": [7] * 1_020},
        {"input_ids": [7] * 100, "sampling_params": {"max_new_tokens": 1_000}},
        {"text": "hi", "sampling_params": {"max_new_tokens": -1}},
        {"text": "hi", "simulated_output_ids": ["x"]},
        {"input_ids": [[1], [7] * 1_020]},
    ],
)
async def test_bad_generate_bodies(engine: SimulatedEngine, http: aiohttp.ClientSession, body: Any) -> None:
    """/generate has an error shape of its own."""
    status, error = await post(http, engine.url + "/generate", body)
    assert (status, list(error), list(error["error"])) == (400, ["error"], ["message"])
    assert not engine.scheduler.busy


async def test_what_it_says_of_itself(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """Model list, server info, loads, health; unknown paths are 404."""
    seen: dict[str, Any] = {}
    for path in ("/v1/models", "/server_info", "/get_server_info", "/model_info", "/v1/loads"):
        async with http.get(engine.url + path) as response:
            assert response.status == 200
            seen[path] = await response.json()
    assert seen["/v1/models"]["data"][0]["id"] == "m"
    assert seen["/server_info"] == seen["/get_server_info"]
    assert seen["/server_info"]["page_size"] == 4
    assert seen["/server_info"]["max_total_num_tokens"] == 2_048
    assert seen["/v1/loads"]["loads"][0]["num_running_reqs"] == 0
    for path, status in {
        "/health": 200,
        "/health_generate": 200,
        "/v1/models/m": 200,
        "/v1/models/x": 404,
        "/x": 404,
    }.items():
        async with http.get(engine.url + path) as response:
            assert response.status == status


async def test_metrics_count_tokens(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """/metrics has SGLang's counters, and they add up to the usage of the answers."""
    for _ in range(2):
        await post(
            http, engine.url + "/generate", {"input_ids": list(range(50)), "sampling_params": {"max_new_tokens": 3}}
        )
    async with http.get(engine.url + "/metrics") as response:
        lines = (await response.text()).splitlines()
    values = {line.split("{")[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}
    assert values["sglang:prompt_tokens_total"] == 100
    assert values["sglang:cached_tokens_total"] == 48
    assert values["sglang:generation_tokens_total"] == 6
    assert values["sglang:num_running_reqs"] == values["sglang:num_queue_reqs"] == values["sglang:token_usage"] == 0


async def test_tokenize(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """/tokenize gives the ids that /generate takes."""
    _, tokens = await post(http, engine.url + "/tokenize", {"prompt": "Once upon a time there was"})
    _, by_text = await post(http, engine.url + "/generate", {"text": "Once upon a time there was"})
    _, by_ids = await post(http, engine.url + "/generate", {"input_ids": tokens["tokens"]})
    assert by_ids["text"] == by_text["text"]
    assert tokens["count"] == by_text["meta_info"]["prompt_tokens"]
    assert (await post(http, engine.url + "/tokenize", {}))[0] == 400


async def test_flush_and_restart_forget(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """After a flush, and after a restart on the same port, nothing is cached."""
    body, url = {"input_ids": list(range(40))}, engine.url
    cached = []
    for action in ("", "", "flush", "restart"):
        if action == "flush":
            async with http.post(url + "/flush_cache") as response:
                assert response.status == 200
        elif action == "restart":
            await engine.stop()
            await engine.start()
            assert engine.url == url
        cached.append((await post(http, url + "/generate", body))[1]["meta_info"]["cached_tokens"])
    assert cached == [0, 36, 0, 0]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_gives_its_place_back(http: aiohttp.ClientSession, stream: bool) -> None:
    """Running or still waiting: a closed connection frees the place."""
    config = EngineConfig(page_tokens=4, kv_capacity_tokens=2_048, context_tokens=1_024, max_running=1)
    async with SimulatedEngine(EngineOptions(config=config, speed=1)) as engine:
        url = engine.url + "/v1/chat/completions"
        tasks = [asyncio.ensure_future(post(http, url, chat(max_tokens=900, stream=stream))) for _ in range(2)]
        async with asyncio.timeout(5):
            while engine.scheduler.load()[:2] != (1, 1):
                await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await idle(engine)
        assert engine.totals.aborted == 2
        assert engine.scheduler.cache.held_tokens == 0


async def test_faults_before_the_answer(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """A status that was asked for; no health; no answer at all, until the client leaves; a cut before any byte."""
    url = engine.url + "/v1/chat/completions"
    engine.faults.status = 503
    assert (await post(http, url, chat()))[0] == 503
    engine.faults.status = None
    engine.faults.healthy = False
    async with http.get(engine.url + "/health") as response:
        assert response.status == 503
    assert (await post(http, url, chat()))[0] == 200
    engine.faults.hang = True
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(post(http, url, chat()), 0.05)
    engine.faults.hang = False
    engine.faults.die_after_events = 0
    for stream in (True, False):
        with pytest.raises(aiohttp.ClientError):
            await post(http, url, chat(stream=stream))
    engine.faults.die_after_events = None
    assert (await post(http, url, chat()))[0] == 200


async def read_stream(http: aiohttp.ClientSession, url: str, received: bytearray) -> None:
    """Collect a chat stream's bytes."""
    async with http.post(url + "/v1/chat/completions", json=chat(stream=True)) as response:
        async for chunk in response.content.iter_any():
            received += chunk


@pytest.mark.parametrize("fault", ["die_after_events", "hang_after_events"])
async def test_faults_in_a_stream(engine: SimulatedEngine, http: aiohttp.ClientSession, fault: str) -> None:
    """After three events the engine dies, or says nothing more."""
    setattr(engine.faults, fault, 3)
    received = bytearray()
    with pytest.raises((aiohttp.ClientError, TimeoutError)):
        await asyncio.wait_for(read_stream(http, engine.url, received), 0.3)
    assert received.count(b"data: ") == 3
    await idle(engine)


async def test_it_remembers_what_it_got(engine: SimulatedEngine, http: aiohttp.ClientSession) -> None:
    """Path, headers and the very bytes of the last requests."""
    body = b'{ "messages":[{"role":"user","content":"hi"}], "unknown": 1e5 }'
    await post(http, engine.url + "/v1/chat/completions", body)
    last = engine.received[-1]
    assert (last.path, last.body) == ("/v1/chat/completions", body)
    assert last.headers["Content-Type"] == "application/json"


async def test_stream_interval(http: aiohttp.ClientSession) -> None:
    """With an interval of four a chunk carries up to four tokens."""
    async with SimulatedEngine(EngineOptions(config=CONFIG, speed=1_000, stream_interval=4)) as engine:
        lines = await events(http, engine.url + "/v1/completions", {"prompt": "Hello", "max_tokens": 10})
    assert len(lines) == 5


async def test_waiting_takes_the_stated_time(http: aiohttp.ClientSession) -> None:
    """The engine's own clock: three requests in a row cannot be faster than the model says."""
    async with SimulatedEngine(EngineOptions(config=CONFIG, speed=1)) as engine:
        loop = asyncio.get_running_loop()
        start = loop.time()
        await post(http, engine.url + "/generate", {"input_ids": [1] * 50, "sampling_params": {"max_new_tokens": 6}})
        timing = CONFIG.timing
        assert loop.time() - start >= timing.prefill_step_s + 5 * timing.decode_step_s


def run(*arguments: str) -> subprocess.Popen[str]:
    """The command, in a process of its own."""
    command = [sys.executable, "-m", "engine_adapter.simulated", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_command_listens_and_ends() -> None:
    """One line when it is ready; SIGTERM ends it well."""
    process = run("--port", "0", "--page-size", "8", "--kv-capacity", "4096", "--speed", "10", "--no-cache-report")
    assert process.stdout is not None
    assert process.stdout.readline().startswith(LISTENING)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_taken_port_is_one_line() -> None:
    """The port is in use: exit 2, and one line that names it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = run("--port", str(port))
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert f"127.0.0.1:{port}" in err


@pytest.mark.parametrize("arguments", [("--page-size", "0"), ("--speed", "-1"), ("--kv-capacity", "x"), ("--what",)])
def test_wrong_arguments(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """A value that cannot be, or an option that is not: exit 2, and the option is named."""
    with pytest.raises(SystemExit, match="2"):
        read_options(arguments)
    assert arguments[0] in capsys.readouterr().err
