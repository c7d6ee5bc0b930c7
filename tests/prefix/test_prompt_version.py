"""prefix.prompt_version: one name for what the operator wrote, whatever moves in it and however it is sent."""

import json
import os
import random
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.body import parse_body
from prefix.canonical import ToolCache
from prefix.errors import BodyError
from prefix.prompt_version import LENGTH, PromptVersions
from prefix.split import canonical_tools, split
from tests.cases import case, wire
from tests.prefix.strategies import dump, shuffled_tools, tools

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "description": "Finds.", "parameters": {"type": "object"}},
}


def version(body: Any, versions: PromptVersions | None = None) -> str | None:
    """The version as the gateway asks for it."""
    parsed = parse_body(body if type(body) is bytes else wire(body))
    found = canonical_tools(parsed, ToolCache())
    return (versions or PromptVersions()).version(parsed, None if found is None else found.raw)


def chat(system: Any, **fields: Any) -> dict[str, Any]:
    """A chat body with this system content."""
    return {
        "model": "m",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": "Hi"}],
        **fields,
    }


@pytest.mark.parametrize(
    ("number", "other"),
    [(1, "B"), (4, "B"), (5, "B"), (7, "B"), (9, "B"), (10, "B"), (12, "B"), (14, "B"), (32, "C")],
)
def test_cases_with_one_prompt_have_one_version(number: int, other: str) -> None:
    """Clocks, nonces, git state, temp names, few-shots, tool and keyword order: all one version."""
    inputs = case(number)["input"]
    assert version(inputs["A"]) == version(inputs[other]) is not None


def test_case_17_wire_differences_are_none() -> None:
    """White space, escapes and the order of declared fields do not make a version (case 17)."""
    inputs = case(17)["input"]
    assert version(inputs["wire_A"].encode()) == version(inputs["wire_B"].encode()) is not None


def test_other_text_is_another_version() -> None:
    """An edited date fact, a date instead of a clock, a retrieved document: the operator's text differs."""
    one, three, rag = (case(number)["input"] for number in (1, 3, 27))
    assert version(one["A"]) != version(one["fixed"])
    assert version(rag["A"]) != version(rag["B"])
    edited = json.loads(json.dumps(three["A"]).replace("2019-04-01", "2019-04-02"))
    assert version(three["A"]) != version(edited)


@given(st.text(min_size=1, max_size=40), st.sampled_from(["text", "input_text"]))
def test_a_text_is_the_list_of_it(text: str, kind: str) -> None:
    """String or one-part list, with or without a cache mark."""
    part = {"type": kind, "text": text}
    marked = {**part, "cache_control": {"type": "ephemeral"}}
    assert version(chat(text)) == version(chat([part])) == version(chat([marked])) == version(chat([text]))


@given(tools(), st.integers(0, 2**32), st.sampled_from([None, 0, 3]))
@settings(max_examples=50)
def test_order_and_spacing_of_tools_do_not_matter(made: list[dict[str, Any]], seed: int, indent: int | None) -> None:
    """Any order of tools, schema keywords and required lists, any spacing, any order of declared fields."""
    rng = random.Random(seed)
    mixed = [_reordered(tool, rng) for tool in shuffled_tools(made, rng)]
    assert version(dump(chat("S", tools=mixed), indent)) == version(dump(chat("S", tools=made)))


def _reordered(tool: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    inner = {key: tool["function"][key] for key in rng.sample(list(tool["function"]), len(tool["function"]))}
    return {key: inner if key == "function" else tool[key] for key in rng.sample(list(tool), len(tool))}


LETTERS = st.text("abc XYZ.é\n", max_size=12)


@given(LETTERS, LETTERS)
def test_any_other_text_is_another_version(a: str, b: str) -> None:
    """Of system text, of a tool's description, of a second system message: equal text, equal version."""
    described = [{**TOOL, "function": {**TOOL["function"], "description": text}} for text in (a, b)]
    assert (version(chat("S" + a)) == version(chat("S" + b))) == (a == b)
    assert (version(chat("S", tools=[described[0]])) == version(chat("S", tools=[described[1]]))) == (a == b)
    assert (version(_two(a)) == version(_two(b))) == (a == b)


def _two(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": "S"}, {"role": "developer", "content": "D" + text}]}


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": chat("S"),
    "developer": {"messages": [{"role": "developer", "content": "S"}]},
    "named": {"messages": [{"role": "system", "content": "S", "name": "n"}]},
    "two parts": chat(["S", ""]),
    "cut elsewhere": {"messages": [{"role": "system", "content": "S"}, {"role": "system", "content": "T"}]},
    "cut in parts": chat(["S", "T"]),
    "glued": chat("ST"),
    "image": chat(["S", {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}]),
    "tools": chat("S", tools=[TOOL]),
    "two tools": chat("S", tools=[TOOL, TOOL]),
    "unknown field of a tool": chat("S", tools=[{**TOOL, "x-vendor": 1}]),
    "number as a string": chat("S", tools=[{**TOOL, "x-vendor": "1"}]),
    "tools only": {"messages": [{"role": "user", "content": "S"}], "tools": [TOOL]},
}


def test_different_prompts_have_different_versions() -> None:
    """Role, name, parts, images, fields nobody knows: whatever may reach the prompt counts."""
    versions = {name: version(body) for name, body in VARIANTS.items()}
    assert len(set(versions.values())) == len(VARIANTS)
    assert all(re.fullmatch(f"[0-9a-f]{{{LENGTH}}}", made or "") for made in versions.values())


def test_what_is_no_part_of_it_does_not_matter() -> None:
    """The model, sampling, the conversation, later system messages, and cache marks are not the operator's text."""
    talk = [{"role": "user", "content": "Q"}, {"role": "system", "content": "reminder"}]
    body = chat("S", tools=[TOOL], temperature=0.5, model="other", tool_choice="none")
    body["messages"][1:] = talk
    body["tools"] = [{**TOOL, "cache_control": {"type": "ephemeral"}}]
    assert version(body) == version(chat("S", tools=[TOOL]))


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": "You are x"}]},
        {"messages": [{"role": "system", "content": ""}]},
        {"messages": [{"role": "system", "content": None}]},
        {"messages": [{"role": "system"}], "tools": []},
        {"messages": [], "tools": None},
        {"messages": "S", "tools": "t"},
        {"messages": [["S"]]},
        {"prompt": "You are x"},
        {"text": "x", "sampling_params": {}},
        {"model": "m"},
    ],
)
def test_no_tools_and_no_system_text_is_no_version(body: Any) -> None:
    """Nothing of the operator's is there to name; what is malformed is no error here."""
    assert version(body) is None


def test_every_shape_of_body_has_its_system_text() -> None:
    """Anthropic `system`, Responses `instructions` and leading items, chat messages: one text, one version."""
    text = {"type": "text", "text": "S"}
    shapes: list[Any] = [
        chat("S"),
        {"system": "S", "messages": [{"role": "user", "content": "Q"}]},
        {"system": [text], "messages": []},
        {"instructions": "S", "input": "Q"},
        {
            "input": [
                {"role": "system", "content": [{"type": "input_text", "text": "S"}]},
                {"role": "user", "content": "Q"},
            ]
        },
    ]
    assert len({version(shape) for shape in shapes}) == 1


@given(st.lists(st.sampled_from(list(VARIANTS.values())), max_size=12), st.integers(1, 3))
@settings(max_examples=30)
def test_the_cache_changes_no_version_and_stays_bounded(bodies: list[Any], limit: int) -> None:
    """However small the cache, the answer is that of a new one."""
    versions = PromptVersions(limit)
    for body in bodies:
        assert version(body, versions) == version(body)
        assert len(versions._digests) <= limit


def test_a_system_text_that_returns_is_not_masked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request of one prompt costs a hash and a look-up: no detector runs."""
    versions = PromptVersions()
    first = version(chat("Now: 09:14:07", tools=[TOOL]), versions)
    monkeypatch.setattr("prefix.prompt_version.mask", None)
    assert version(chat("Now: 09:14:07", tools=[TOOL]), versions) == first


@pytest.mark.parametrize("text", ["\ud800", "é\ud83e"])
def test_lone_surrogates_have_a_version(text: str) -> None:
    """An engine may take them, so they are counted as text."""
    body = json.dumps(chat(f"S {text}")).encode()
    assert version(body) not in (None, version(chat("S ")))


def test_tools_that_nest_too_deep_are_refused() -> None:
    """With a named error, not Python's."""
    deep = b"[" * 200 + b"]" * 200
    with pytest.raises(BodyError, match="deeper"):
        PromptVersions().version(parse_body(b'{"messages":[]}'), b'[{"name":"t","parameters":%s}]' % deep)


def test_big_integers_and_floats_have_a_version() -> None:
    """Numbers no 64 bits hold are numbers all the same."""
    body = json.dumps(chat("S", tools=[{**TOOL, "x": 2**70, "y": 1e300}])).encode()
    assert version(body) != version(chat("S", tools=[{**TOOL, "x": 2**71, "y": 1e300}]))


def test_every_process_has_the_same_version() -> None:
    """Another process with other hash seeds names a prompt alike: replicas agree."""
    body = chat("You help. Now: 09:14:07", tools=[TOOL])
    code = "import sys; from prefix.split import split; print(split(sys.stdin.buffer.read()).prompt_version)"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], input=wire(body), capture_output=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.stdout.decode().strip() == version(body)


@pytest.mark.parametrize("tool", ['{"name":"\\ud800"}', '{"maximum":NaN}', '"\\udfff"', '{"maximum":-Infinity}'])
def test_tools_that_are_no_strict_json(tool: str) -> None:
    """They have a version too: some engine may take them, and another tool is another version."""

    def version(text: str) -> str | None:
        return split(f'{{"model":"m","messages":[],"tools":[{text}]}}'.encode()).prompt_version

    assert version(tool) is not None
    assert version(tool) != version('{"name":"f"}')
