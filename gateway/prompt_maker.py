"""A model's prompts as its engines make them: its chat template, then its tokenizer."""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from gateway.apis import CHAT, COMPLETIONS, GENERATE
from gateway.kv_settings import PromptFiles
from gateway.prepared import Prepared
from gateway.rendering import Rendering, find_template
from gateway.tokenizing import Tokenizing
from prefix.errors import PromptError

_UNTOLD: Final = ("extra_key", "lora_path", "lora_request")
"""Members that put a prompt in a namespace that events do not tell."""


class PromptMaker:
    """One model's template and tokenizer. Raises ConfigError for files that cannot be used."""

    def __init__(self, files: PromptFiles) -> None:
        path = Path(files.tokenizer)
        folder = path if path.is_dir() else path.parent
        self.tokenizing = Tokenizing(path / "tokenizer.json" if path.is_dir() else path)
        template = find_template(folder, files.chat_template)
        self._rendering = None if template is None else Rendering(template)

    def prompt(self, prepared: Prepared) -> tuple[str, bool] | Sequence[int]:
        """The text, and whether the tokenizer adds BOS; or its token ids. Raises PromptError."""
        body, path = prepared.body, prepared.api.path
        for name in _UNTOLD:
            if name in body and body.value(name) is not None:
                raise PromptError(f"has {name}")
        if path == CHAT:
            if self._rendering is None:
                raise PromptError("the model has no chat template")
            members = {name: body.value(name) for name in body.spans if name != "tools"}
            return self._rendering.chat(members, _tools(prepared)), False
        given = None
        if path == COMPLETIONS:
            given = body.value("prompt")
        elif path == GENERATE:
            given = body.value("input_ids") if "input_ids" in body else body.value("text")
        if type(given) is str:
            return given, True
        if type(given) is list and given and all(type(each) is int and 0 <= each < 1 << 32 for each in given):
            return given
        raise PromptError(f"{path}: not one text, nor token ids")


def _tools(prepared: Prepared) -> Sequence[Any] | None:
    """As they are sent."""
    span = prepared.body.spans.get("tools")
    if span is None:
        return None
    raw = prepared.replacements.get(span) if prepared.replacements else None
    tools = _parsed(raw or prepared.body.slice("tools") or b"null")
    return tools if type(tools) is list else None


@lru_cache(maxsize=256)
def _parsed(tools: bytes) -> Any:
    return json.loads(tools)
