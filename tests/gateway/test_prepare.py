"""gateway.prepare: from a client's bytes to what is sent, where it may go and what it is counted as."""

from typing import Any

import msgspec
import pytest

from engine_adapter.engine import Additions, Engine
from engine_adapter.llamacpp import LlamaCpp
from engine_adapter.sglang import SGLang
from gateway.apis import APIS, CHAT, COMPLETIONS, GENERATE
from gateway.config import Config, RouteConfig
from gateway.errors import Refusal
from gateway.identity import KeyRing
from gateway.incoming import Incoming
from gateway.models import Models
from gateway.prepare import Preparer
from gateway.prepared import Prepared
from prefix.canonical import canonicalize
from prefix.hoist import Hoist, HoistReport
from tests.cases import case, wire

CALLER = KeyRing({}).caller(None)
MESSAGES = [{"role": "user", "content": "x" * 4000}]


@pytest.fixture
def preparer() -> Preparer:
    """One engine that serves `m`."""
    models = Models("expected-ttft")
    models.join("w", ("m", "lora"), None, 0.0)
    return Preparer(models)


def prepare(preparer: Preparer, body: Any, path: str = CHAT, config: Config | None = None, **own: str) -> Prepared:
    """A body as bytes or object, own headers by name."""
    raw = body if isinstance(body, bytes) else wire(body)
    headers = {b"x-prefixgate-" + name.encode(): value.encode() for name, value in own.items()}
    incoming = Incoming("POST", path, b"", [], headers, None, None, len(raw), raw)
    return preparer.prepare(APIS[path], incoming, CALLER, config or Config(), now=0.0)


def test_case_17_what_differs_on_the_wire_only_has_the_same_blocks(preparer: Preparer) -> None:
    """Spacing, escapes and the key order of declared fields are not part of the prompt."""
    given = case(17)["input"]
    a, b = (prepare(preparer, given[wire_name].encode()) for wire_name in ("wire_A", "wire_B"))
    assert (a.view, a.blocks) == (b.view, b.blocks)
    assert case(17)["expected"]["content"].encode() in a.view.text


def test_an_append_only_conversation_shares_its_blocks(preparer: Preparer) -> None:
    """The next turn begins with all blocks of this one."""
    first = prepare(preparer, {"model": "m", "messages": MESSAGES})
    more = [*MESSAGES, {"role": "assistant", "content": "y"}, *MESSAGES]
    second = prepare(preparer, {"model": "m", "messages": more})
    assert len(first.blocks) > 3
    assert second.blocks[: len(first.blocks)] == first.blocks
    assert len(second.blocks) > len(first.blocks)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "lora"},
        {"cache_salt": "s"},
        {"extra_key": "k"},
        {"chat_template_kwargs": {"enable_thinking": False}},
    ],
)
def test_namespaces_share_nothing(preparer: Preparer, other: dict[str, Any]) -> None:
    """Adapter, salt and template arguments part two prompts at their first block (cases 37 and 56)."""
    body = {"model": "m", "messages": MESSAGES}
    first, second = prepare(preparer, body), prepare(preparer, body | other)
    assert not set(first.blocks) & set(second.blocks)
    assert first.group is second.group


def test_token_ids_are_counted_and_text_is_estimated(preparer: Preparer) -> None:
    """Ids say how many there are; text goes by the learned ratio, and is never nothing."""
    assert prepare(preparer, {"model": "m", "prompt": [1] * 300}, COMPLETIONS).prompt_tokens == 300
    assert prepare(preparer, {"input_ids": [[1] * 30, [2] * 20]}, GENERATE).prompt_tokens == 50
    text = prepare(preparer, {"model": "m", "prompt": "x" * 4000}, COMPLETIONS)
    assert text.prompt_tokens == 1000
    for _ in range(500):
        text.group.learn_ratio(8000, 1000)
    assert prepare(preparer, {"model": "m", "prompt": "x" * 4000}, COMPLETIONS).prompt_tokens == 500
    assert prepare(preparer, {"text": ""}, GENERATE).prompt_tokens == 1


@pytest.mark.parametrize(
    ("path", "fields", "tokens"),
    [
        (CHAT, {"max_tokens": 5}, 5),
        (CHAT, {"max_tokens": 5, "max_completion_tokens": 7}, 7),
        (CHAT, {"max_tokens": None}, None),
        (CHAT, {"max_tokens": "5"}, None),
        (CHAT, {"max_tokens": 0}, None),
        (CHAT, {"max_tokens": True}, None),
        (CHAT, {"max_tokens": 5.0}, None),
        (GENERATE, {"sampling_params": {"max_new_tokens": 9}}, 9),
        (GENERATE, {"sampling_params": [{"max_new_tokens": 9}]}, None),
        (GENERATE, {"sampling_params": None}, None),
    ],
)
def test_the_longest_answer(preparer: Preparer, path: str, fields: dict[str, Any], tokens: int | None) -> None:
    """Where it is said in a way that counts."""
    assert prepare(preparer, {"model": "m", "messages": MESSAGES, **fields}, path).max_output_tokens == tokens


@pytest.mark.parametrize(
    ("sampling", "choices"),
    [({"n": 3}, 3), ([{"n": 2}, {"n": 2}], 2), ({"n": 0}, 1), ({"n": "2"}, 1), ({}, 1), ([], 1), (None, 1), (7, 1)],
)
def test_answers_per_prompt_where_usage_comes_for_each(preparer: Preparer, sampling: Any, choices: int) -> None:
    """Case 36: of SGLang's own API only; the others sum it up themselves."""
    assert prepare(preparer, {"text": "x", "sampling_params": sampling}, GENERATE).choices == choices
    body = {"model": "m", "prompt": "x", "n": 3, "sampling_params": sampling}
    assert prepare(preparer, body, COMPLETIONS).choices == 1


@pytest.mark.parametrize(("stream", "streams"), [(True, True), (False, False), (None, False)])
def test_streams(preparer: Preparer, stream: Any, streams: bool) -> None:
    """Only a true is a stream."""
    assert prepare(preparer, {"model": "m", "messages": MESSAGES, "stream": stream}).stream is streams


def test_identity_level_and_model(preparer: Preparer) -> None:
    """A route's level wins over the global one; a model nobody named is the one there is."""
    config = Config(routes={"raw": RouteConfig(level="off"), "plain": RouteConfig()})
    body = wire(case(10)["input"]["B"] | {"model": "m"})
    assert canonicalize(body).changed
    assert prepare(preparer, body, config=config, route="raw").changes == ()
    assert prepare(preparer, body, config=config, route="plain").changes == canonicalize(body).changes
    assert prepare(preparer, body, config=Config(level="off")).changes == ()
    prepared = prepare(preparer, {"text": "x"}, GENERATE, session="s")
    assert (prepared.model, prepared.identity.session) == ("m", "s")


CLOCKED = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "You help.\r\nNow: 2026-03-03T09:14:07Z\r\nBe brief."},
        {"role": "user", "content": "Hi"},
    ],
}


def test_lossy_levels_by_route(preparer: Preparer) -> None:
    """What is sent, what is placed and what is counted are the rewritten body's; other routes send the client's."""
    hoist = Hoist("rewrite", ("clock_second",))
    levels = {"plain": RouteConfig(), "form": RouteConfig("normalize"), "move": RouteConfig("hoist", hoist=hoist)}
    config = Config(routes=levels | {"report": RouteConfig("hoist")})
    sent = {name: prepare(preparer, CLOCKED, config=config, route=name) for name in config.routes}
    bodies = {name: prepared.for_engine(SGLang())[0] for name, prepared in sent.items()}
    assert bodies["plain"] == wire(CLOCKED)
    assert bodies["form"] == bodies["report"] == wire(CLOCKED).replace(b"\\r", b"")
    assert b"[clock: see latest user message]" in bodies["move"]
    assert b"[clock: 2026-03-03T09:14:07Z]" in sent["move"].view.text
    assert [change.kind for change in sent["move"].changes] == ["line_ends", "hoisted_clock_second", "restated"]
    for name in ("report", "move"):
        assert sent[name].hoist == HoistReport(("clock_second",), len("\nBe brief."), 0)
    assert sent["form"].hoist is None


def test_a_route_says_what_is_stripped(preparer: Preparer) -> None:
    """Every nonce known, unless the route lists others."""
    body = case(4)["input"]["A"]
    routes = {"all": RouteConfig("normalize"), "none": RouteConfig("normalize", strip=())}
    config = Config(routes=routes, level="normalize")
    for route, stripped in (("all", True), ("none", False), ("default", True)):
        prepared = prepare(preparer, body, config=config, route=route)
        assert (b"cch=" not in prepared.for_engine(SGLang())[0]) is stripped


class Adding(SGLang):
    """An engine that wants these members set."""

    def __init__(self, **members: bytes) -> None:
        self._members = members

    def additions(self, path: str, **_: Any) -> Additions:
        return Additions(self._members, hide_usage=False)


@pytest.mark.parametrize(
    ("body", "arrives"),
    [
        (b'{"text":"x"}', b'{"new":1,"old":2,"text":"x"}'),
        (b' { "text":"x" , "old" : [ 5 ] } ', b' {"new":1, "text":"x" , "old" : 2 } '),
        (b'{ "old":{}, "text":"x"}', b'{"new":1, "old":2, "text":"x"}'),
        (b'{"\\u006fld":null,"text":"x"}', b'{"new":1,"\\u006fld":2,"text":"x"}'),
    ],
)
def test_what_an_engine_needs_is_spliced_in(preparer: Preparer, body: bytes, arrives: bytes) -> None:
    """A member that is there gets its value replaced in place, another one goes to the front; the rest stays."""
    prepared = prepare(preparer, body, GENERATE)
    assert prepared.for_engine(Adding(new=b"1", old=b"2")) == (arrives, False)
    assert msgspec.json.decode(arrives)["old"] == 2


def test_rewrites_and_additions_in_one_body(preparer: Preparer) -> None:
    """Canonical tools and the usage option, both by offset into the client's bytes."""
    body = wire(case(10)["input"]["B"] | {"model": "m", "stream": True})
    sent, hide = prepare(preparer, body).for_engine(SGLang())
    assert hide
    assert sent == b'{"stream_options":{"include_usage":true},' + canonicalize(body).body[1:]


@pytest.mark.parametrize(
    ("engine", "members", "told"),
    [
        (LlamaCpp(), {}, {"id_slot": 1}),
        (LlamaCpp(), {"id_slot": 0}, {"id_slot": 0}),
        (SGLang(), {}, {"routed_dp_rank": 1}),
        (SGLang(), {"id_slot": 0}, {"id_slot": 0, "routed_dp_rank": 1}),
    ],
)
def test_a_place_inside_the_engine_is_told_in_its_words(
    preparer: Preparer, engine: Engine, members: dict[str, Any], told: dict[str, Any]
) -> None:
    """A rank or a slot, unless the client has named one of that kind."""
    body = {"model": "m", "messages": MESSAGES}
    sent, _ = prepare(preparer, body | members).for_engine(engine, 1)
    assert msgspec.json.decode(sent) == body | told


def test_nothing_to_do_sends_the_very_bytes(preparer: Preparer) -> None:
    """No copy, no change."""
    body = wire({"model": "m", "messages": MESSAGES})
    sent, hide = prepare(preparer, body).for_engine(SGLang())
    assert (sent is body, hide) == (True, False)


def test_a_body_is_looked_at_before_its_model(preparer: Preparer) -> None:
    """What no engine can accept is a 400 also while none is up."""
    with pytest.raises(Refusal) as caught:
        prepare(Preparer(Models("round-robin")), b"{")
    assert caught.value.code == "invalid_json"


def test_the_stable_prefix_is_tools_system_text_and_what_traffic_shares(preparer: Preparer) -> None:
    """System text counts at once; a document counts once enough prompts have parted behind it."""
    document = "The terms of the warranty are long. " * 200
    system = {"role": "system", "content": "Answer from the document."}

    def asked(question: int) -> Prepared:
        user = {"role": "user", "content": f"{document}\nQuestion {question}: {question * 7919}" + " why?" * 120}
        return prepare(preparer, {"model": "m", "messages": [system, user]})

    first = asked(0)
    assert 0 < first.stable_tokens < 20
    last = [asked(question) for question in range(1, 12)][-1]
    assert last.stable_tokens > 0.7 * last.prompt_tokens
    assert last.stable_tokens < last.prompt_tokens
    alone = prepare(preparer, {"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    assert alone.stable_tokens == 0


def test_the_prompt_version_is_automatic_unless_it_is_declared(preparer: Preparer) -> None:
    """A clock or another order of tools is the same version, another rule is a new one; a declared one stands."""

    def version(clock: str, rule: str, names: str, **own: str) -> str | None:
        tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
        messages = [
            {"role": "system", "content": f"Current time: {clock}\n{rule}"},
            {"role": "user", "content": "Hi"},
        ]
        return prepare(preparer, {"model": "m", "tools": tools, "messages": messages}, **own).prompt_version

    first = version("2026-03-03 09:14:07", "Be brief.", "ab")
    assert first is not None
    assert version("2026-03-03 09:14:09", "Be brief.", "ba") == first
    assert version("2026-03-03 09:14:07", "Be kind.", "ab") != first
    assert prepare(preparer, {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).prompt_version is None
