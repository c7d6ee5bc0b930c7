"""gateway.diagnose.hardware: arithmetic that can be done by hand, and files that say what is wrong with them."""

from pathlib import Path

import pytest

from gateway.diagnose.hardware import Catalog
from prefix.errors import ConfigError


def test_llama_70b_on_four_h100() -> None:
    """KV bytes a token, prefill at best, and a decode step that reads all weights once."""
    hardware = Catalog.load().hardware("llama-3.1-70b", "h100-sxm", 4)
    assert hardware.model.kv_token_bytes == 2 * 80 * 8 * 128 * 2
    timing = hardware.timing()
    assert timing.prefill_tokens_per_s == pytest.approx(4 * 989e12 / 141.2e9)
    assert timing.decode_step_s == pytest.approx(141.2e9 / (4 * 3.35e12))
    assert hardware.kv_room_tokens() == pytest.approx((0.9 * 320e9 - 141.2e9) / 327_680)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"model": "llama-3.1-8b", "gpu": "abacus"}', "abacus.*h100-sxm"),
        ('{"model": {"parameters": 0}, "gpu": "l40s"}', "model"),
        ('{"model": "llama-3.1-8b", "gpu": "l40s", "tpp": 2}', "tpp"),
        ("{", "truncated"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, says: str) -> None:
    """The line names what is wrong."""
    path = tmp_path / "ours.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        Catalog.load().read(path)


def test_a_file_of_names_and_descriptions(tmp_path: Path) -> None:
    """Either may be a preset's name."""
    path = tmp_path / "ours.json"
    path.write_text('{"model": "qwen2.5-7b", "gpu": {"flops": 1e14, "bandwidth": 1e12, "memory": 5e10}, "tp": 2}')
    hardware = Catalog.load().read(path)
    assert (hardware.tp, hardware.gpu.flops, hardware.model.kv_heads) == (2, 1e14, 4)
