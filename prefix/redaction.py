"""A request body without what was said in it: every text, number and name of its prompt is obscured, its shape stays.

Nothing passes because it looks harmless: a text is kept only where the APIs have a fixed word for it (`role: user`,
`type: text`) and it is that word; a key only when it is one of the APIs' or of JSON Schema. Everything outside of
the prompt that is a text goes too, but the model's name. Numbers outside of the prompt are settings, and stay. So
the body is still a request: of the same size, with the same turns, tools and marks, and parts from others where the
first did.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final, Literal, Protocol

from prefix.divergence import MEMBERS

Redact = Literal["none", "hash", "mask"]

_PROMPT: Final = frozenset(chain.from_iterable(MEMBERS))
_WORDS: Final = frozenset(
    "system developer user assistant tool function text input_text output_text refusal image image_url "
    "input_image audio input_audio video video_url file input_file document tool_use tool_result server_tool_use "
    "thinking redacted_thinking reasoning summary_text message function_call function_call_output item_reference "
    "ephemeral persistent base64 url content auto none any required low high medium minimal object string number "
    "integer boolean array null json_object json_schema completed in_progress incomplete custom image/png "
    "image/jpeg image/gif image/webp application/pdf text/plain 5m 1h".split()
)
"""What the APIs have fixed words for."""
_AT: Final = frozenset(
    "role type detail status media_type ttl tool_choice effort reasoning_effort verbosity service_tier".split()
)
_KEYS: Final = _PROMPT | frozenset(
    "role content type text name function id index arguments parameters description properties required items enum "
    "const default anyOf oneOf allOf not $ref $defs definitions additionalProperties title format minimum maximum "
    "minLength maxLength minItems maxItems pattern examples strict input output source media_type data image_url url "
    "detail input_audio file file_id cache_control ttl tool_calls tool_call_id tool_use_id call_id is_error thinking "
    "signature citations reasoning reasoning_content summary encrypted_content refusal annotations status "
    "input_schema custom function_call tool_choice effort include_usage customer route prompt_version "
    "enable_thinking temperature top_p top_k max_new_tokens stop schema json_schema".split()
)


class Form(Protocol):
    """How texts are obscured: prefix.obscure, prefix.masked."""

    def text(self, text: str) -> str: ...

    def number(self, number: float, before: str = "", /) -> int | float: ...

    def label(self, name: str) -> str: ...


def redacted(body: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """The parsed body in this form. Nested no deeper than a gateway lets pass (prefix.frame)."""
    return {name: _member(name, value, form) for name, value in body.items()}


def _member(name: str, value: Any, form: Form) -> Any:
    if name == "model" and isinstance(value, str):
        return value
    return _obscured(value, name, form, in_prompt=name in _PROMPT)


def _obscured(value: Any, key: str, form: Form, *, in_prompt: bool) -> Any:
    """A value under this key, however deep."""
    if isinstance(value, str):
        return value if key in _AT and value in _WORDS else form.text(value)
    if isinstance(value, dict):
        return _object(value, form, in_prompt=in_prompt)
    if isinstance(value, list):
        if in_prompt and value and type(value[0]) is int:
            return _ids(value, form)
        return [_obscured(item, key, form, in_prompt=in_prompt) for item in value]
    return form.number(value) if in_prompt and type(value) in (int, float) else value


def _object(value: Mapping[str, Any], form: Form, *, in_prompt: bool) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, item in value.items():
        name = key if key in _KEYS else form.text(key)
        while name in made:
            name += "_"
        made[name] = _obscured(item, key, form, in_prompt=in_prompt)
    return made


def _ids(ids: list[Any], form: Form) -> list[Any]:
    """Token ids are text: each with the two before it, as words are."""
    before = ["", "", *map(str, ids)]
    return [
        form.number(item, f"{one}\0{two}") if type(item) is int else _obscured(item, "", form, in_prompt=True)
        for item, one, two in zip(ids, before, before[1:], strict=False)
    ]
