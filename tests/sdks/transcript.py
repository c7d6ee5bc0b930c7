"""A transcript of what a program saw: results and raised errors in order, without what differs from call to call."""

import json
import re
from collections.abc import Awaitable, Callable
from itertools import groupby
from typing import Any

from pydantic import BaseModel

_ID = re.compile(
    r"(?:(?:resp|msg|call|fc|toolu)_|chatcmpl-|run-+|lc_run-+)?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"
    r"|resp_[A-Za-z0-9+/]{60,}=*"  # litellm packs ids of others into its own
)
_RUNNING = ("content", "delta", "text", "snapshot", "parsed", "")
_TIME = re.compile(r'"(created|created_at|completed_at)": ?[0-9.]+')
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost):\d+")


class Transcript:
    """Steps by name, in order: what each gave, or what it raised."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, Any]] = []

    async def step(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run one step; its result, or None when it raised."""
        try:
            result = await call()
        except Exception as error:
            self.steps.append((name, raised(error)))
            return None
        self.steps.append((name, normal(result)))
        return result

    def raises(self) -> dict[str, str]:
        """The steps that raised: name -> class of the error."""
        return {name: seen["raised"] for name, seen in self.steps if isinstance(seen, dict) and "raised" in seen}


def raised(error: Exception) -> dict[str, Any]:
    """What a program can tell an error by."""
    known = {name: getattr(error, name, None) for name in ("status_code", "code", "type", "param", "body")}
    seen: dict[str, Any] = normal({"raised": type(error).__name__, "says": str(error), **known})
    return seen


def normal(value: Any) -> Any:
    """Plain data with ids, times and addresses blanked."""
    return json.loads(blanked(json.dumps(value, default=_plain, sort_keys=True)))


def blanked(text: str) -> str:
    """Text with ids, times and addresses blanked."""
    return _TIME.sub(r'"\1": 0', _ID.sub("ID", _HOST.sub("HOST", text)))


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", warnings=False) if isinstance(value, BaseModel) else repr(type(value))


def merged(steps: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Steps in which events of a stream stand merged: engines send one token an event, or two that came together."""
    return [(name, _merged(seen) if isinstance(seen, list) else seen) for name, seen in steps]


def _merged(events: list[Any]) -> dict[str, Any]:
    texts: dict[str, str] = {}
    return {"kinds": _kinds(events, texts, ""), "texts": texts}


def _kinds(values: list[Any], texts: dict[str, str], key: str) -> list[Any]:
    kinds = [_kind(value, texts, key) for value in values]
    return [kind for kind, _ in groupby(kinds)]


def _kind(value: Any, texts: dict[str, str], key: str = "") -> Any:
    """What an event is but for its running texts and numbers, which go to `texts`."""
    if isinstance(value, dict):
        return {name: _kind(inner, texts, name) for name, inner in value.items() if name != "sequence_number"}
    if isinstance(value, list):
        return _kinds(value, texts, key)
    if isinstance(value, str) and key in _RUNNING:
        texts[key] = texts.get(key, "") + value
        return "text"
    return value
