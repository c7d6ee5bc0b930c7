"""Text of the simulated engine: a deterministic tokenizer, a ChatML-like template, and invented output.

One idea: a token is a piece of text and its id is a hash of that piece, so there is no vocabulary to ship, about
4 bytes make a token, and cutting a text at a word boundary leaves the tokens before it as they were. Role headers
are single tokens, so an answer that comes back in the next turn has the tokens it was generated with.
"""

import json
import re
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any
from zlib import crc32

from prefix.radix import TOKEN_BYTES, token_key

_PIECE = re.compile(r" ?\w{1,6}| ?[^\w\s]{1,4}|\s{1,16}")
_WORDS = tuple(a + b + c + d for a, b, c, d in product("bdfklmnprstv", "aeiou", "lmnrst", "aeo"))


@lru_cache(maxsize=65_536)
def _piece_id(piece: str) -> int:
    return crc32(piece.encode("utf-8", "surrogatepass")) & 0x7FFF_FFFF


_PIECES = {_piece_id(piece): piece for word in _WORDS for piece in (word, " " + word)}


@lru_cache(maxsize=2_048)
def encode(text: str) -> bytes:
    """The tokens of a text as a key of prefix.radix. Repeated texts (system prompts, history) are remembered."""
    return token_key([_piece_id(piece) for piece in _PIECE.findall(text)])


def token_count(key: bytes) -> int:
    """Tokens of a key."""
    return len(key) // TOKEN_BYTES


def token_ids(key: bytes) -> list[int]:
    """The token ids of a key."""
    return list(array("i", key))


def token_text(token: int) -> str:
    """The text of an output token; ids that the engine does not know print as a number."""
    return _PIECES.get(token) or f" #{token}"


def invent_output(prompt: bytes, count: int) -> list[int]:
    """`count` output token ids, always the same for the same prompt."""
    state = crc32(prompt) or 1
    words: list[int] = []
    for index in range(count):
        state = state * 1_103_515_245 + 12_345 & 0x7FFF_FFFF
        word = _WORDS[(state >> 8) % len(_WORDS)]
        words.append(_piece_id(" " + word if index else word))
    return words


def natural_length(prompt: bytes) -> int:
    """Output tokens of a request that sets no limit: 32 to 287, the same for the same prompt."""
    return 32 + crc32(prompt) % 256


# ---------------------------------------------------------------------- chat template


@lru_cache(maxsize=256)
def _special(text: str) -> bytes:
    return token_key([_piece_id("\0" + text)])


def render_chat(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> bytes:
    """The prompt of a chat as a key: tools first, then each message, then the assistant's header."""
    parts = []
    if tools:
        parts += [_special("<|im_start|>tools\n"), encode(_compact(list(tools))), _special("<|im_end|>\n")]
    for message in messages:
        role = message["role"]
        parts += [_special(f"<|im_start|>{role}\n"), *_contents(message), _special("<|im_end|>\n")]
    parts.append(_special("<|im_start|>assistant\n"))
    return b"".join(parts)


def render_tools(tools: Sequence[Mapping[str, Any]], tool_choice: object) -> list[Mapping[str, Any]]:
    """The tools that reach the prompt, as SGLang's chat handler has it: all, the named one, or none."""
    if tool_choice == "none":
        return []
    functions = [tool.get("function", {}) for tool in tools]
    if isinstance(tool_choice, Mapping):
        named = tool_choice.get("function", {}).get("name")
        functions = [function for function in functions if function.get("name") == named]
    fields = ("description", "name", "parameters", "strict")
    return [{field: function.get(field) for field in fields} for function in functions]


def _contents(message: Mapping[str, Any]) -> list[bytes]:
    content = message.get("content")
    parts = [content] if isinstance(content, str) else content or []
    encoded = [encode(_part_text(part)) for part in parts]
    for call in message.get("tool_calls") or []:
        encoded += [_special("<tool_call>\n"), encode(_compact(call.get("function", {}))), _special("\n</tool_call>")]
    return encoded


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        text: str = part["text"]
        return text
    return _compact(part)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
