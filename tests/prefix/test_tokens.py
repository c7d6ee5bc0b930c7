"""prefix.tokens: tokens are counted offline, and a counter says with what."""

import base64
import hashlib
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from prefix.errors import ConfigError
from prefix.tokens import (
    ENCODINGS,
    Encoding,
    HuggingFaceCounter,
    RatioCounter,
    TiktokenCounter,
    counter_for,
    encoding_of,
)

MERGES = [b"he", b"ll", b"hell", b"hello", b" w", b"or", b" wor", b"ld"]


@pytest.fixture
def tiny(tmp_path: Path) -> Encoding:
    """An encoding of the 256 bytes and a few merges, its file in `tmp_path`."""
    tokens = [bytes([byte]) for byte in range(256)] + MERGES
    lines = b"\n".join(base64.b64encode(token) + b" %d" % rank for rank, token in enumerate(tokens))
    (tmp_path / "tiny.tiktoken").write_bytes(lines + b"\n")
    return Encoding(
        "tiny", "https://a.example/tiny.tiktoken", hashlib.sha256(lines + b"\n").hexdigest(), r" ?\p{L}+|\s+|."
    )


@pytest.fixture
def tokenizer_json(tmp_path: Path) -> Path:
    """The file of a tokenizer that knows words."""
    made = Tokenizer(WordLevel({"[UNK]": 0, "hello": 1, "world": 2}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_tiktoken_counts_from_a_file_on_disk(tiny: Encoding, tmp_path: Path) -> None:
    """Merges are applied as ranked; the name says which encoding and which file."""
    counter = TiktokenCounter(tiny, tmp_path)
    assert counter.count("hello world") == 3
    assert counter.count("") == 0
    assert counter.count("\ud800<|endoftext|>") == 14
    assert counter.name == f"tiktoken tiny ({tmp_path / 'tiny.tiktoken'})"


def test_tiktokens_own_cache_is_read(tiny: Encoding, tmp_path: Path) -> None:
    """A file that tiktoken put into its cache has the SHA-1 of its address as its name."""
    cached = (tmp_path / "tiny.tiktoken").rename(tmp_path / hashlib.sha1(tiny.address.encode()).hexdigest())
    assert TiktokenCounter(tiny, tmp_path).name.endswith(f"({cached})")


def test_a_missing_or_wrong_file_is_refused(tiny: Encoding, tmp_path: Path) -> None:
    """Nothing is fetched in its place, and no wrong count is made from a damaged file."""
    with pytest.raises(ConfigError, match=r"has no tiny\.tiktoken: put the file there, nothing is downloaded"):
        TiktokenCounter(tiny, tmp_path / "elsewhere")
    (tmp_path / "tiny.tiktoken").write_bytes(b"YQ== 0\n")
    with pytest.raises(ConfigError, match="not the published file"):
        TiktokenCounter(tiny, tmp_path)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o-2024-11-20", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("openai/gpt-oss-20b", "o200k_harmony"),
        ("meta-llama/Llama-3.1-8B-Instruct", None),
        ("davinci", None),
    ],
)
def test_models_have_encodings(model: str, name: str | None) -> None:
    """Model to encoding as tiktoken has it; a model it does not know, or an old encoding, has none."""
    found = encoding_of(model)
    assert (found and found.name) == name


@pytest.mark.parametrize("name", ENCODINGS)
def test_published_encodings_are_those_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address, hash and pattern are the installed tiktoken's own."""
    asked: list[tuple[str, str]] = []

    def load(address: str, expected_hash: str) -> dict[bytes, int]:
        asked.append((address, expected_hash))
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load)
    made = openai_public.ENCODING_CONSTRUCTORS[name]()
    assert ENCODINGS[name] == Encoding(made["name"], *asked[0], made["pat_str"])


def test_hugging_face_counts_from_a_file_on_disk(tokenizer_json: Path) -> None:
    """One token a word here; none is added at the ends."""
    counter = HuggingFaceCounter(tokenizer_json)
    assert counter.count("hello world hello") == 3
    assert counter.count("") == 0
    assert counter.count("\ud800") == 1
    assert counter.name == f"tokenizers {tokenizer_json}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"<html>", "is not JSON"),
        (b"[]", "no model"),
        (b'{"model":{"type":"BPE"}}', "no model"),
    ],
)
def test_what_is_no_tokenizer_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    """The error names the file and says what to pass."""
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        HuggingFaceCounter(file)


@pytest.mark.parametrize("package", ["tokenizers", "tiktoken"])
def test_a_missing_package_is_named(
    package: str, tiny: Encoding, tokenizer_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A counter that was asked for and cannot be made is an error, never another counter."""
    for module in (package, f"{package}.model"):
        monkeypatch.setitem(sys.modules, module, None)
    folder = tokenizer_json.parent
    makers = {
        "tokenizers": [lambda: counter_for("m", tokenizer=tokenizer_json)],
        "tiktoken": [lambda: counter_for("gpt-4", encodings=folder), lambda: TiktokenCounter(tiny, folder)],
    }
    for make in makers[package]:
        with pytest.raises(ConfigError, match=f"needs the package {package}"):
            make()


@given(st.text(), st.floats(0.5, 16))
def test_the_ratio_estimates_from_bytes(text: str, ratio: float) -> None:
    """Within half a token of bytes / ratio, never nothing for something."""
    size = len(text.encode())
    count = RatioCounter(ratio).count(text)
    assert (count > 0) == (size > 0)
    assert abs(count - size / ratio) <= 1


def test_the_ratio_says_whether_it_was_learned() -> None:
    """An assumed ratio is not passed off as a measured one, and a senseless one is refused."""
    assert RatioCounter().name == "4 bytes per token (assumed)"
    assert RatioCounter(3.871).name == "3.87 bytes per token (learned)"
    assert RatioCounter().count("\ud800") == 1
    with pytest.raises(ConfigError, match="more than 0"):
        RatioCounter(0)


def test_the_most_exact_counter_is_chosen(tokenizer_json: Path, tmp_path: Path) -> None:
    """A tokenizer file first, then tiktoken for the models it knows, then the ratio."""
    assert counter_for("gpt-4", tokenizer=tokenizer_json, encodings=tmp_path).name.startswith("tokenizers ")
    assert counter_for("llama", encodings=tmp_path, bytes_per_token=3.5).name == "3.5 bytes per token (learned)"
    assert counter_for("gpt-4").name == "4 bytes per token (assumed)"
    with pytest.raises(ConfigError, match=r"cl100k_base\.tiktoken"):
        counter_for("gpt-4", encodings=tmp_path)


def test_importing_the_module_imports_no_tokenizer() -> None:
    """What needs no counting pays for no package."""
    import subprocess

    code = "import sys, prefix.tokens; print(json := [m for m in ('tiktoken', 'tokenizers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
