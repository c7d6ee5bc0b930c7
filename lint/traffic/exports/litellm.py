"""LiteLLM: the standard logging payload (S3, GCS, generic API, callbacks), its kwargs, and rows of spend logs.

Read in litellm 1.110.2: types/utils.py StandardLoggingPayload (messages beside model_parameters, which holds tools),
integrations/s3.py (the payload is the object), proxy/_types.py SpendLogsPayload (`messages` is "{}" for calls over
HTTP: the request body is in `proxy_server_request`, as text) and proxy/spend_tracking/spend_tracking_utils.py.
Messages that were switched off are the text "redacted-by-litellm".
"""

from collections.abc import Mapping
from typing import Any, Final

from lint.traffic.exports.given import members, prompt
from lint.traffic.logged import Logged, logged, tokens_of
from prefix.envelope import has_prompt

_MARKS: Final = frozenset(("standard_logging_object", "model_parameters", "proxy_server_request", "optional_params"))
_REDACTED: Final = "redacted-by-litellm"
_NO_PROMPT: Final = ("embedding", "aembedding", "moderation", "amoderation", "transcription", "rerank")


def is_export(value: Mapping[str, Any]) -> bool:
    """A payload, a spend log or kwargs."""
    return not _MARKS.isdisjoint(value) and "input" not in value


def request_of(value: Mapping[str, Any], envelope: Mapping[str, Any] | None = None) -> Logged | None:
    """The request of one record; None when its prompt was not kept, or there is none."""
    payload = members(value.get("standard_logging_object")) or value
    if payload.get("call_type") in _NO_PROMPT:
        return None
    body = _body(payload, value)
    if not has_prompt(body):
        return None
    found = logged(body, payload, *(() if envelope is None else (envelope,)))
    usage = tokens_of(members(members(payload.get("metadata")).get("usage_object")))
    return found if usage is None else found._replace(input_tokens=usage[0], cached_tokens=usage[1])


def _body(payload: Mapping[str, Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    sent = members(payload.get("proxy_server_request"))
    sent = members(sent.get("body")) or sent
    if has_prompt(sent):
        return prompt(sent)
    said = payload.get("messages")
    if not said or said == _REDACTED or has_prompt(said if isinstance(said, dict) else {}):
        return prompt(said) if isinstance(said, dict) else {}
    parameters = members(payload.get("model_parameters")) or members(kwargs.get("optional_params"))
    model = {"model": payload["model"]} if "model" in payload else {}
    return {**model, **parameters, **prompt(said)}
