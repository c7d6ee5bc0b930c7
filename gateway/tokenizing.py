"""A model's own tokenizer, made incremental: of a prompt that grew only the new part is tokenized.

One idea: a byte-level tokenizer never merges across certain places, so the text between two of them always has the
same tokens and can be remembered. Such places are special tokens (they are cut out first, by definition) and a line
end before a letter or digit: in the patterns of GPT-2, GPT-4, o200k, Llama 3, Qwen and DeepSeek no match crosses it.
Whether that holds for a tokenizer is tried when it is loaded; one that fails is asked for whole prompts.

Measured: docs/kv_events.md.
"""

import re
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Final, Protocol

from prefix.errors import ConfigError
from prefix.tokens import check_tokenizer

PIECE_CHARS: Final = 1024
"""Long texts are cut at the first safe line end behind so many characters."""

KEPT_CHARS: Final = 32 << 20
"""Characters of pieces that are remembered; their tokens take about as much again."""

_TRIAL = "One line, then:\nanother 12\n\n  indented\n'quoted'\n7 don't\r\nA\u00e9\u0301 \u4f60\u597d\nlast "


class Encoding(Protocol):
    """Of package tokenizers, as far as it is used."""

    @property
    def ids(self) -> list[int]: ...


class Tokenizer(Protocol):
    """Of package tokenizers, as far as it is used."""

    def encode(self, sequence: str, *, add_special_tokens: bool = ...) -> Encoding: ...


class Tokenizing:
    """Text to token ids, 4 bytes each. file: the model's tokenizer.json. Safe in several threads.

    Raises ConfigError when the file or the package is missing, or when the file is something else.
    """

    def __init__(self, file: Path) -> None:
        try:
            import tokenizers
        except ImportError:
            raise ConfigError("KV events need the package tokenizers: pip install 'prefixgate[sglang]'") from None
        check_tokenizer(file)
        loaded = tokenizers.Tokenizer.from_file(str(file))
        loaded.no_truncation()
        loaded.no_padding()
        self._tokenizer: Tokenizer = loaded
        added = loaded.get_added_tokens_decoder().values()
        plain = all(not (token.lstrip or token.rstrip or token.single_word or token.normalized) for token in added)
        texts = sorted((token.content for token in added), key=len, reverse=True)
        self._special = re.compile("(" + "|".join(map(re.escape, texts)) + ")") if texts else None
        self._texts = texts[:2]
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._room = KEPT_CHARS
        self._lock = Lock()
        self._front, self._back = self._wrapping()
        self._cuts = plain and self._may_cut()

    def encode(self, text: str, *, whole: bool = False) -> bytes:
        """The token ids of a text. whole: with what the tokenizer puts around a prompt (BOS)."""
        ids = b"".join(map(self._learn, self._pieces(text)))
        return self._front + ids + self._back if whole else ids

    def missing(self, text: str) -> int:
        """How many characters of a text are in pieces that are not remembered."""
        return sum(len(piece) for piece in self._pieces(text) if piece not in self._kept)

    def _pieces(self, text: str) -> Iterator[str]:
        if not self._cuts:
            yield text
            return
        for part in self._special.split(text) if self._special is not None else (text,):
            start = 0
            while len(part) - start > PIECE_CHARS:
                end = part.find("\n", start + PIECE_CHARS) + 1
                while end and end < len(part) and not part[end].isalnum():
                    end = part.find("\n", end) + 1
                if not end or end >= len(part):
                    break
                yield part[start:end]
                start = end
            if start < len(part):
                yield part[start:]

    def _learn(self, piece: str) -> bytes:
        kept = self._kept
        ids = kept.get(piece)
        if ids is None:
            ids = self._encode(piece)
            with self._lock:
                self._room -= len(piece) if piece not in kept else 0
                kept[piece] = ids
                while self._room < 0:
                    old, _ = kept.popitem(last=False)
                    self._room += len(old)
        return ids

    def _encode(self, text: str) -> bytes:
        return array("I", self._tokenizer.encode(text, add_special_tokens=False).ids).tobytes()

    def _wrapping(self) -> tuple[bytes, bytes]:
        """What the tokenizer puts before and behind a prompt."""
        bare = self._tokenizer.encode("a", add_special_tokens=False).ids
        whole = self._tokenizer.encode("a", add_special_tokens=True).ids
        front = next((at for at in range(len(whole)) if whole[at : at + len(bare)] == bare), 0)
        return array("I", whole[:front]).tobytes(), array("I", whole[front + len(bare) :]).tobytes()

    def _may_cut(self) -> bool:
        """Whether texts cut at special tokens and before a line's first letter have the tokens of the whole."""
        cut = re.split(r"(?<=\n)(?=[^\W_])", _TRIAL)
        parts = [part for text in (*self._texts, "") for part in (*cut, text) if part]
        return b"".join(map(self._encode, parts)) == self._encode("".join(parts))
