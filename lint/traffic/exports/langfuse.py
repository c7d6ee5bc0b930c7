"""Langfuse: generations, as its API, its blob storage export and its UI write them, in JSON, JSONL or CSV.

Fields of `observations_v2/`: langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields (snake case,
`input`, `model_parameters` and times as text); the API and the UI say the same in camel case, the API in pages with
`data`, a trace with `observations`. Observations that are no generation (spans, tools, embeddings) have no prompt of
their own. Usage: `input` leaves out what is counted as cached beside it (`input_cached_tokens`, as Langfuse maps
OpenAI's, and Anthropic's own names).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lint.traffic.exports.given import given, members, prompt
from lint.traffic.logged import Logged, logged
from prefix.envelope import has_prompt

_MARKS: Final = frozenset(
    (
        *("usage_details", "usageDetails", "provided_model_name", "providedModelName", "parent_observation_id"),
        *("parentObservationId", "modelParameters", "observations", "promptTokens", "traceId", "trace_id"),
    )
)
_TYPES: Final = tuple("GENERATION SPAN EVENT AGENT TOOL CHAIN RETRIEVER EVALUATOR EMBEDDING GUARDRAIL".split())
_CACHED: Final = ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read", "input_cached")
_WRITTEN: Final = ("cache_creation_input_tokens", "input_cache_creation")


def is_export(value: Mapping[str, Any]) -> bool:
    """An observation, a trace with its observations, or a page of them."""
    if isinstance(value.get("data"), list) and "meta" in value:
        return True
    if "input" not in value and "observations" not in value:
        return False
    kind = value.get("type")
    return (isinstance(kind, str) and kind in _TYPES) or not _MARKS.isdisjoint(value)


def requests_of(value: Mapping[str, Any]) -> Iterator[Logged | None]:
    """The generations in it; None for what is none."""
    rows = value.get("observations", value.get("data"))
    if not isinstance(rows, list):
        yield _generation(value)
        return
    for row in rows:
        if isinstance(row, dict):
            yield from requests_of(row) if is_export(row) else (None,)


def _generation(row: Mapping[str, Any]) -> Logged | None:
    body = prompt(row.get("input")) if row.get("type", "GENERATION") == "GENERATION" else {}
    if not has_prompt(body):
        return None
    model = row.get("provided_model_name") or row.get("providedModelName") or row.get("model")
    parameters = members(row.get("model_parameters") or row.get("modelParameters"))
    tools = _tools(row.get("tool_definitions") or row.get("toolDefinitions"))
    beside = {**({"model": model} if model else {}), **parameters, **({"tools": tools} if tools else {})}
    usage = members(row.get("usage_details") or row.get("usageDetails"))
    found = logged({**beside, **body}, row)
    tokens = _tokens(usage)
    return found if tokens is None else found._replace(input_tokens=tokens[0], cached_tokens=tokens[1])


def _tools(definitions: Any) -> list[Any]:
    """Each by its name, its definition often as text."""
    return [given(definition) for definition in members(definitions).values()]


def _tokens(usage: Mapping[str, Any]) -> tuple[int, int | None] | None:
    plain = usage.get("input")
    if not isinstance(plain, int):
        return None
    cached = [usage[name] for name in _CACHED if isinstance(usage.get(name), int)]
    written = [usage[name] for name in _WRITTEN if isinstance(usage.get(name), int)]
    return plain + max(cached, default=0) + max(written, default=0), max(cached, default=None)
