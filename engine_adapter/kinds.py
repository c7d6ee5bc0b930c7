"""Every kind of engine there is an adapter for: a new one is added here, and found by asking."""

from collections.abc import Mapping
from typing import Final

from engine_adapter.engine import Engine
from engine_adapter.llamacpp import LlamaCpp
from engine_adapter.openai import OpenAI
from engine_adapter.sglang import SGLang
from engine_adapter.trtllm import TrtLlm
from engine_adapter.vllm import VLLM

ENGINES: Final[tuple[Engine, ...]] = (SGLang(), LlamaCpp(), VLLM(), TrtLlm())
"""In the order they are asked. An engine not yet recognised is watched as the first of them."""

KINDS: Final[Mapping[str, Engine]] = {engine.kind: engine for engine in (*ENGINES, OpenAI())}
"""All by name, those included that are only there where they are configured."""


def kind_of(url: str, told: Mapping[str, str]) -> Engine | None:
    """The configured kind of the engine at a URL (or of all, "*"); None: to be found out."""
    name = told.get(url) or told.get("*")
    return KINDS[name] if name is not None else None
