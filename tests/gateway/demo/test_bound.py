"""gateway.demo.bound: what one endless cache would hit."""

from typing import Any

import msgspec

from gateway.demo.bound import infinite_cache
from gateway.demo.tally import Tokens, total
from gateway.demo.workload import DemoRequest

PAGE = 16
TEXT = "one two three four five six seven eight nine ten " * 20


def request(body: dict[str, Any], *, customer: str = "acme") -> DemoRequest:
    return DemoRequest(0.0, "code", customer, "v1", msgspec.json.encode({"model": "m", **body}))


def chat(text: str, *tools: str) -> dict[str, Any]:
    listed = [{"type": "function", "function": {"name": name, "description": TEXT}} for name in tools]
    return {"messages": [{"role": "user", "content": text}], **({"tools": listed} if listed else {})}


def cached(*bodies: dict[str, Any]) -> Tokens:
    return total(infinite_cache([request(body) for body in bodies], PAGE))


def test_first_prompt_hits_nothing() -> None:
    """The first of its kind is computed."""
    alone = cached(chat(TEXT))
    assert alone.cached == 0
    assert alone.input > 200


def test_repeated_prompt_hits_whole_pages() -> None:
    """The same prompt again hits all whole pages but never its last token, whoever asks."""
    alone = cached(chat(TEXT)).input
    sums = infinite_cache([request(chat(TEXT)), request(chat(TEXT), customer="hooli")], PAGE)
    assert sums["code", "acme", "v1"] == Tokens(alone, 0)
    assert sums["code", "hooli", "v1"] == Tokens(alone, (alone - 1) // PAGE * PAGE)


def test_continued_prompt_hits_the_shared_part() -> None:
    """A longer prompt hits what the shorter one left; another beginning hits nothing."""
    shorter = cached(chat(TEXT)).input
    both = cached(chat(TEXT), chat(TEXT + "and more"))
    assert shorter - 2 * PAGE < both.cached < shorter
    assert cached(chat(TEXT), chat("x" + TEXT)).cached < PAGE


def test_tools_count_in_their_safe_order() -> None:
    """The bound is that of the level safe: the same tools in another order are the same prefix."""
    both = cached(chat("hi", "a", "b"), chat("hi", "b", "a"))
    assert both.cached > 0.9 * both.input / 2
