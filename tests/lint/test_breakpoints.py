"""lint.breakpoints and lint.providers: blocks of a body, breakpoints, and what is wrong with them."""

from typing import Any

import pytest

from lint.breakpoints import Fault, blocks, faults
from lint.examples import HANDBOOK, claude, marked
from lint.providers import Minimum, bills_by_breakpoint, smallest_prefix

LONG = HANDBOOK * 30
POINT = {"cachePoint": {"type": "default"}}


def kinds(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(fault.kind, fault.pointer) for fault in faults(body, blocks(body))]


def test_blocks_in_the_order_they_are_cached() -> None:
    """Tools, system text, messages; marks are not part of a block, and a string is one block of text."""
    body = claude("Hi", marked("Yes", "1h"), system=marked(LONG), tools=[{"name": "t"}])
    found = blocks(body)
    assert [(block.pointer, block.ttl, block.front) for block in found] == [
        ("/tools/0", None, True),
        ("/system/0", "5m", True),
        ("/messages/0/content", None, False),
        ("/messages/1/content/0", "1h", False),
    ]
    assert blocks(claude("Hi", "Yes", system=LONG, tools=[{"name": "t"}])) == [
        block._replace(ttl=None, pointer=block.pointer.removesuffix("/0") if at in (1, 3) else block.pointer)
        for at, block in enumerate(found)
    ]


def test_bedrock_points_stand_behind_a_block() -> None:
    """In system text, messages and toolConfig; one with nothing before it marks nothing."""
    body = {
        "modelId": "anthropic.claude-sonnet-4-5",
        "toolConfig": {"tools": [{"toolSpec": {"name": "t"}}, POINT]},
        "system": [{"text": LONG}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
    }
    assert [(block.pointer, block.ttl) for block in blocks(body)] == [
        ("/toolConfig/tools/0", "5m"),
        ("/system/0", "1h"),
        ("/messages/0/content/0", None),
    ]
    assert blocks({"system": [POINT]}) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (claude(), [("no_breakpoint", "/system")]),
        (claude(cache_control={"type": "ephemeral"}), []),
        (claude(system=marked(LONG)), []),
        (claude(system=marked(HANDBOOK)), [("breakpoint_below_minimum", "/system/0")]),
        (claude(*[marked("x")] * 5, system=LONG), [("breakpoint_limit", "/messages/4/content/0")]),
        (claude(marked("x", "1h"), system=marked(LONG)), [("ttl_order", "/messages/0/content/0")]),
        (claude(marked("x"), system=marked(LONG, "1h")), []),
        (claude(model="Qwen/Qwen3-8B"), []),
        (claude(cache_control_injection_points=[{"location": "message", "role": "system"}]), []),
        ({"anthropic_version": "bedrock-2023-05-31", "system": LONG}, [("no_breakpoint", "/system")]),
        (
            {"model": "claude-x", "messages": [{"role": "system", "content": LONG, "cache_control": {"ttl": "5m"}}]},
            [],
        ),
        ({"model": "claude-x", "messages": "odd", "system": 7, "tools": {}}, []),
        ({"model": "claude-x", "messages": [{"role": "user", "tool_calls": [1]}, 5]}, []),
    ],
)
def test_faults(body: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    """What one body alone shows; nothing for models that cache without breakpoints, nor for odd shapes."""
    assert kinds(body) == expected


def test_a_fault_names_numbers() -> None:
    """What it counts and what is allowed."""
    (fault,) = faults(body := claude(*[marked("x")] * 5, system=LONG), blocks(body))
    assert fault == Fault("breakpoint_limit", "5 breakpoints, and the API takes 4", "/messages/4/content/0")


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-4-8", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-opus-4-6", 4096),
        ("anthropic/claude-opus-4.5:thinking", 4096),
        ("claude-haiku-4-5-20251001", 4096),
        ("claude-3-5-haiku-20241022", 2048),
        ("claude-sonnet-4-6", 1024),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", 1024),
        ("claude-3-opus-20240229", 1024),
        ("amazon.nova-pro-v1:0", 1024),
        ("gpt-4o", 1024),
        ("openai/o3", 1024),
        ("openai/gpt-oss-20b", None),
        ("Qwen/Qwen3-8B", None),
        ("", None),
    ],
)
def test_minimums(model: str, tokens: int | None) -> None:
    """By the model's name, with whatever the gateway puts around it."""
    found = smallest_prefix(model)
    assert (found and found.tokens) == tokens
    assert bills_by_breakpoint(model) == ((tokens is not None and "claude" in model) or "nova" in model)
    assert smallest_prefix("gpt-4o") == Minimum(1024, marked=False)
