"""Hypothesis strategies for request bodies."""

import json
import random
from typing import Any

from hypothesis import strategies as st

NAMES = st.text("abcXYZ_-é0", min_size=1, max_size=6)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """A JSON Schema object, with property names that look like keywords and every list that must stay."""
    schema: dict[str, Any] = {"type": draw(st.sampled_from(["object", "string", ["string", "null"]]))}
    optional = {
        "description": st.text(max_size=12),
        "enum": st.lists(st.sampled_from(["b", "a", "c"]), max_size=3),
        "default": JSON,
        "examples": st.lists(JSON, max_size=2),
        "x-vendor": JSON,
        "required": st.lists(NAMES, max_size=4, unique=True),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=3), max_size=2),
        "const": JSON,
    }
    if depth:
        inner = schemas(depth - 1)
        names = st.one_of(NAMES, st.sampled_from(["required", "type", "properties", "enum"]))
        optional |= {
            "properties": st.dictionaries(names, inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "prefixItems": st.lists(inner, max_size=2),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "$defs": st.dictionaries(NAMES, inner, max_size=2),
        }
    for key in draw(st.lists(st.sampled_from(sorted(optional)), unique=True, max_size=5)):
        schema[key] = draw(optional[key])
    return schema


@st.composite
def tools(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A tools array with distinct names."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    made = []
    for name in names:
        function = {"name": name, "description": draw(st.text(max_size=8)), "parameters": draw(schemas())}
        if draw(st.booleans()):
            function["strict"] = draw(st.booleans())
        made.append({"type": "function", "function": function})
    return made


def shuffled(value: Any, rng: random.Random, *, inside: str = "schema") -> Any:
    """The same schema with keywords and set-like lists in another order, recursively."""
    if not isinstance(value, dict):
        return value
    keys = list(value)
    rng.shuffle(keys)
    return {key: _shuffled_keyword(key, value[key], rng) for key in keys}


def _shuffled_keyword(key: str, value: Any, rng: random.Random) -> Any:
    if key == "required" and isinstance(value, list):
        return rng.sample(value, len(value))
    if key == "dependentRequired" and isinstance(value, dict):
        return {name: rng.sample(names, len(names)) for name, names in value.items()}
    if key in ("properties", "$defs") and isinstance(value, dict):
        return {name: shuffled(inner, rng) for name, inner in value.items()}
    if key in ("items", "additionalProperties"):
        return shuffled(value, rng)
    if key == "anyOf":
        return [shuffled(inner, rng) for inner in value]
    return value


def shuffled_tools(tools: list[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    """The same set of tools in another order; what is inside a strict tool stays."""
    mixed = []
    for tool in rng.sample(tools, len(tools)):
        function = dict(tool["function"])
        if function.get("strict") is not True:
            function["parameters"] = shuffled(function["parameters"], rng)
        mixed.append({**tool, "function": function})
    return mixed


def dump(value: Any, indent: int | None = None) -> bytes:
    """JSON bytes as clients write them."""
    return json.dumps(value, indent=indent, ensure_ascii=False).encode()
