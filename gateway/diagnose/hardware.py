"""What a model costs on its accelerators by arithmetic: prefill by FLOPs, decode by bytes.

One idea (the roofline of Williams et al., 2009): a prompt token costs 2 FLOPs per weight, plus 4 per layer, head
dimension, head and token of context for attention; a decode step reads all weights once and the keys and values of
every running token. These are lower bounds of time: engines reach a share of them, which the fit of the twin finds.
Dense models only; a mixture of experts reads fewer weights than it has.
"""

from pathlib import Path
from typing import Annotated, Final, Self

import msgspec

from engine_adapter.engine_timing import PROFILES, Timing
from prefix.errors import ConfigError

_PRESETS: Final = Path(__file__).with_name("presets.json")
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dense transformer. Bytes are per value: 2 for BF16, 1 for FP8."""

    parameters: Positive
    layers: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    weight_bytes: Positive = 2.0
    kv_bytes: Positive = 2.0
    source: str = "given"

    @property
    def kv_token_bytes(self) -> float:
        """Keys and values of one token, over all layers."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.kv_bytes

    @property
    def weights(self) -> float:
        """Bytes of all weights."""
        return self.parameters * self.weight_bytes


class Gpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One accelerator: dense BF16 FLOPs a second, bytes a second and bytes of its memory."""

    flops: Positive
    bandwidth: Positive
    memory: Positive
    source: str = "given"


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model on `tp` accelerators."""

    model: Model
    gpu: Gpu
    tp: Count = 1

    def timing(self) -> Timing:
        """The roofline. What no arithmetic gives (launches, sampling) is as in the engine model's `8b`."""
        model, gpu, usual = self.model, self.gpu, PROFILES["8b"]
        flops, bandwidth = gpu.flops * self.tp, gpu.bandwidth * self.tp
        attention = 4 * model.layers * model.heads * model.head_dim
        return Timing(
            prefill_tokens_per_s=flops / (2 * model.parameters),
            attention_tokens=2 * model.parameters / attention,
            prefill_step_s=usual.prefill_step_s,
            decode_step_s=model.weights / bandwidth,
            decode_request_s=usual.decode_request_s,
            decode_token_s=model.kv_token_bytes / bandwidth,
        )

    def kv_room_tokens(self) -> float:
        """Tokens whose keys and values fit beside the weights, with nine tenths of the memory used; 0: none."""
        return max(0.0, 0.9 * self.gpu.memory * self.tp - self.model.weights) / self.model.kv_token_bytes


class _Presets(msgspec.Struct):
    about: str
    models: dict[str, Model]
    gpus: dict[str, Gpu]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    model: str | Model
    gpu: str | Gpu
    tp: Count = 1


class Catalog:
    """The presets, by name."""

    def __init__(self, presets: _Presets) -> None:
        self.models, self.gpus = presets.models, presets.gpus

    @classmethod
    def load(cls) -> Self:
        """As shipped."""
        return cls(msgspec.json.decode(_PRESETS.read_bytes(), type=_Presets))

    def hardware(self, model: str, gpu: str, tp: int) -> Hardware:
        """A pair of presets. Raises ConfigError for a name that is none."""
        for name, known, what in ((model, self.models, "model"), (gpu, self.gpus, "gpu")):
            if name not in known:
                raise ConfigError(f"no preset {what} {name!r}: there are {', '.join(known)}; or give --model-file")
        return Hardware(self.models[model], self.gpus[gpu], tp)

    def read(self, path: Path) -> Hardware:
        """A file: {"model": name or description, "gpu": name or description, "tp": 1}. Raises ConfigError."""
        try:
            given = msgspec.json.decode(path.read_bytes(), type=_File)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}") from None
        except msgspec.DecodeError as error:
            raise ConfigError(f"{path}: {error}") from None
        model, gpu = given.model, given.gpu
        if isinstance(model, str):
            model = self.hardware(model, next(iter(self.gpus)), 1).model
        if isinstance(gpu, str):
            gpu = self.hardware(next(iter(self.models)), gpu, 1).gpu
        return Hardware(model, gpu, given.tp)
