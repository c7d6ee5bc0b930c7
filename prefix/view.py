"""The view of a prompt: bytes that share a prefix exactly where two rendered prompts do.

A gateway without the engine's tokenizer cannot see the rendered prompt. The view stands in for it: namespace,
template arguments and the class of `tool_choice` first (as a seed), then the canonical tools, then each message
(role, name, content parts, tool calls), in the order chat templates render them. Only parsed values enter it, so
white space, escapes and the key order of declared fields on the wire do not matter, and an append-only
conversation's view is a prefix of its next turn's.

Fields end with a tag byte that no UTF-8 text contains (0xF8..0xFF), never begin with a length: two documents of
different length that start alike must share blocks, and still no two different prompts have one view.
What SGLang renders was read in srt/entrypoints/openai/serving_chat.py (0.5.23): a named tool_choice renders that
tool only, `none` renders none; tool calls' arguments are parsed before templating; call ids are not rendered by
most templates and are left out. What is long and no text (an image) enters as its hash: engines render a
placeholder for it and key their cache by its content. Responses and Anthropic bodies: see prefix.turns.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import xxhash

from prefix.body import Body
from prefix.errors import BodyError
from prefix.frame import Frame
from prefix.opening import Opening
from prefix.plain import as_list, encode_any, text_bytes
from prefix.seed import seeds
from prefix.system import SYSTEM_ROLES
from prefix.tool_view import ToolViews, tool_choice
from prefix.turns import Turns, turns_of, wrong_type

TEXT, ROLE, NAME, PART, CALL, ARGUMENTS = (bytes((0xF8 + i,)) for i in range(6))  # 0xFE: prefix.tool_view.TOOL
MESSAGE = b"\xff"
_LONG = 512
"""Bytes of a part that is no text (an image, a file) beyond which its hash stands for it."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class View(NamedTuple):
    """seed: 64-bit hash of the namespace and of what changes the prompt's front. text: the view's bytes.

    stable: bytes of the text that are tools and leading system or developer messages. tokens: how many tokens the
    prompt is known to have (input given as token ids), else None. bare: the seed without any salt, None when there is
    none.
    """

    seed: int
    text: bytes
    stable: int
    tokens: int | None
    bare: int | None = None


def prompt_view(body: Body, tools: bytes | None, cache: ToolViews, *, salt: str = "") -> View:
    """The view of a chat, completion, Responses, Anthropic or SGLang native request.

    tools: the canonical bytes of `tools` or `functions`, None when there are none. salt: what the gateway itself
    adds to the namespace. Raises BodyError `invalid_type` with the JSON pointer when a field the prompt is made
    of has the wrong type.
    """
    turns = turns_of(body)
    if turns is not None:
        both, choice, named = body.once(_chat_front)
        shown = () if tools is None or choice == "none" else cache.views(tools)
        parts = [view for name, view in shown if named is None or name == named]
        stable: int | None = None
        for place, message in enumerate(turns.messages):
            if stable is None and not (type(message) is dict and message.get("role") in SYSTEM_ROLES):
                stable = sum(map(len, parts))
            if body.opening is not None and message is body.opening.message:
                parts.append(body.opening.once(_opening_view))
            else:
                _append_message(parts, message, turns, place)
        text = b"".join(parts)
        return _view(both, salt, text, len(text) if stable is None else stable, None)
    key = next((key for key in ("prompt", "text", "input_ids") if key in body), None)
    prompt = body.value(key) if key else None
    if key is None or (type(prompt) is dict and (key == "text" or "id" in prompt)):  # Responses without input
        return _view(seeds(body.frame, "none", ""), salt, b"", 0, None)
    text, tokens = _plain(prompt, f"/{key}")
    return _view(seeds(body.frame, "text", ""), salt, text, 0, tokens)


def _opening_view(opening: Opening) -> bytes:
    parts: list[bytes] = []
    _append_message(parts, opening.message, Turns("messages", "", [opening.message]), 0)
    return b"".join(parts)


def _chat_front(frame: Frame) -> tuple[tuple[int, int], str, str | None]:
    """The seeds of a chat, the class of its tool_choice, and the tool that it names."""
    choice, named = tool_choice(frame)
    return seeds(frame, "chat", choice), choice, named


def _view(both: tuple[int, int], salt: str, text: bytes, stable: int, tokens: int | None) -> View:
    """both: the seed, and the one without any salt. salt: what the gateway adds to the salts of the body."""
    seed, bare = both
    if salt:
        seed = xxhash.xxh3_64_intdigest(text_bytes(salt), seed)
    return View(seed, text, stable, tokens, bare if seed != bare else None)


def _append_message(parts: list[bytes], message: Any, turns: Turns, place: int) -> None:
    if type(message) is not dict:
        raise wrong_type(turns.pointer(place), "an object", message)
    role = message.get("role")
    if type(role) is not str:
        raise wrong_type(turns.pointer(place) + "/role", "a string", role)
    parts += (MESSAGE, text_bytes(role), ROLE)
    content = message.get("content")
    if type(content) is str:
        parts += (text_bytes(content), TEXT)
    elif content is not None:
        _append_content(parts, content, turns.pointer(place) + "/content")
    if len(message) > 2 or content is None:
        _append_extras(parts, message)


def _append_content(parts: list[bytes], content: Any, pointer: str) -> None:
    if type(content) is not list:
        raise wrong_type(pointer, "a string or an array of parts", content)
    for place, part in enumerate(content):
        if type(part) is str:
            parts += (text_bytes(part), TEXT)
        elif type(part) is not dict:
            raise wrong_type(f"{pointer}/{place}", "an object", part)
        elif type(part.get("text")) is str:
            parts += (text_bytes(part["text"]), TEXT)
        elif part.get("type") == "tool_use":
            parts += (text_bytes(str(part.get("name"))), CALL, _arguments(part.get("input")), ARGUMENTS)
        elif part.get("type") == "tool_result":
            _append_result(parts, part.get("content"), f"{pointer}/{place}/content")
        else:
            parts += (_media({k: v for k, v in part.items() if k != "cache_control"}), PART)


def _append_result(parts: list[bytes], content: Any, pointer: str) -> None:
    if type(content) is str:
        parts += (text_bytes(content), TEXT)
    elif content is not None:
        _append_content(parts, content, pointer)
    parts.append(PART)


def _media(part: Any) -> bytes:
    raw = encode_any(part)
    return raw if len(raw) <= _LONG else xxhash.xxh3_128_digest(raw).hex().encode()


def _append_extras(parts: list[bytes], message: Mapping[str, Any]) -> None:
    for key in ("name", "reasoning_content", "reasoning", "refusal"):
        value = message.get(key)
        if type(value) is str:
            parts += (text_bytes(value), NAME)
    for call in as_list(message.get("tool_calls")):
        function = call.get("function") if type(call) is dict else None
        if type(function) is dict:
            parts += (text_bytes(str(function.get("name"))), CALL, _arguments(function.get("arguments")), ARGUMENTS)


def _arguments(arguments: Any) -> bytes:
    """As engines render them: parsed first, key order kept, spacing gone; what does not parse stays text."""
    if type(arguments) is not str:
        return encode_any(arguments)
    try:
        return _encode(_decode(arguments))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text_bytes(arguments)


def _plain(prompt: Any, pointer: str) -> tuple[bytes, int | None]:
    """A text, token ids, or a batch of either: a batch is placed by its first prompt, sized by all."""
    if type(prompt) is str:
        return text_bytes(prompt), None
    if type(prompt) is not list:
        raise wrong_type(pointer, "a string, an array of token ids, or an array of either", prompt)
    if all(type(item) is int for item in prompt):
        return _token_bytes(prompt, pointer), len(prompt)
    views = [_plain(item, f"{pointer}/{place}") for place, item in enumerate(prompt)]
    counts = [tokens for _, tokens in views if tokens is not None]
    return b"".join(text + TEXT for text, _ in views), sum(counts) if len(counts) == len(views) else None


def _token_bytes(ids: list[int], pointer: str) -> bytes:
    """Four bytes a token, so that blocks of bytes hold about as many tokens as they do of text."""
    try:
        return b"".join([token.to_bytes(4, "little") for token in ids])
    except OverflowError:
        raise BodyError("invalid_type", f"{pointer}: a token id is negative or too large", pointer=pointer) from None
