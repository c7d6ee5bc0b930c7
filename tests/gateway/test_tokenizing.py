"""gateway.tokenizing: pieces have the tokens of the whole, and only new ones are tokenized."""

from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from gateway.tokenizing import PIECE_CHARS, Tokenizing
from prefix.errors import ConfigError

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEXT = Path(__file__).read_text()


def trained(folder: Path, *, byte_level: bool = True) -> Path:
    """A small tokenizer of the kind: byte-level BPE with Qwen2's pattern, or one that marks words."""
    tokenizer = Tokenizer(models.BPE(unk_token=None if byte_level else "<unk>"))
    alphabet: list[str] = []
    if byte_level:
        tokenizer.normalizer = normalizers.NFC()
        split = pre_tokenizers.Split(Regex(QWEN), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = [
        AddedToken("<|end|>", special=True, normalized=False),
        AddedToken("<unk>", special=True, normalized=False),
    ]
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<unk> $A", special_tokens=[("<unk>", tokenizer.token_to_id("<unk>"))]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a byte-level tokenizer."""
    return trained(tmp_path_factory.mktemp("bpe"))


def whole(file: Path, text: str) -> bytes:
    """Its tokens, all at once."""
    return array("I", Tokenizer.from_file(str(file)).encode(text, add_special_tokens=False).ids).tobytes()


PARTS = ("word ", "\n", "x", "7", " ", "\r\n", "!\n/", "\u00e9", "e\u0301", "\u4f60", "<|end|>", "'s", "\t")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PARTS)))
def test_pieces_are_the_whole(file: Path, parts: list[str]) -> None:
    """However a text's lines and special tokens lie."""
    tokenizing = Tokenizing(file)
    text = "".join(parts)
    text = text * (2 * PIECE_CHARS // max(1, len(text)) + 1)
    assert tokenizing.encode(text) == whole(file, text)


def test_only_what_is_new_is_tokenized(file: Path) -> None:
    """Of a conversation that grew, the new part; the same text again costs nothing."""
    tokenizing = Tokenizing(file)
    first = f"<|end|>{TEXT}<|end|>"
    assert tokenizing.missing(first) >= len(TEXT)
    tokenizing.encode(first)
    assert tokenizing.missing(first) == 0
    assert 0 < tokenizing.missing(f"{first}next<|end|>") <= len("next")
    assert tokenizing.encode(f"{first}next<|end|>") == whole(file, f"{first}next<|end|>")


def test_bos_is_put_before_whole_prompts(file: Path) -> None:
    """As the tokenizer's own post-processor does."""
    tokenizing = Tokenizing(file)
    ids = Tokenizer.from_file(str(file)).encode("some text").ids
    assert tokenizing.encode("some text", whole=True) == array("I", ids).tobytes()


def test_a_tokenizer_that_cannot_be_cut_is_asked_for_the_whole(tmp_path: Path) -> None:
    """One that marks the beginning of a text: tried when it is loaded."""
    file = trained(tmp_path, byte_level=False)
    tokenizing = Tokenizing(file)
    assert tokenizing.encode(TEXT) == whole(file, TEXT)


def test_other_files_are_refused(tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"tokenizer\.json"):
        Tokenizing(tmp_path / "tokenizer.json")
