"""Counting the tokens of a text, offline, with whatever is at hand; a counter's `name` says what it counted with.

Three ways, from exact to estimated: a Hugging Face `tokenizer.json`, OpenAI's encodings by tiktoken, and bytes per
token (learned from the engines' own `prompt_tokens`). Nothing is downloaded: the two exact ones read a file that is
there. tiktoken's own loader fetches what its cache does not have (tiktoken/load.py 0.14), so it is not used: the
ranks are read here, from a folder with files named as the encoding (`o200k_base.tiktoken`) or as tiktoken's cache
names them (SHA-1 of the address; `TIKTOKEN_CACHE_DIR`), and checked against the SHA-256 that tiktoken publishes
with each encoding. Patterns and hashes: tiktoken_ext/openai_public.py (MIT).
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from prefix.errors import ConfigError

BYTES_PER_TOKEN = 4.0
"""What English text costs on common tokenizers, while nothing has been learned."""


class Counter(Protocol):
    """Counts tokens. name: with what, for a person to read."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int:
        """Tokens of this text alone, without what a chat template adds."""
        ...


class RatioCounter:
    """An estimate from the length in UTF-8 bytes. bytes_per_token: learned for the model, None while nothing is."""

    def __init__(self, bytes_per_token: float | None = None) -> None:
        self._ratio = BYTES_PER_TOKEN if bytes_per_token is None else bytes_per_token
        if not self._ratio > 0:
            raise ConfigError(f"bytes per token must be more than 0, not {self._ratio}")
        self.name = f"{self._ratio:.3g} bytes per token ({'assumed' if bytes_per_token is None else 'learned'})"

    def count(self, text: str) -> int:
        """An estimate: at least 1 for a text that is not empty."""
        size = len(text.encode("utf-8", "surrogatepass"))
        return max(1, round(size / self._ratio)) if size else 0


class HuggingFaceCounter:
    """Exact for the model whose `tokenizer.json` this is.

    Raises ConfigError when the file or the package is missing, or when the file is something else.
    """

    def __init__(self, file: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise ConfigError("counting with a tokenizer.json needs the package tokenizers: install it") from None
        check_tokenizer(file)
        self._tokenizer = Tokenizer.from_file(str(file))
        self.name = f"tokenizers {file}"

    def count(self, text: str) -> int:
        """Special tokens in the text count as one each, none are added."""
        return len(self._tokenizer.encode(_well_formed(text), add_special_tokens=False).ids)


class Encoding(NamedTuple):
    """One of tiktoken's encodings. address: where it loads the ranks from, which names the file in its cache."""

    name: str
    address: str
    sha256: str
    pattern: str

    @property
    def file_names(self) -> tuple[str, str]:
        """How the file of ranks may be called: as published, or as tiktoken's cache calls it."""
        cached = hashlib.sha1(self.address.encode(), usedforsecurity=False).hexdigest()
        return self.address.rpartition("/")[2], cached


class TiktokenCounter:
    """Exact for OpenAI's models, a good estimate for others.

    folder: where the file of ranks lies. Raises ConfigError when the file or the package is missing, or when the file
    is not the encoding's.
    """

    def __init__(self, encoding: Encoding, folder: Path) -> None:
        try:
            import tiktoken
        except ImportError:
            raise ConfigError(f"counting with {encoding.name} needs the package tiktoken: install it") from None
        file = next((folder / name for name in encoding.file_names if (folder / name).is_file()), None)
        if file is None:
            raise ConfigError(f"{folder} has no {encoding.file_names[0]}: put the file there, nothing is downloaded")
        ranks = _ranks(file, encoding.sha256)
        self._encoding = tiktoken.Encoding(
            encoding.name, pat_str=encoding.pattern, mergeable_ranks=ranks, special_tokens={}
        )
        self.name = f"tiktoken {encoding.name} ({file})"

    def count(self, text: str) -> int:
        """Special tokens in the text count as the text they are."""
        return len(self._encoding.encode_ordinary(_well_formed(text)))


_PUBLISHED = "https://openaipublic.blob.core.windows.net/encodings/"
_CL100K = Encoding(
    "cl100k_base",
    _PUBLISHED + "cl100k_base.tiktoken",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s",
)
_O200K = Encoding(
    "o200k_base",
    _PUBLISHED + "o200k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
ENCODINGS: Mapping[str, Encoding] = {
    "cl100k_base": _CL100K,
    "o200k_base": _O200K,
    "o200k_harmony": _O200K._replace(name="o200k_harmony"),  # the same ranks, more special tokens
}


def encoding_of(model: str) -> Encoding | None:
    """tiktoken's encoding of a model (with or without an owner before its name), None when it knows none.

    Raises ConfigError when the package is missing.
    """
    try:
        from tiktoken.model import encoding_name_for_model
    except ImportError:
        raise ConfigError(f"finding the encoding of {model} needs the package tiktoken: install it") from None
    try:
        return ENCODINGS.get(encoding_name_for_model(model.rpartition("/")[2]))
    except KeyError:
        return None


def counter_for(
    model: str, *, tokenizer: Path | None = None, encodings: Path | None = None, bytes_per_token: float | None = None
) -> Counter:
    """The most exact counter there is for a model.

    tokenizer: its `tokenizer.json`. encodings: a folder with tiktoken's files, asked when tiktoken knows the model.
    bytes_per_token: the learned ratio. Raises ConfigError when what is given cannot be used.
    """
    if tokenizer is not None:
        return HuggingFaceCounter(tokenizer)
    if encodings is not None and (encoding := encoding_of(model)) is not None:
        return TiktokenCounter(encoding, encodings)
    return RatioCounter(bytes_per_token)


def check_tokenizer(file: Path) -> None:
    """Raise ConfigError unless this is a tokenizer.json that can be read."""
    try:
        content = json.loads(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{file} is not JSON: pass the tokenizer.json of the model") from None
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict) or "vocab" not in model:
        raise ConfigError(f"{file} has no model with a vocab: pass the tokenizer.json of the model")


def _ranks(file: Path, sha256: str) -> dict[bytes, int]:
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ConfigError(f"{file} is not the published file: its SHA-256 is not {sha256}")
    pairs = (line.split() for line in content.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _well_formed(text: str) -> str:
    """Without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()
