"""prefix.hoist: what is reported, what is moved and where to, and everything that keeps a body as it is."""

import json
from typing import Any

import pytest
from hypothesis import given

from prefix import hoist as module
from prefix.body import parse_body
from prefix.canonical import Canonical, Rules, ToolCache, canonicalize, rewrite
from prefix.errors import ConfigError
from prefix.hoist import MOVABLE, Hoist, HoistReport
from prefix.volatile import Kind, VolatileSpan
from tests.cases import case, wire
from tests.prefix.bodies import BODIES, INDENTS, NONCE_LINE, raw_of, said_in_order, untouchable

KINDS: tuple[Kind, ...] = ("clock_second", "uuid")
NOW = "2026-03-03T09:14:07Z"
UUID = "6f1c2d34-5b6a-4c7d-8e9f-0a1b2c3d4e5f"
SYSTEM = {"role": "system", "content": f"You help.\nNow: {NOW}\nBe brief."}
USER = {"role": "user", "content": "Hi"}
MOVED = {"role": "system", "content": "You help.\nNow: [clock: see latest user message]\nBe brief."}
RESTATED = f"[clock: {NOW}]\n\n"


def moved(body: Any, kinds: tuple[Kind, ...] = KINDS) -> Canonical:
    """A body at level hoist, mode rewrite."""
    raw = body if isinstance(body, bytes) else wire(body)
    return canonicalize(raw, level="hoist", rules=Rules(hoist=Hoist("rewrite", kinds)))


def report(body: Any, options: Hoist = Hoist()) -> HoistReport | None:  # noqa: B008
    """What the level reports of a body."""
    return rewrite(parse_body(wire(body)), ToolCache(), "hoist", Rules(hoist=options)).hoist


@given(BODIES, INDENTS)
def test_twice_is_once_and_all_but_one_message_keeps_its_bytes(body: dict[str, Any], indent: int | None) -> None:
    """Idempotent on random bodies; beyond normalize only system text and the last message's front change."""
    raw = raw_of(body, indent)
    once = moved(raw)
    assert moved(once.body) == Canonical(once.body, ())
    before = canonicalize(raw, level="normalize")
    if "restated" not in [change.kind for change in once.changes]:
        assert once == before
        return
    (rest, turns, strict), (rest_before, turns_before, strict_before) = map(untouchable, (once.body, raw))
    assert strict == strict_before
    assert rest == rest_before
    assert (turns - turns_before).total() == (turns_before - turns).total() <= 1
    (said, said_before) = map(said_in_order, (once.body, raw))
    assert said[:-1] == said_before[:-1]
    assert once.body.count(b": see latest user message]") - raw.count(b": see latest user message]") == sum(
        change.kind.startswith("hoisted_") for change in once.changes
    )


@given(BODIES, INDENTS)
def test_report_changes_nothing(body: dict[str, Any], indent: int | None) -> None:
    """The default mode sends what level normalize sends, whatever kinds are listed."""
    raw = raw_of(body, indent)
    before = canonicalize(raw, level="normalize")
    assert canonicalize(raw, level="hoist") == before
    assert canonicalize(raw, level="hoist", rules=Rules(hoist=Hoist("report", KINDS))) == before


def test_case_01_two_clocks_one_system_text() -> None:
    """A and B part in the last message only; without being asked, nothing moves; a date is another kind."""
    given_case = case(1)["input"]
    assert not canonicalize(wire(given_case["A"]), level="hoist").changed
    left, right = (json.loads(moved(given_case[key]).body)["messages"] for key in "AB")
    assert left[0] == right[0]
    assert left[1]["content"] == "[clock: Tuesday, 3 March 2026, 09:14:07 AM CET]\n\nHi"
    assert right[1]["content"] == "[clock: Tuesday, 3 March 2026, 09:14:09 AM CET]\n\nHi"
    assert not moved(given_case["fixed"]).changed


def test_nothing_listed_is_no_permission() -> None:
    """A rewrite of no kinds moves nothing, also where nobody checked the rules."""
    body = parse_body(wire({"messages": [SYSTEM, USER]}))
    made = rewrite(body, ToolCache(), "hoist", Rules(hoist=Hoist("rewrite")))
    assert (made.body, made.changes) == (body, ())


def test_case_05_a_working_copy_s_state_moves_only_when_its_kind_is_listed() -> None:
    """Reported to who asks; moved as one block, so that the system text is one again."""
    given_case = case(5)["input"]
    assert report(given_case["A"]) is not None
    assert not moved(given_case["A"]).changed
    left, right = (json.loads(moved(given_case[key], ("git_state",)).body)["messages"] for key in "AB")
    assert left[0] == right[0]
    assert " M src/b.py" in right[1]["content"]


@pytest.mark.parametrize("number", [3, 27])
def test_cases_of_text_that_is_no_volatile_span(number: int) -> None:
    """Constant dates, and retrieved documents, which are the author's to move: with every kind listed they stay."""
    for body in case(number)["input"].values():
        assert moved(body, MOVABLE) == Canonical(wire(body), ())
        assert report(body) is None


PARTS = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "u"}}]


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (
            {"messages": [SYSTEM, USER]},
            {"messages": [MOVED, {"role": "user", "content": RESTATED + "Hi"}]},
        ),
        (
            {"messages": [SYSTEM | {"role": "developer"}, USER, {"role": "assistant", "content": "A"}, USER]},
            {
                "messages": [
                    MOVED | {"role": "developer"},
                    USER,
                    {"role": "assistant", "content": "A"},
                    {"role": "user", "content": RESTATED + "Hi"},
                ]
            },
        ),
        (
            {"messages": [SYSTEM, {"role": "user", "content": PARTS}]},
            {"messages": [MOVED, {"role": "user", "content": [{"type": "text", "text": RESTATED}, *PARTS]}]},
        ),
        (
            {"messages": [{"role": "system", "content": [{"type": "text", "text": SYSTEM["content"]}]}, USER]},
            {
                "messages": [
                    {"role": "system", "content": [{"type": "text", "text": MOVED["content"]}]},
                    {"role": "user", "content": RESTATED + "Hi"},
                ]
            },
        ),
        (
            {"system": SYSTEM["content"], "messages": [{"role": "user", "content": PARTS[:1]}]},
            {
                "system": MOVED["content"],
                "messages": [{"role": "user", "content": [{"type": "text", "text": RESTATED}, *PARTS[:1]]}],
            },
        ),
        (
            {"instructions": SYSTEM["content"], "input": "Hi"},
            {"instructions": MOVED["content"], "input": RESTATED + "Hi"},
        ),
        (
            {
                "instructions": SYSTEM["content"],
                "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
            },
            {
                "instructions": MOVED["content"],
                "input": [
                    {
                        "role": "user",
                        "content": [{"type": "input_text", "text": RESTATED}, {"type": "input_text", "text": "Hi"}],
                    }
                ],
            },
        ),
        (
            {"messages": [{"role": "system", "content": f"{NONCE_LINE}\r\nNow: {NOW}"}, USER]},
            {
                "messages": [
                    {"role": "system", "content": "Now: [clock: see latest user message]"},
                    {"role": "user", "content": RESTATED + "Hi"},
                ]
            },
        ),
    ],
)
def test_values_are_restated_at_the_start_of_the_last_message(body: Any, sent: Any) -> None:
    """Strings and parts, chat, Anthropic and Responses; what `normalize` does is done before."""
    result = moved(body)
    assert result.body == wire(sent)
    assert [change.kind for change in result.changes][-2:] == ["hoisted_clock_second", "restated"]


def test_several_spans_are_told_apart() -> None:
    """By kind and number, over all leading texts, so that each reference has one value."""
    system = [
        {"role": "system", "content": f"Now: {NOW}. Request {UUID}."},
        {"role": "system", "content": f"Then: {NOW}"},
    ]
    result = moved({"messages": [*system, USER]})
    first, second, user = (message["content"] for message in json.loads(result.body)["messages"])
    assert first == "Now: [clock: see latest user message]. Request [id: see latest user message]."
    assert second == "Then: [clock 2: see latest user message]"
    assert user == f"[clock: {NOW}]\n[id: {UUID}]\n[clock 2: {NOW}]\n\nHi"
    assert [tuple(change) for change in result.changes] == [
        ("/messages/0/content", "hoisted_clock_second"),
        ("/messages/0/content", "hoisted_uuid"),
        ("/messages/1/content", "hoisted_clock_second"),
        ("/messages/2/content", "restated"),
    ]


def test_only_the_kinds_a_route_lists_are_moved() -> None:
    """The others stay in place."""
    body = {"messages": [{"role": "system", "content": f"Now: {NOW}. Request {UUID}."}, USER]}
    sent = json.loads(moved(body, ("uuid",)).body)["messages"]
    assert sent[0]["content"] == f"Now: {NOW}. Request [id: see latest user message]."
    assert not moved(body, ("date",)).changed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "rewrite"}, "kinds"),
        ({"kinds": ("clocks",)}, "clock_second"),
        ({"kinds": ("attribution",)}, "unknown kind of volatile span 'attribution'"),
    ],
)
def test_options_that_say_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    """A rewrite of no kinds, a kind nobody knows, and the one that level normalize strips."""
    with pytest.raises(ConfigError, match=said):
        canonicalize(b"{}", rules=Rules(hoist=Hoist(**options)))


def test_the_user_s_own_bytes_stay() -> None:
    """Escapes and white space of the last message are kept: the values are spliced in behind its first quote."""
    raw = (
        b'{"messages" : [ {"role":"system","content":"Now: ' + NOW.encode() + b' \\u0022x\\u0022"} ,'
        b' { "content":"caf\\u00e9 \\r\\n \\/" , "role":"user"} ] , "n":1.50 }'
    )
    sent = moved(raw).body
    assert (
        b'{ "content":"[clock: ' + NOW.encode() + b']\\n\\ncaf\\u00e9 \\r\\n \\/" , "role":"user"} ] , "n":1.50 }'
        in sent
    )
    assert sent.startswith(
        b'{"messages" : [ {"role":"system","content":"Now: [clock: see latest user message] \\"x\\""} ,'
    )


ASSISTANT = {"role": "assistant", "content": "A"}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "r"}
STAYS = [
    {"messages": [SYSTEM, USER, ASSISTANT]},
    {"messages": [SYSTEM, USER, ASSISTANT, RESULT]},
    {"messages": [SYSTEM, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}, *PARTS]}]},
    {"messages": [SYSTEM]},
    {"messages": [SYSTEM, {"role": "user", "content": []}]},
    {"messages": [SYSTEM, {"role": "user", "content": None}]},
    {"messages": [SYSTEM, {"role": "user", "content": 7}]},
    {"messages": [SYSTEM, {"role": "user"}]},
    {"messages": [SYSTEM, "Hi"]},
    {"messages": [USER, SYSTEM, USER]},
    {"messages": [{"role": "user", "content": f"It is {NOW}"}]},
    {"messages": [USER], "instructions": SYSTEM["content"]},
    {"messages": [USER], "tools": [{"name": "f", "description": f"Now {NOW}"}]},
    {"messages": [{"role": "system", "content": "You help."}, USER]},
    {"instructions": SYSTEM["content"], "input": []},
    {"instructions": SYSTEM["content"], "input": [{"type": "function_call_output", "call_id": "c"}]},
    {"prompt": f"Now: {NOW}"},
    {"text": f"Now: {NOW}"},
]


@pytest.mark.parametrize("body", STAYS)
def test_where_values_cannot_be_restated_nothing_moves_and_nothing_is_promised(body: Any) -> None:
    """The last message is not the user's own, or the span is not in leading system text."""
    assert moved(body) == Canonical(wire(body), ())
    assert report(body) is None


@pytest.mark.parametrize(
    "raw",
    [
        b'{"messages":[{"role":"system","content":"","content":"Now: %s"},{"role":"user","content":"Hi"}]}',
        b'{"messages":[{"role":"system","content":"Now: %s"},{"role":"user","content":"","content":"Hi"}]}',
        b'{"messages":[{"role":"system","content":"Now: %s"},{"role":"user","content":"\\ud800"}]}',
        b'{"messages":[{"role":"system","content":"Now: %s"},{"role":"user","content":"Hi"}],"n":NaN}',
    ],
)
def test_never_half_a_rewrite(raw: bytes) -> None:
    """One of the two places is ambiguous, or the body is not strict JSON: both stay."""
    given_raw = raw.replace(b"%s", NOW.encode())
    assert moved(given_raw) == Canonical(given_raw, ())


def test_a_text_that_would_still_be_volatile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the reference itself were a span of a listed kind, a second pass would move it again."""
    found = VolatileSpan(5, 9, "clock_second", certain=True)
    monkeypatch.setattr(module, "find_volatile", lambda text, kinds: [found] if "a" in text else [])
    body = {"messages": [{"role": "system", "content": "Now: noon a"}, USER]}
    assert moved(body) == Canonical(wire(body), ())
    monkeypatch.setattr(module, "find_volatile", lambda text, kinds: [found] if "noon" in text else [])
    assert json.loads(moved(body).body)["messages"][0]["content"] == "Now: [clock: see latest user message] a"


def test_the_report_counts_what_becomes_shared_less_the_tail() -> None:
    """Behind the first span: system text and history; of these the user's last message is computed again."""
    history = [
        {"role": "user", "content": "Q-1"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "", "function": {"name": "", "arguments": '{"é"}'}}],
        },
        {"role": "user", "content": [{"type": "", "text": "Q2"}]},
    ]
    found = report({"messages": [SYSTEM, *history, USER]})
    assert found is not None
    assert found.kinds == ("clock_second",)
    keys = len("userassistantuser")
    assert found.shared_bytes == len("\nBe brief.") + len("Q-1") + len('{"é"}'.encode()) + len("Q2") + keys
    assert found.recomputed_bytes == len("Q2") + len("user")
    assert found.saved_bytes == found.shared_bytes - found.recomputed_bytes


def test_the_first_turn_has_no_tail() -> None:
    """All system text behind the span is saved, later pieces and all but the other values themselves."""
    body = {"messages": [SYSTEM, {"role": "system", "content": f"Id {UUID}!"}, USER]}
    assert report(body) == HoistReport(("clock_second", "uuid"), len("\nBe brief.Id !"), 0)
    assert report(body, Hoist(kinds=("uuid",))) == HoistReport(("uuid",), 1, 0)
    assert report(body, Hoist("rewrite", ("uuid",))) == HoistReport(("uuid",), 1, 0)
    assert report({"instructions": f"{UUID} é", "input": "Hi"}) == HoistReport(("uuid",), 3, 0)
