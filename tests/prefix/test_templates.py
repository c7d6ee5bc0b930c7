"""Levels seen through chat templates of five model families: what an engine's cache is asked for."""

import random
from datetime import date
from itertools import pairwise
from typing import Any

import pytest

from prefix.body import parse_body
from prefix.canonical import Level, Rules, ToolCache, canonicalize, rewrite
from prefix.hoist import Hoist
from tests.cases import case, wire
from tests.prefix.rendering import NAMES, common, render
from tests.prefix.strategies import shuffled_tools

CLOCK = Rules(hoist=Hoist("rewrite", ("clock_second",)))
RULES_TEXT = "Rules: follow the refund policy. Be brief. Quote order numbers exactly."
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Look up {name}",
            "parameters": {
                "type": "object",
                "properties": {"q": {"type": "string", "description": "words"}, "limit": {"type": "integer"}},
                "required": ["q", "limit"],
                "additionalProperties": False,
            },
        },
    }
    for name in ("weather", "orders", "Parcel", "café")
]
CALLS = [
    {"id": f"c{n}", "type": "function", "function": {"name": "orders", "arguments": f'{{"q": "{n}", "limit": 1}}'}}
    for n in range(3)
]


def chat(system: Any, *turns: dict[str, Any], tools: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A chat body."""
    given = {"tools": tools} if tools else {}
    return {"model": "m", **given, "messages": [{"role": "system", "content": system}, *turns]}


def user(text: str) -> dict[str, Any]:
    """What the user says."""
    return {"role": "user", "content": text}


def clocked(turn: int, tools: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """Turn `turn` (from 0) of a conversation whose system text tells the time to the second."""
    history: list[dict[str, Any]] = []
    for earlier in range(turn):
        history += [user(f"Question {earlier}?"), {"role": "assistant", "content": f"Answer {earlier}. " * 20}]
    now = f"2026-03-03T09:14:{turn * 7 % 60:02}Z"
    return chat(f"You are a shop helper.\nNow: {now}\n{RULES_TEXT}", *history, user(f"Question {turn}?"), tools=tools)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_bodies_of_one_canonical_form_are_one_prompt(name: str, seed: int) -> None:
    """The same tools in another order, their schemas with keywords in another order: byte-equal prompts."""
    mixed = shuffled_tools(TOOLS, random.Random(seed))
    left, right = (wire(chat("You help.", user("Hi"), tools=tools)) for tools in (TOOLS, mixed))
    assert render(name, left) != render(name, right)
    assert render(name, canonicalize(left).body) == render(name, canonicalize(right).body)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", [10, 12, 14])
def test_cases_of_order_are_one_prompt(name: str, number: int) -> None:
    """Cases 10, 12 and 14, as the engine sees them; no mark is prompt text."""
    left, right = (canonicalize(wire(case(number)["input"][key])).body for key in "AB")
    assert render(name, left) == render(name, right)
    assert "cache_control" not in render(name, left)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "system",
    [
        "You help.\r\nBe kind to the cafe\u0301.  \r\n",
        [{"type": "text", "text": "You help.\t\nBe kind to the café.\n"}],
        "x-anthropic-billing-header: cc_version=2.1.7; cch=9f8e7;\nYou help.\nBe kind to the café.\n",
    ],
)
def test_normalized_system_text_is_one_prompt(name: str, system: Any) -> None:
    """Line ends, trailing blanks, Unicode form and a nonce differ on the wire; the prompts are byte-equal."""
    plain = wire(chat("You help.\nBe kind to the café.\n", user("Hi")))
    other = wire(chat(system, user("Hi")))
    assert render(name, canonicalize(other, level="normalize").body) == render(name, plain)
    assert render(name, other) != render(name, plain)


@pytest.mark.parametrize("name", NAMES)
def test_results_by_arrival_are_one_prompt(name: str) -> None:
    """Three results of one parallel call: whichever came first, the prompt has them in the order of the calls."""
    asked = [user("Compare"), {"role": "assistant", "content": None, "tool_calls": CALLS}]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"result {n}"} for n in range(3)]
    prompts = set()
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        body = wire(chat("You help.", *asked, *(results[place] for place in order), user("Thanks")))
        prompts.add(render(name, canonicalize(body, level="normalize").body))
    (prompt,) = prompts
    assert prompt.index("result 0") < prompt.index("result 1") < prompt.index("result 2")


@pytest.mark.parametrize("name", NAMES)
def test_hoist_keeps_the_stable_prefix_over_changing_clocks(name: str) -> None:
    """Ten turns, a clock to the second: each prompt shares all up to the newest message of the turn before."""
    bodies = [wire(clocked(turn, TOOLS)) for turn in range(10)]
    plain = [render(name, canonicalize(body, level="normalize").body) for body in bodies]
    moved = [render(name, canonicalize(body, level="hoist", rules=CLOCK).body) for body in bodies]
    reported = [render(name, canonicalize(body, level="hoist").body) for body in bodies]
    assert reported == plain
    for turn, (before, after) in enumerate(pairwise(moved)):
        shared = before[: common(before, after)]
        assert common(before, after) >= common(plain[turn], plain[turn + 1])
        assert "2026-03-03T09" not in shared
        assert all(f"Answer {earlier}. " in shared for earlier in range(turn))
        if name != "mistral":  # which puts the system text behind the history
            assert RULES_TEXT in shared
            assert RULES_TEXT not in plain[turn][: common(plain[turn], plain[turn + 1])]


@pytest.mark.parametrize("turn", [1, 2, 5, 9])
def test_the_report_says_what_rendering_shows(turn: int) -> None:
    """Saved bytes are the gain in shared prompt, but for the template's own marks around each message.

    Without tools: what a template puts behind the system text is saved too, and not counted.
    """
    first, second = (wire(clocked(at)) for at in (turn - 1, turn))
    report = rewrite(parse_body(second), ToolCache(), "hoist", CLOCK).hoist
    assert report is not None
    gain = _shared(first, second, "hoist") - _shared(first, second, "safe")
    marks = len("<|im_start|>assistant\n<|im_end|>\n") * len(clocked(turn)["messages"]) + len(_REFERENCE)
    assert report.saved_bytes <= gain <= report.saved_bytes + marks


_REFERENCE = "[clock: see latest user message]"


def _shared(first: bytes, second: bytes, level: Level) -> int:
    """Characters that two turns share in ChatML."""
    prompts = [render("qwen2_5", canonicalize(body, level=level, rules=CLOCK).body) for body in (first, second)]
    return common(*prompts)


def test_case_20_arguments_are_parsed_before_templating() -> None:
    """The renderer of these tests shows arguments as the case says an engine should."""
    given = case(20)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": given["input"]["arguments"]}}
    prompt = render("qwen2_5", chat("S", user("U"), {"role": "assistant", "content": "", "tool_calls": [call]}))
    assert given["expected"]["rendered_when_decoded"] in prompt
    assert given["expected"]["rendered_when_left_a_string"] not in prompt


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [({"z": 1, "a": "é"}, '{"z": 1, "a": "é"}'), ('{"z":1,"a":[]}', '{"z": 1, "a": []}'), ("{}", "{}")],
)
def test_arguments_keep_the_order_the_model_gave_them(arguments: Any, shown: str) -> None:
    """String or object, spaced or not: the prompt shows the same document, keys in the client's order."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    body = wire(chat("S", user("U"), {"role": "assistant", "content": "", "tool_calls": [call]}))
    assert f'"arguments": {shown}' in render("qwen3", canonicalize(body, level="hoist", rules=CLOCK).body)


@pytest.mark.parametrize("name", NAMES)
def test_case_17_what_differs_on_the_wire_only_is_one_prompt(name: str) -> None:
    """Spacing, escapes, and the key order of declared fields; at no level does the gateway touch them."""
    wires = [case(17)["input"][key].encode() for key in ("wire_A", "wire_B")]
    wires += [wires[0].replace(b'"role":"user","content"', b'"\\u0072ole" : "user", "content"')]
    wires += [wires[1].replace("🦀".encode(), b"\\uD83E\\uDD80")]
    assert len({render(name, canonicalize(raw, level="hoist").body) for raw in wires}) == 1
    assert all(canonicalize(raw, level="hoist").body == raw for raw in wires)


def test_case_23_no_level_repairs_a_template_that_rewrites_history() -> None:
    """The generation prompt's empty think block is not in the history: lost in the template, at every level."""
    given = case(23)
    bodies = [wire({"model": "m", "messages": given["input"][f"turn{turn}_messages"]}) for turn in (1, 2)]
    prompts = [render("qwen3", canonicalize(body, level="hoist").body, enable_thinking=False) for body in bodies]
    assert prompts == [given["input"]["rendered_turn1"], given["input"]["rendered_turn2"]]
    assert common(*prompts) == given["expected"]["rendered_common_chars"]
    assert len(prompts[0]) - common(*prompts) == given["expected"]["lost_chars_of_turn1"]


@pytest.mark.parametrize("thought", ["because of X", "1 + 1\r\n"])
def test_a_template_that_drops_old_thoughts_parts_the_prompts(thought: str) -> None:
    """Append-only bodies, thoughts sent back: the template forgets them once the user speaks again; bodies stay."""
    answer = {"role": "assistant", "content": None, "reasoning_content": thought, "tool_calls": CALLS[:1]}
    first = chat("S", user("U"), answer, {"role": "tool", "tool_call_id": "c0", "content": "r"})
    second = chat("S", *first["messages"][1:], {"role": "assistant", "content": "A"}, user("More"))
    bodies = [canonicalize(wire(body), level="hoist", rules=CLOCK).body for body in (first, second)]
    assert bodies == [wire(first), wire(second)]
    prompts = [render("qwen3", body) for body in bodies]
    assert thought in prompts[0]
    assert thought not in prompts[1]
    assert prompts[0][: common(*prompts)].endswith("<|im_start|>assistant\n")


def test_case_24_reasoning_reaches_the_template_as_it_came() -> None:
    """No level adds, drops or edits it."""
    for body in case(24)["input"].values():
        assert canonicalize(wire(body), level="hoist", rules=CLOCK).body == wire(body)


def test_case_29_the_template_s_own_date() -> None:
    """One body, two days: the prompts part at the date that the template printed; no level can help."""
    body = canonicalize(wire(case(29)["input"]["body_both_days"]), level="hoist", rules=CLOCK).body
    assert body == wire(case(29)["input"]["body_both_days"])
    days = [render("gpt_oss", body, today=date(2026, 3, day)) for day in (5, 6)]
    assert days[0][: common(*days)].endswith("Current date: 2026-03-0")
    assert render("llama3", body, date_string="05 Mar 2026") != render("llama3", body)
