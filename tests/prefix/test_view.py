"""prefix.view and prefix.blocks: two prompts share blocks exactly as far as they share text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.blocks import block_hashes
from prefix.body import parse_body
from prefix.canonical import TOOL_KEYS, ToolCache, canonical_members
from prefix.errors import BodyError
from prefix.tool_view import ToolViews
from prefix.view import View, prompt_view
from tests.cases import case, wire

TEXTS = st.text(max_size=40)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXTS}),
    min_size=1,
    max_size=4,
)


def view_of(raw: bytes) -> View:
    """The view as the gateway makes it: canonical tools first."""
    body = parse_body(raw)
    replacements, _ = canonical_members(body, ToolCache())
    span = next((body.spans[key] for key in TOOL_KEYS if key in body.spans), None)
    tools = None if span is None else replacements.get(span) or raw[span.start : span.end]
    return prompt_view(body, tools, ToolViews())


def chat(messages: list[Any], **fields: Any) -> bytes:
    """A chat body."""
    return wire({"model": "m", "messages": messages, **fields})


def shared(left: View, right: View) -> int:
    """Bytes of view both begin with; -1 when the namespaces differ."""
    return _common(left.text, right.text) if left.seed == right.seed else -1


def _common(left: bytes, right: bytes) -> int:
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


@given(MESSAGES, MESSAGES)
def test_an_appended_conversation_begins_with_the_former(before: list[Any], after: list[Any]) -> None:
    """Turn N's view is a prefix of turn N+1's."""
    first, second = view_of(chat(before)), view_of(chat(before + after))
    assert second.text.startswith(first.text)
    assert first.seed == second.seed


@given(MESSAGES, MESSAGES)
def test_different_prompts_have_different_views(left: list[Any], right: list[Any]) -> None:
    """No two lists of messages meet in one view (case 40: no gluing of fields)."""
    assert (view_of(chat(left)) == view_of(chat(right))) == (left == right)


@given(TEXTS, TEXTS, TEXTS)
def test_contents_that_begin_alike_share_their_beginning(start: str, left: str, right: str) -> None:
    """A shared document in front of different questions is shared, whatever the lengths."""
    one = view_of(chat([{"role": "user", "content": start + left}]))
    two = view_of(chat([{"role": "user", "content": start + right}]))
    assert shared(one, two) >= len(start.encode())


def test_case_17_the_wire_form_does_not_matter() -> None:
    """White space, escapes and the order of declared fields are not part of the prompt."""
    left, right = (view_of(case(17)["input"][key].encode()) for key in ("wire_A", "wire_B"))
    assert left == right


def test_case_19_spacing_of_arguments_does_not_matter_their_order_does() -> None:
    """Engines parse a call's arguments before templating and keep the key order."""
    bodies = case(19)["input"]
    verbatim = view_of(wire(bodies["generated_then_replayed_verbatim"]))
    assert view_of(wire(bodies["replayed_compact"])) == verbatim
    assert view_of(wire(bodies["replayed_sorted"])) != verbatim


@pytest.mark.parametrize("arguments", ["", "{", '{"a": 1', "null"])
def test_case_20_arguments_that_do_not_parse_stay_text(arguments: str) -> None:
    """Bad arguments are the engine's to refuse; objects and their string are one prompt."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    assert view_of(chat([{"role": "assistant", "content": None, "tool_calls": [call]}])).text


def test_case_20_object_and_string_arguments_are_one_prompt() -> None:
    """Both accepted forms of arguments give the same view."""
    text = case(20)["input"]["arguments"]
    forms = (text, json.loads(text))
    views = [
        view_of(chat([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": form}}]}]))
        for form in forms
    ]
    assert views[0] == views[1]


def test_case_30_tool_choice_is_part_of_the_prompt() -> None:
    """auto, a named tool and none render different tools."""
    bodies = case(30)["input"]
    views = [view_of(wire(body)) for body in bodies.values()]
    assert len(set(views)) == len(views) == 3


def test_case_32_images_are_told_apart_by_what_is_known_of_them() -> None:
    """Another image is another prompt from there on; the system text before it is shared."""
    bodies = case(32)["input"]
    cat, dog = view_of(wire(bodies["A"])), view_of(wire(bodies["C"]))
    assert 0 < shared(cat, dog) < len(cat.text)


def test_case_37_namespaces_never_meet() -> None:
    """Salt, extra key and adapter are fields of their own."""
    requests = case(37)["input"]["requests"]
    seeds = {
        view_of(
            wire(
                {
                    "model": "m",
                    "prompt": "p",
                    **{"lora_path" if k == "lora" else k: v for k, v in request.items() if v},
                }
            )
        ).seed
        for request in requests
    }
    assert len(seeds) == case(37)["expected"]["distinct_affinity_keys"]


def test_case_39_the_key_is_the_whole_conversation_with_its_tools() -> None:
    """Tools come first and count as a set; a follow-up extends its conversation."""
    views = {name: view_of(wire(body)) for name, body in case(39)["input"].items()}
    assert views["R4"] == views["R1"]
    assert views["R5"].text.startswith(views["R1"].text)
    assert shared(views["R1"], views["R2"]) > shared(views["R1"], views["R3"])


def test_case_56_template_arguments_count_and_hints_do_not() -> None:
    """chat_template_kwargs changes the rendered prompt; prompt_cache_key and unknown fields do not."""
    body = case(56)["input"]["body"]
    plain = view_of(wire(body))
    assert view_of(wire({**body, "chat_template_kwargs": {"enable_thinking": True}})).seed != plain.seed
    assert view_of(wire({**body, "prompt_cache_key": "other", "future_field": 1, "temperature": 0})) == plain


def test_cache_control_is_not_prompt_text() -> None:
    """A mark neither splits the key of a message nor of a tool."""
    part = {"type": "text", "text": "long document"}
    marked = {**part, "cache_control": {"type": "ephemeral"}}
    assert view_of(chat([{"role": "user", "content": [marked]}])) == view_of(
        chat([{"role": "user", "content": [part]}])
    )
    assert view_of(chat([{"role": "user", "content": [part]}])) == view_of(
        chat([{"role": "user", "content": "long document"}])
    )
    bodies = case(12)["input"]
    bare = json.loads(wire(bodies["A"]))
    del bare["tools"][0]["cache_control"]
    assert view_of(wire(bare)) == view_of(wire(bodies["A"])) == view_of(wire(bodies["B"]))


def test_token_ids_are_counted_exactly() -> None:
    """A prompt of token ids has as many tokens as ids; a batch is placed by its first and sized by all."""
    one = view_of(wire({"model": "m", "prompt": [1, 2, 3]}))
    assert (one.tokens, len(one.text)) == (3, 12)
    batch = view_of(wire({"input_ids": [[1, 2], [3]]}))
    assert batch.tokens == 3
    assert view_of(wire({"text": ["a", "b"]})).tokens is None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"messages": "hi"}, "/messages"),
        ({"messages": ["hi"]}, "/messages/0"),
        ({"messages": [{"content": "x"}]}, "/messages/0/role"),
        ({"messages": [{"role": "user", "content": 3}]}, "/messages/0/content"),
        ({"messages": [{"role": "user", "content": [3]}]}, "/messages/0/content/0"),
        ({"prompt": 3}, "/prompt"),
        ({"prompt": [[1], {}]}, "/prompt/1"),
        ({"input_ids": [-1]}, "/input_ids"),
    ],
)
def test_wrong_types_are_named_with_their_pointer(body: dict[str, Any], pointer: str) -> None:
    """A field the prompt is made of with the wrong type is refused, with the place."""
    with pytest.raises(BodyError) as caught:
        view_of(wire(body))
    assert (caught.value.code, caught.value.pointer) == ("invalid_type", pointer)


@given(st.binary(max_size=200), st.binary(max_size=200), st.integers(1, 64))
def test_blocks_are_equal_exactly_as_far_as_the_text_is(left: bytes, right: bytes, size: int) -> None:
    """Hash i is equal when all bytes up to block i are; the rest of a block does not count."""
    one, two = block_hashes(left, 7, size), block_hashes(right, 7, size)
    assert len(one) == len(left) // size
    common = _common(left, right) // size
    assert one[:common] == two[:common]
    assert not set(one[common:]) & set(two[common:])


def test_blocks_of_other_namespaces_never_meet() -> None:
    """The seed is in every hash."""
    text = b"x" * 4096
    assert not set(block_hashes(text, 1)) & set(block_hashes(text, 2))


SYSTEM, QUESTION, ANSWER = "Be brief. " * 9, "What time is it?", "Noon."
CALL = {"name": "clock", "arguments": '{"zone": "UTC"}'}
TOOL = {"name": "clock", "description": "d", "strict": None}
SCHEMA = {"type": "object", "properties": {}}


def three_apis() -> dict[str, bytes]:
    """One conversation as each API writes it: system text, a tool, a question, a call, its result, an answer."""
    call = {"id": "c1", "type": "function", "function": CALL}
    asked = {"role": "user", "content": QUESTION}
    said = {"role": "assistant", "content": ANSWER}
    return {
        "chat": chat(
            [
                {"role": "system", "content": SYSTEM},
                asked,
                {"role": "assistant", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "12:00"},
                said,
            ],
            tools=[{"type": "function", "function": {**TOOL, "parameters": SCHEMA}}],
        ),
        "responses": wire(
            {
                "model": "m",
                "instructions": SYSTEM,
                "input": [
                    asked,
                    {"type": "function_call", "id": "fc_1", "call_id": "c1", "status": "completed", **CALL},
                    {"type": "function_call_output", "call_id": "c1", "output": "12:00"},
                    {
                        "type": "message",
                        "id": "msg_1",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
                    },
                ],
                "tools": [{"type": "function", **TOOL, "parameters": SCHEMA}],
            }
        ),
    }


def anthropic(*, mark: int | None = None, result: str = "12:00") -> bytes:
    """The same conversation for Anthropic's API. mark: which of its blocks carries the cache_control mark."""
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": SYSTEM},
        {"type": "text", "text": QUESTION},
        {"type": "text", "text": result},
        {"type": "tool_result", "tool_use_id": "t1"},
    ]
    if mark is not None:
        blocks[mark]["cache_control"] = {"type": "ephemeral"}
    system, asked, inner, outcome = blocks
    use = {"type": "tool_use", "id": "t1", "name": "clock", "input": {"zone": "UTC"}}
    messages = [
        {"role": "user", "content": [asked]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{**outcome, "content": [inner]}]},
        {"role": "assistant", "content": ANSWER},
    ]
    return chat(messages, system=[system], tools=[{**TOOL, "input_schema": SCHEMA}], max_tokens=9)


def test_one_conversation_is_one_view_in_chat_and_responses() -> None:
    """Engines render Responses requests as the chat they stand for, so they share what chat requests cached."""
    views = [view_of(body) for body in three_apis().values()]
    assert views[0] == views[1]
    assert views[0].stable > len(SYSTEM)


def test_anthropic_requests_share_system_text_and_tools_with_chat() -> None:
    """And what follows, as far as the roles of a tool's result go together."""
    view, other = view_of(anthropic()), view_of(three_apis()["chat"])
    assert (view.stable, view.seed) == (other.stable, other.seed)
    assert shared(view, other) > view.text.index(b"UTC")


def test_cache_control_marks_move_without_another_view() -> None:
    """Case 12: clients move the mark to the newest block, inside a tool's result too."""
    plain = view_of(anthropic())
    assert all(view_of(anthropic(mark=mark)) == plain for mark in range(4))
    assert view_of(anthropic(result="13:00")) != plain


def test_system_text_outside_the_messages_is_part_of_the_prompt() -> None:
    """Another `system` or `instructions` is another prompt from the front on."""
    for body in ({"messages": [], "system": "x"}, {"input": "q", "instructions": "x"}):
        one, two = view_of(wire(body)), view_of(wire(body | {list(body)[1]: "y"}))
        assert shared(one, two) < len(one.text) - 1
    assert view_of(wire({"input": "q"})) == view_of(
        chat([{"role": "user", "content": "q"}]).replace(b'"model":"m",', b"")
    )


def test_a_response_that_continues_another_has_a_namespace_of_its_own() -> None:
    """What stands in front of its input is known to the engine only."""
    body = {"model": "m", "input": "q"}
    assert view_of(wire(body)) == view_of(wire(body | {"previous_response_id": None}))
    for stored in ({"previous_response_id": "resp_1"}, {"conversation": "c1"}, {"prompt": {"id": "p"}}):
        assert view_of(wire(body | stored)).seed != view_of(wire(body)).seed


def test_a_response_without_an_input_has_an_empty_view() -> None:
    """Its prompt is a template or a conversation that the engine keeps; `text` is how it shall answer."""
    text = {"format": {"type": "text"}}
    for body in ({"prompt": {"id": "p"}}, {"conversation": "c", "text": text}, {"model": "m"}):
        assert view_of(wire(body)).text == b""


def test_a_long_image_enters_as_its_hash() -> None:
    """Case 32: engines render a placeholder and key by content; ten megabytes of base64 are not a long prompt."""

    def image(data: str) -> View:
        part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        return view_of(chat([{"role": "user", "content": [part, {"type": "text", "text": QUESTION}]}]))

    assert len(image("A" * 10_000).text) < 200
    assert image("A" * 10_000) == image("A" * 10_000) != image("A" * 9_999 + "B")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"input": 5}, "/input"),
        ({"input": [5]}, "/input/0"),
        ({"input": ["x"], "instructions": "y"}, "/input/0"),
        ({"input": [{"role": "user", "content": 5}], "instructions": "y"}, "/input/0/content"),
        ({"input": "x", "instructions": 7}, "/instructions/content"),
        ({"messages": [5], "system": "y"}, "/messages/0"),
        ({"messages": [{"role": 1}], "system": "y"}, "/messages/0/role"),
        ({"messages": [], "system": 7}, "/system/content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": 5}]}]},
            "/messages/0/content/0/content",
        ),
    ],
)
def test_wrong_types_of_these_apis_are_named(body: Any, pointer: str) -> None:
    """With the place in the client's body."""
    with pytest.raises(BodyError) as error:
        view_of(wire(body))
    assert (error.value.code, error.value.pointer) == ("invalid_type", pointer)
