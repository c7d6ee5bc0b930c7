"""Response bodies of the simulated engine: SGLang 0.5.23's answers, stream chunks and usage.

One idea: everything is printed from `Choice`, one running answer; a chunk is a constant head and tail of JSON
around the new text, because this is what a simulated token costs.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from engine_adapter.engine_request import EngineRequest
from engine_adapter.simulated_asks import Ask
from engine_adapter.simulated_text import token_text

DONE = b"data: [DONE]\n\n"


@dataclass(slots=True, eq=False)
class Choice:
    """One answer: its engine request, its place, its output ids, how many are produced and how many are sent."""

    request: EngineRequest
    index: int
    tokens: Sequence[int]
    natural_end: bool
    echo: str = ""
    id: str = field(default_factory=lambda: uuid4().hex)
    produced: int = 0
    finished: bool = False
    sent: int = 0

    def text(self, start: int, end: int) -> str:
        """The text of output tokens [start, end), the echoed prompt before the first."""
        text = "".join([token_text(token) for token in self.tokens[start:end]])
        return self.echo + text if start == 0 else text

    @property
    def finish_reason(self) -> str:
        """Why it ended."""
        return "stop" if self.natural_end and self.produced >= len(self.tokens) else "length"


def usage_of(ask: Ask, choices: Sequence[Choice], *, cache_report: bool) -> dict[str, Any]:
    """The usage object: the prompt side counts the first choice of each prompt, the output all of them."""
    firsts = choices[:: ask.n]
    prompt = sum(choice.request.prompt_tokens for choice in firsts)
    output = sum(choice.produced for choice in choices)
    cached = sum(choice.request.cached_tokens for choice in firsts)
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + output,
        "completion_tokens": output,
        "prompt_tokens_details": {"cached_tokens": cached} if cache_report else None,
        "reasoning_tokens": 0,
        "completion_tokens_details": None,
    }


def answer(ask: Ask, choices: Sequence[Choice], *, cache_report: bool) -> Any:
    """The body of a whole answer."""
    if ask.api == "generate":
        bodies = [generate_body(choice) for choice in choices]
        return bodies if ask.batch else bodies[0]
    chat = ask.api == "chat"
    return {
        "id": uuid4().hex,
        "object": "chat.completion" if chat else "text_completion",
        "created": int(time.time()),
        "model": ask.model,
        "choices": [_whole_choice(choice, chat=chat) for choice in choices],
        "usage": usage_of(ask, choices, cache_report=cache_report),
        "metadata": {"weight_version": "default"},
    }


def generate_body(choice: Choice) -> dict[str, Any]:
    """What /generate says of one answer so far."""
    reason = {"type": choice.finish_reason, "length": choice.produced} if choice.finished else None
    return {
        "text": choice.text(0, choice.produced),
        "output_ids": list(choice.tokens[: choice.produced]),
        "meta_info": {
            "id": choice.id,
            "finish_reason": reason,
            "prompt_tokens": choice.request.prompt_tokens,
            "weight_version": "default",
            "num_retractions": choice.request.retractions,
            "reasoning_tokens": 0,
            "completion_tokens": choice.produced,
            "cached_tokens": choice.request.cached_tokens,
            "cached_tokens_details": None,
            "dp_rank": None,
        },
    }


def _whole_choice(choice: Choice, *, chat: bool) -> dict[str, Any]:
    text = choice.text(0, choice.produced)
    content = (
        {"message": {"role": "assistant", "content": text, "reasoning_content": None}} if chat else {"text": text}
    )
    ends = {"logprobs": None, "finish_reason": choice.finish_reason, "matched_stop": None}
    return {"index": choice.index, **content, **ends}


class StreamWriter:
    """Turns the progress of an answer's choices into server-sent events, framed as SGLang frames them."""

    def __init__(self, ask: Ask, *, cache_report: bool) -> None:
        self._ask = ask
        self._report = cache_report
        kind = "chat.completion.chunk" if ask.api == "chat" else "text_completion"
        self._head = f'"object":"{kind}","created":{int(time.time())},"model":{json.dumps(ask.model)},"choices":['

    def opening(self, choice: Choice) -> list[bytes]:
        """Before a choice's first text: chat has a chunk with the role."""
        if self._ask.api != "chat":
            return []
        return [self._chunk(choice, '{"reasoning_content":null,"role":"assistant","content":""}')]

    def progress(self, choice: Choice) -> list[bytes]:
        """The events for what a choice produced since the last call, its end included."""
        text = choice.text(choice.sent, choice.produced)
        fresh = choice.produced > choice.sent
        choice.sent = choice.produced
        if self._ask.api == "generate":
            return [b"data: " + json.dumps(generate_body(choice), ensure_ascii=False).encode() + b"\n\n"]
        if self._ask.api == "completion":
            return [self._chunk(choice, json.dumps(text), ends=choice.finished)]
        events = []
        if fresh:
            events.append(self._chunk(choice, f'{{"reasoning_content":null,"content":{json.dumps(text)}}}'))
        if choice.finished:
            events.append(self._chunk(choice, '{"reasoning_content":null}', ends=True))
        return events

    def closing(self, choices: Sequence[Choice]) -> list[bytes]:
        """After the last choice ended: the usage chunk if asked for, and the end mark."""
        if self._ask.api == "generate" or not self._ask.include_usage:
            return [DONE]
        counts = usage_of(self._ask, choices, cache_report=self._report)
        if self._ask.api == "completion":  # SGLang leaves nulls out here, and only here
            counts = {name: count for name, count in counts.items() if count is not None}
        usage = json.dumps(counts, separators=(",", ":"))
        return [f'data: {{"id":"{choices[-1].id}",{self._head}],"usage":{usage}}}\n\n'.encode(), DONE]

    def _chunk(self, choice: Choice, content: str, *, ends: bool = False) -> bytes:
        chat = self._ask.api == "chat"
        reason = f'"{choice.finish_reason}"' if ends else "null"
        usage = "" if chat else ',"usage":null'
        if self._ask.continuous_usage and (not chat or (choice.sent and not ends)):
            counts = usage_of(self._ask, [choice], cache_report=self._report and chat)
            usage = ',"usage":' + json.dumps(counts, separators=(",", ":"))
        name = "delta" if chat else "text"
        return (
            f'data: {{"id":"{choice.id}",{self._head}{{"index":{choice.index},"{name}":{content},"logprobs":null,'
            f'"finish_reason":{reason},"matched_stop":null}}]{usage}}}\n\n'
        ).encode()
