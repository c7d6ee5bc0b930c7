"""A slice of the bundled trace for a tiny model: several routes and customers, prompts of known tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from tokenizers import Tokenizer

from gateway.demo.workload import DemoRequest, Workload, conversation
from gateway.trace_file import BUNDLED_BLOCK_TOKENS, BUNDLED_TRACE, read_trace
from prefix.radix import RadixCache, token_key
from prefix.trace import TraceRequest, block_text, prompt_blocks

ROUTES = ("support", "code", "search")
CUSTOMERS = ("acme", "globex", "initech", "umbrella")
SHRINK = 16
LONGEST_PROMPT = 9_000
"""Tokens of the trace: longer prompts would not fit the tiny model's context."""
SYSTEM_BYTES = 1_500


@dataclass(frozen=True)
class Model:
    """The tiny model's own tokenizer and chat template."""

    tokenizer: Tokenizer
    template: jinja2.Template

    @classmethod
    def load(cls, folder: Path) -> "Model":
        """From a model directory."""
        environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
        environment.filters["tojson"] = lambda value: msgspec.json.encode(value).decode()
        settings = msgspec.json.decode((folder / "tokenizer_config.json").read_bytes())
        template = environment.from_string(settings["chat_template"])
        return cls(Tokenizer.from_file(str(folder / "tokenizer.json")), template)

    def tokens(self, messages: Sequence[dict[str, Any]]) -> list[int]:
        """The token ids an engine makes of these messages."""
        text = self.template.render(messages=messages, tools=None, add_generation_prompt=True)
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def trace_slice(count: int, seconds: float, model: str) -> Workload:
    """The first `count` requests of the trace that are short enough, arriving evenly over `seconds`."""
    trace = [r for r in read_trace(BUNDLED_TRACE) if r.input_length <= LONGEST_PROMPT]
    chosen = _conversations(trace, count)
    requests = [_request(r, nth, seconds * nth / count, model) for nth, r in enumerate(chosen)]
    return Workload(tuple(requests), seconds, 1.0)


def shared_cache_hit_rate(requests: Sequence[DemoRequest], model: Model, page: int) -> float:
    """What one cache without limit would hit, each prompt computed at once."""
    cache = RadixCache(2**62, page)
    total = cached = 0
    for request in requests:
        ids = model.tokens(msgspec.json.decode(request.body)["messages"])
        cached += cache.serve(token_key(ids), len(ids))
        total += len(ids)
    return cached / total


def _conversations(trace: Sequence[TraceRequest], count: int) -> list[TraceRequest]:
    """Conversations with several turns first: a slice of single questions has nothing to place."""
    turns: dict[str, int] = {}
    for request in trace:
        turns[conversation(request)] = turns.get(conversation(request), 0) + 1
    several = [request for request in trace if turns[conversation(request)] > 2]
    return several[:count]


def _request(turn: TraceRequest, nth: int, arrival_s: float, model: str) -> DemoRequest:
    key = sum(map(ord, conversation(turn)))
    route, customer = ROUTES[key % len(ROUTES)], CUSTOMERS[key % len(CUSTOMERS)]
    blocks = prompt_blocks(turn, block_tokens=BUNDLED_BLOCK_TOKENS, unique=str(nth), shrink=SHRINK)[1:]
    roles = ["assistant" if place % 2 else "user" for place in range(len(blocks) - 1)] + ["user"]
    messages = [{"role": role, "content": text} for role, text in zip(roles, blocks, strict=False)]
    body = {
        "model": model,
        "messages": [{"role": "system", "content": block_text(route, SYSTEM_BYTES)}, *(messages or _QUESTION)],
        "max_tokens": 4,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return DemoRequest(arrival_s, route, customer, "v1", msgspec.json.encode(body))


_QUESTION = [{"role": "user", "content": "?"}]
