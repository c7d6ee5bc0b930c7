"""The bodies of a run: made up from a trace, or the recorded ones with what a measurement needs.

A trace's text shares its beginnings exactly where the trace does (prefix.trace). Its first bytes are replaced by a
key: another key makes another run's (or another side's) caches cold without changing what is shared within the run.
Recorded bodies keep their bytes; a model, the request for usage and a salt are spliced in as far as asked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from engine_adapter.usage_option import usage_option
from gateway.apis import APIS, CHAT, COMPLETIONS, GENERATE, MESSAGES, RESPONSES
from gateway.demo.workload import as_messages
from prefix.body import parse_body
from prefix.errors import BodyError, ConfigError, TraceError
from prefix.members import member_edits
from prefix.scan import splice
from prefix.trace import TraceRequest, prompt_blocks

PATHS: Final[Mapping[str, str]] = {
    "chat": CHAT,
    "completions": COMPLETIONS,
    "generate": GENERATE,
    "messages": MESSAGES,
    "responses": RESPONSES,
}
SALT: Final = "cache_salt"
PROBE_TEXT: Final = "ping"
_USAGE: Final = {"include_usage": True}


class TraceText(msgspec.Struct, frozen=True):
    """How a trace becomes bodies. shrink: tokens of the trace for one of ours. ignore_eos: answers are as long as the
    trace's, whatever the model would say."""

    api: str
    model: str
    block_tokens: int
    shrink: int = 1
    ignore_eos: bool = True


def trace_body(turn: TraceRequest, number: int, text: TraceText, key: str) -> bytes:
    """The body of one request of a trace. Raises TraceError when its ids do not fit its length."""
    first, *rest = prompt_blocks(turn, block_tokens=text.block_tokens, unique=str(number), shrink=text.shrink)
    return _body([_keyed(first, key), *rest], max(1, turn.output_length // text.shrink), text)


def probe_body(text: TraceText) -> bytes:
    """The shortest request of the kind: does the target take it at all?"""
    return _body([PROBE_TEXT], 1, text)


def recorded_body(raw: bytes, path: str, *, model: str | None, salt: str | None, stream: bool, where: str) -> bytes:
    """A recorded body, ready to be sent. stream: ask for a stream where the body does not say. Raises TraceError."""
    try:
        body = parse_body(raw)
    except BodyError as error:
        raise TraceError(f"{where}: not a request body: {error}") from None
    members: dict[str, bytes] = {}
    if model is not None:
        members["model"] = msgspec.json.encode(model)
    elif "model" not in body and path != GENERATE:
        raise TraceError(f"{where}: the body names no model: give --model")
    if stream and "stream" not in body:
        members["stream"] = b"true"
    if path in (CHAT, COMPLETIONS):
        asked = usage_option(members.get("stream", body.slice("stream")), body.slice("stream_options"))
        if asked.replacement is not None:
            members["stream_options"] = asked.replacement
    if salt is not None:
        members[SALT] = msgspec.json.encode(salt)
    return splice(raw, member_edits(body, members)) if members else raw


def is_measurable(path: str) -> bool:
    """Whether a path generates text whose stream can be read."""
    return path in APIS and APIS[path].stream is not None and path in PATHS.values()


def check_salt(paths: Sequence[str]) -> None:
    """Raises ConfigError where a path has no field for a salt."""
    if MESSAGES in paths:
        raise ConfigError(f"{MESSAGES} has no field for a salt: use --isolation none, with cold caches")


def _keyed(text: str, key: str) -> str:
    return (key + text[len(key) :])[: len(text)] if key else text


def _body(blocks: list[str], output: int, text: TraceText) -> bytes:
    body: dict[str, Any] = {} if text.api == "generate" else {"model": text.model}
    body |= _PROMPTS[text.api](blocks, output)
    if text.ignore_eos and text.api == "generate":
        body["sampling_params"]["ignore_eos"] = True
    elif text.ignore_eos and text.api in ("chat", "completions"):
        body["ignore_eos"] = True
    return msgspec.json.encode(body | {"stream": True})


_PROMPTS: Final[Mapping[str, Callable[[list[str], int], dict[str, Any]]]] = {
    "chat": lambda blocks, output: {
        "messages": as_messages(blocks),
        "max_tokens": output,
        "stream_options": _USAGE,
    },
    "completions": lambda blocks, output: {
        "prompt": "".join(blocks),
        "max_tokens": output,
        "stream_options": _USAGE,
    },
    "generate": lambda blocks, output: {"text": "".join(blocks), "sampling_params": {"max_new_tokens": output}},
    "messages": lambda blocks, output: {"messages": as_messages(blocks), "max_tokens": output},
    "responses": lambda blocks, output: {"input": as_messages(blocks), "max_output_tokens": output, "store": False},
}
