"""Reading an engine's answers: JSON in the shape that is read, Prometheus samples, a list of models.

One idea: whatever is wrong with an answer is an EngineError that names engine and path in one line.
"""

import re
from collections.abc import Collection
from typing import Final, TypeVar

import msgspec

from engine_adapter.engine import Additions
from engine_adapter.usage_option import usage_option
from prefix.errors import EngineError

T = TypeVar("T")

USAGE_PATHS: Final = frozenset({"/v1/chat/completions", "/v1/completions"})
"""APIs whose streams tell their usage when `stream_options` asks for it."""


def decode(payload: bytes, decoder: msgspec.json.Decoder[T], what: str) -> T:
    """An answer in the shape we read, or EngineError with the first thing that is wrong. what: `kind /path`."""
    try:
        return decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EngineError(f"{what}: {str(error).splitlines()[0]}") from error


class Meta(msgspec.Struct):
    """What llama.cpp says of a model: the context of one slot."""

    n_ctx: int | None = None


class ListedModel(msgspec.Struct):
    """One entry of /v1/models. owned_by tells the kind of the engine."""

    id: str
    owned_by: str | None = None
    max_model_len: int | None = None
    parent: str | None = None
    meta: Meta | None = None


class ModelList(msgspec.Struct):
    """The answer at /v1/models."""

    data: tuple[ListedModel, ...]


_MODELS: Final = msgspec.json.Decoder(ModelList)


def listed(models: bytes, kind: str) -> tuple[ListedModel, ...]:
    """The entries of /v1/models, base models before their adapters. Raises EngineError."""
    return tuple(
        sorted(decode(models, _MODELS, f"{kind} /v1/models").data, key=lambda model: model.parent is not None)
    )


def owned_by(models: bytes, owners: Collection[str]) -> bool:
    """Whether the answer at /v1/models is of one of these owners; never raises."""
    try:
        return any(model.owned_by in owners for model in listed(models, "an engine"))
    except EngineError:
        return False


def sample(page: bytes, name: bytes) -> float | None:
    """The sum of a metric's samples on a page in the Prometheus text format, over all its labels; None: none."""
    found = re.findall(rb"^%s(?:\{[^}\n]*\})? ([0-9.eE+-]+)$" % re.escape(name), page, re.MULTILINE)
    return sum(map(float, found)) if found else None


def label(page: bytes, metric: bytes, name: bytes) -> str | None:
    """The value of one label of a metric's first sample; None when there is none."""
    found = re.search(rb'^%s\{[^}\n]*\b%s="([^"\n]*)"' % (re.escape(metric), re.escape(name)), page, re.MULTILINE)
    return found[1].decode(errors="replace") if found else None


def whole(value: float | None) -> int | None:
    """A count as an integer."""
    return None if value is None else round(value)


def usage_additions(path: str, stream: bytes | None, stream_options: bytes | None) -> Additions:
    """Ask a stream for its usage, where the API takes `stream_options`."""
    if path not in USAGE_PATHS:
        return Additions({}, hide_usage=False)
    option = usage_option(stream, stream_options)
    members = {} if option.replacement is None else {"stream_options": option.replacement}
    return Additions(members, hide_usage=option.hide)
