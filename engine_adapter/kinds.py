"""Every kind of engine there is an adapter for: a new one is added here, and found by asking."""

from typing import Final

from engine_adapter.engine import Engine
from engine_adapter.sglang import SGLang

ENGINES: Final[tuple[Engine, ...]] = (SGLang(),)
"""In the order they are asked. An engine not yet recognised is watched as the first of them."""
