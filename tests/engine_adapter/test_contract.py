"""What every adapter must do, on its engine's own answers: recorded from real ones, or (trtllm, openai) written from
their documents and not run; the README beside each folder of tests/data says which."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine_adapter.engine import Engine, EngineInfo, EngineLoad
from engine_adapter.kinds import ENGINES, KINDS, kind_of
from engine_adapter.sse import StreamTap
from engine_adapter.usage import parse_usage
from prefix.body import parse_body
from prefix.errors import EngineError
from prefix.members import member_edits
from prefix.scan import splice

DATA = Path(__file__).parents[1] / "data"
CHAT, COMPLETIONS, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"
GARBAGE = [b"", b"null", b"<html>", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"data":1}', b'{"data":[{}]}', b"7"]


@dataclass(frozen=True)
class Told:
    """What one engine said (names of files), and what that means.

    loads: file -> the load in it. also, load_also: pages beside the info and the load. info: fields that are known;
    all others must be unknown. cached: tokens of the 319 of chat_cached.json that came from the cache.
    """

    kind: str
    info_file: str
    info: dict[str, object]
    models: dict[str, int | None]
    loads: dict[str, EngineLoad | None]
    also: dict[str, str] = field(default_factory=dict)
    load_also: dict[str, dict[str, str]] = field(default_factory=dict)
    cached: int = 256
    salted: frozenset[str] = frozenset()

    @property
    def engine(self) -> Engine:
        return KINDS[self.kind]

    def read(self, name: str) -> bytes:
        return (DATA / self.kind / name).read_bytes()


TOLD = [
    Told(
        "sglang",
        "server_info.json",
        {
            "version": "0.5.23",
            "page_size": 16,
            "kv_capacity_tokens": 32768,
            "max_model_len": 4096,
            "cache_report": True,
        },
        {"tiny": 4096},
        {"loads_idle.json": EngineLoad(0, 0, 0, 0, 1504), "loads_busy.json": EngineLoad(8, 4, 604, 1744, 1520)},
        cached=304,
        salted=frozenset((CHAT, COMPLETIONS, RESPONSES, "/generate")),
    ),
    Told(
        "vllm",
        "models.json",
        {"version": "0.32.0", "page_size": 32, "kv_capacity_tokens": 8192, "max_model_len": 4096},
        {"tiny": 4096},
        {
            "metrics_idle.txt": EngineLoad(0, 0, 0, 0, 2018),
            "metrics_busy.txt": EngineLoad(2, 6, round(6 * 4718 / 19), 4144, 4718),
        },
        also={"/version": "version.json", "/metrics": "metrics_idle.txt"},
        cached=288,
        salted=frozenset((CHAT, COMPLETIONS, RESPONSES)),
    ),
    Told(
        "llamacpp",
        "props.json",
        {"version": "b1-7e4c0a9", "page_size": 1, "max_model_len": 4096, "cache_report": True, "slots": 2},
        {"tiny": 4096},
        {
            "slots_idle.json": EngineLoad(0, 0, 0, 0, 0),
            "slots_busy.json": EngineLoad(2, 1, 2048 + 2048, 4096, 0),
            "metrics_busy.txt": EngineLoad(2, 1, None, None, 0),
        },
        load_also={
            "slots_idle.json": {"/metrics": "metrics_idle.txt"},
            "slots_busy.json": {"/metrics": "metrics_busy.txt"},
        },
        cached=318,
    ),
    Told(
        "trtllm",
        "models.json",
        {"version": "1.2.0"},
        {"tiny": None},
        {"metrics_idle.json": None, "metrics_busy.json": EngineLoad(5, 4, None, 600 * 64, None)},
        also={"/version": "version.json"},
        salted=frozenset((CHAT,)),
    ),
    Told("openai", "models.json", {}, {"gpt-5-mini": None, "gpt-4o": None}, {}),
]
each = pytest.mark.parametrize("told", TOLD, ids=lambda told: told.kind)


def test_every_kind_is_here() -> None:
    """No adapter without its answers."""
    assert {told.kind for told in TOLD} == set(KINDS)


@each
def test_paths_are_absolute(told: Told) -> None:
    """All that is asked for begins with a slash."""
    engine = told.engine
    several = (*engine.info_paths, *engine.info_also, *engine.load_paths, *engine.load_also)
    alone = (engine.metrics_path, engine.asleep_path, engine.flush_path)
    for path in (engine.health_path, *several, *alone):
        assert path is None or path.startswith("/")
    assert engine.info_paths
    assert engine.keep_alive_s > 0


@each
def test_each_is_found_by_its_own_answer_only(told: Told) -> None:
    """Whoever is asked first, the answer is recognised by its own kind; `openai` is told, never found."""
    found = [engine.kind for engine in ENGINES if engine.detects(told.read(told.info_file))]
    assert found == ([told.kind] if told.kind != "openai" else [])


@each
def test_what_it_says_of_itself(told: Told) -> None:
    """Version, names, sizes as its pages say them; what they do not say is unknown."""
    also = {path: told.read(name) for path, name in told.also.items()}
    info = told.engine.parse_info(told.read(told.info_file), also)
    assert (info.kind, set(info.models)) == (told.kind, set(told.models))
    known = {name: getattr(info, name) for name in EngineInfo.__dataclass_fields__}
    left = {"kind", "models", "boot_id", "dp_size", "kv_events", "disaggregation"}
    defaults = {"slots": 1}
    expected = {name: told.info.get(name, defaults.get(name)) for name in known if name not in left}
    assert {name: value for name, value in known.items() if name not in left} == expected


@each
def test_models_with_their_longest_prompt(told: Told) -> None:
    """/v1/models names what it answers to."""
    assert told.engine.parse_models(told.read("models.json")) == told.models


@each
def test_loads(told: Told) -> None:
    """Idle is zero, busy is counted, and what is not told is not zero."""
    for name, expected in told.loads.items():
        also = {path: told.read(page) for path, page in told.load_also.get(name, {}).items()}
        assert told.engine.parse_load(told.read(name), also) == expected, name
    assert bool(told.loads) is bool(told.engine.load_paths)


@each
@pytest.mark.parametrize("payload", GARBAGE)
def test_garbage_is_one_line_or_nothing(told: Told, payload: bytes) -> None:
    """An answer that is not the engine's raises EngineError, one line that names the kind, and is not detected."""
    engine = told.engine
    assert not engine.detects(payload)
    assert engine.parse_asleep(payload) is False
    said_nothing = told.kind == "sglang" and payload.startswith(b"{")  # every field of /server_info is optional
    parses = (engine.parse_models, engine.parse_load, *(() if said_nothing else (engine.parse_info,)))
    for parse in parses:
        with pytest.raises(EngineError, match=rf"^{told.kind}[^\n]+$"):
            parse(payload)


@each
def test_usage_of_a_whole_answer(told: Told) -> None:
    """319 prompt tokens; nothing cached at first, and known to be nothing; then what the engine says."""
    cold, warm = (parse_usage(json.loads(told.read(name))) for name in ("chat.json", "chat_cached.json"))
    assert (cold.input_total, cold.cached_read, cold.output) == (319, 0, 4)
    assert (warm.input_total, warm.cached_read, warm.anomaly) == (319, told.cached, None)


@each
def test_usage_of_a_stream_that_is_asked_for_it(told: Told) -> None:
    """The option the adapter adds brings the usage chunk, which is withheld from a client that did not ask."""
    added = told.engine.additions(CHAT, stream=b"true", stream_options=None)
    assert (added.members, added.hide_usage) == ({"stream_options": b'{"include_usage":true}'}, True)
    tap = StreamTap(api="openai", hide_usage=True)
    passed = tap.feed(told.read("chat_stream.txt"))
    result = tap.close()
    assert (result.outcome, result.done_seen) == ("ok", True)
    assert result.usage is not None
    assert (result.usage.input_total, result.usage.cached_read) == (319, told.cached)
    assert b'"usage":{' not in passed.replace(b" ", b"") + result.tail
    assert passed.endswith(b"data: [DONE]\n\n")


@each
def test_salts_go_where_they_are_read(told: Told) -> None:
    """Only paths where this engine reads the salt are named; there it is a member of the body."""
    engine = told.engine
    assert set(engine.salted_paths) == told.salted
    assert bool(told.salted) is (engine.salt_member is not None)
    for path in told.salted:
        assert engine.salt_member is not None
        members = engine.additions(path, stream=None, stream_options=None, salt='s"alt').members
        assert members == {engine.salt_member: b'"s\\"alt"'}


@each
def test_additions_are_declared_and_nothing_else_changes(told: Told) -> None:
    """Whatever is added is an inserted or replaced member; without a reason for it nothing is."""
    raw = b'{"model":"tiny", "messages":[{"role":"user","content":"hi"}], "stream":false}'
    body = parse_body(raw)
    for path in (CHAT, COMPLETIONS, RESPONSES, MESSAGES):
        plain = told.engine.additions(path, stream=body.slice("stream"), stream_options=None)
        assert (plain.members, plain.hide_usage) == ({}, False)
        added = told.engine.additions(path, stream=b"true", stream_options=None, rank=1).members
        sent = json.loads(splice(raw, member_edits(body, added)))
        assert sent == json.loads(raw) | {name: json.loads(value) for name, value in added.items()}
        assert set(added) <= {"stream_options", "routed_dp_rank", "id_slot"}


@each
def test_a_missing_path_is_no_missing_model(told: Told) -> None:
    """An engine without an API is not asked for it again; an unknown model, a long prompt say nothing of the kind."""
    missing = DATA / told.kind / "no_such_path.json"
    if told.kind != "trtllm":
        assert told.engine.lacks(404, missing.read_bytes())
    others = [DATA / told.kind / name for name in ("too_long.json", "unknown_model.json")]
    for answer in (path.read_bytes() for path in others if path.exists()):
        assert not told.engine.lacks(400, answer)
        assert not told.engine.lacks(404, answer)


def test_a_kind_can_be_told() -> None:
    """By URL, or for all; who is not told of is found out."""
    assert kind_of("http://a:1", {}) is None
    assert kind_of("http://a:1", {"http://b:1": "openai"}) is None
    told = kind_of("http://a:1", {"*": "vllm", "http://a:1": "openai"})
    assert told is not None
    assert told.kind == "openai"
