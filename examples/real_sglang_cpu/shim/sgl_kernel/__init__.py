"""The one function of sgl_kernel that SGLang's torch_native CPU path calls, in plain torch; the wheels are CUDA-only."""

from collections.abc import Callable

import torch

__version__ = "0.0.0+cpu.shim"


def assign_req_to_token_pool_cpu(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    start_offset: torch.Tensor,
    end_offset: torch.Tensor,
    out_cache_loc: torch.Tensor,
    *_: object,
) -> None:
    """Write each request's newly allocated KV slots into its row of the token table."""
    taken = 0
    for i, row in enumerate(req_pool_indices.tolist()):
        start, end = int(start_offset[i]), int(end_offset[i])
        req_to_token[row, start:end] = out_cache_loc[taken : taken + end - start].to(req_to_token.dtype)
        taken += end - start


def __getattr__(name: str) -> Callable[..., None]:
    """Every other kernel can be imported and says so when it is called."""
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_: object, **__: object) -> None:
        raise NotImplementedError(f"sgl_kernel.{name} is not available in the CPU shim")

    return missing
