"""Makes a tiny Qwen2 model: random weights (seeded, 1.3 M parameters), a byte-level BPE tokenizer, a ChatML template.

Needs numpy, safetensors and tokenizers only: no torch, no network, about 2 s and 6 MB.
usage: make_tiny_model.py OUT
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

VOCAB, CONTEXT = 4096, 32768
HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, HEAD = 128, 256, 2, 4, 2, 32
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# transformers 5 rebuilds a qwen2 tokenizer with Qwen2's own normalizer and pre-tokenizer and ignores the ones in
# tokenizer.json; SGLang restores those. With exactly Qwen2's own, every stack cuts a prompt into the same tokens.
QWEN2_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def corpus() -> Iterator[str]:
    """Text to learn the vocabulary from: this Python's own standard library."""
    for path in sorted(Path(os.__file__).parent.glob("*.py"))[:80]:
        yield path.read_text(errors="ignore")


def make_tokenizer() -> Tokenizer:
    """Qwen2's tokenizer with a small vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2_PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=SPECIALS,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def make_weights(vocab: int) -> dict[str, np.ndarray]:
    """Random weights, the same on every machine; norms are ones."""
    rng = np.random.default_rng(0)

    def noise(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.08).astype(np.float32)

    ones = np.ones(HIDDEN, np.float32)
    weights = {
        "model.embed_tokens.weight": noise(vocab, HIDDEN),
        "lm_head.weight": noise(vocab, HIDDEN),
        "model.norm.weight": ones.copy(),
    }
    for layer in range(LAYERS):
        attention, mlp = f"model.layers.{layer}.self_attn.", f"model.layers.{layer}.mlp."
        for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
            weights[f"{attention}{name}_proj.weight"] = noise(heads * HEAD, HIDDEN)
            weights[f"{attention}{name}_proj.bias"] = noise(heads * HEAD)
        weights |= {
            f"{attention}o_proj.weight": noise(HIDDEN, HEADS * HEAD),
            f"{mlp}gate_proj.weight": noise(INNER, HIDDEN),
            f"{mlp}up_proj.weight": noise(INNER, HIDDEN),
            f"{mlp}down_proj.weight": noise(HIDDEN, INNER),
            f"model.layers.{layer}.input_layernorm.weight": ones.copy(),
            f"model.layers.{layer}.post_attention_layernorm.weight": ones.copy(),
        }
    return weights


def make_config(vocab: int) -> dict[str, object]:
    """config.json of a Qwen2 model of these sizes."""
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "vocab_size": vocab,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": CONTEXT,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-6,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "use_sliding_window": False,
        "initializer_range": 0.02,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "torch_dtype": "float32",
    }


def tokenizer_config() -> dict[str, object]:
    """tokenizer_config.json with the chat template of chat_template.jinja."""
    return {
        "tokenizer_class": "Qwen2Tokenizer",
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "additional_special_tokens": ["<|im_start|>"],
        "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
        "chat_template": Path(__file__).with_name("chat_template.jinja").read_text(),
    }


def make(out: Path) -> None:
    """Write the whole checkpoint into a directory."""
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    vocab = tokenizer.get_vocab_size()
    tokenizer.save(str(out / "tokenizer.json"))
    files = {
        "config.json": make_config(vocab),
        "tokenizer_config.json": tokenizer_config(),
        "generation_config.json": {"eos_token_id": 2, "pad_token_id": 0},
    }
    for name, content in files.items():
        (out / name).write_text(json.dumps(content, indent=1))
    save_file(make_weights(vocab), out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_tiny_model.py OUT")
    make(Path(sys.argv[1]))
