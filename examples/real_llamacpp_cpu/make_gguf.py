"""Turns the tiny Qwen2 model of examples/real_sglang_cpu into a GGUF file (5.5 MB, a second).

What is not printable ASCII is never generated: llama.cpp answers 500 to output that is not UTF-8, and random weights
make such output. Needs gguf, numpy and safetensors.
usage: make_gguf.py MODEL OUT.gguf
"""

import json
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

SPACE, NEWLINE = "\u0120", "\u010a"  # as byte-level BPE spells them


def read(model: Path, name: str) -> Any:
    """One of the checkpoint's JSON files."""
    return json.loads((model / name).read_text())


def printable(token: str, specials: set[str]) -> bool:
    """Whether a token is ASCII text of its own."""
    return token not in specials and all(char in (SPACE, NEWLINE) or 33 <= ord(char) < 127 for char in token)


def write_vocabulary(out: gguf.GGUFWriter, model: Path) -> np.ndarray:
    """Tokens, merges and template; which tokens must not be generated."""
    tokenizer = read(model, "tokenizer.json")
    vocabulary = tokenizer["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    specials = {added["content"] for added in tokenizer["added_tokens"]}
    kinds = gguf.TokenType
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("qwen2")
    out.add_token_list(tokens)
    out.add_token_types([kinds.CONTROL if token in specials else kinds.NORMAL for token in tokens])
    merges = tokenizer["model"]["merges"]
    out.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    out.add_bos_token_id(0)
    out.add_pad_token_id(0)
    out.add_eos_token_id(2)
    out.add_add_bos_token(False)
    out.add_chat_template(read(model, "tokenizer_config.json")["chat_template"])
    return np.array([not printable(token, specials) for token in tokens])


def write_sizes(out: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    """What config.json says of the model."""
    out.add_name("tiny")
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(config["num_attention_heads"])
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_rope_freq_base(config["rope_theta"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_file_type(gguf.LlamaFileType.ALL_F32)


def convert(model: Path, path: Path) -> None:
    """Write the whole file."""
    config = read(model, "config.json")
    out = gguf.GGUFWriter(path, "qwen2")
    write_sizes(out, config)
    silent = write_vocabulary(out, model)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config["num_hidden_layers"])
    for name, weights in load_file(model / "model.safetensors").items():
        if name == "lm_head.weight":
            weights[silent] = 0
        out.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), weights.astype(np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make_gguf.py MODEL OUT.gguf")
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
