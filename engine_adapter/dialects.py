"""The dialects a stream of events can have, and what the tap must know of each.

One idea: a dialect is a row. The name is what `StreamTap(api=...)` is given; docs/apis.md says which path has which.
"""

import re
from typing import NamedTuple

from engine_adapter.answer import Reader, read_openai, read_sglang
from engine_adapter.answer_events import read_anthropic, read_responses


class Dialect(NamedTuple):
    """content: the first generated text, reasoning or call, found in bytes that may be cut anywhere before it.
    error: bytes without which no event is an error. several: how the index of a further choice is spelled.
    hides_usage: usage can come in an event of its own, which a client may not have asked for.
    head: what the first events count is part of the usage. id: how the answer's id is first told. end: how the last
    event begins, where it repeats the whole answer and may be too long to be read.
    """

    reader: Reader
    content: re.Pattern[bytes]
    error: re.Pattern[bytes]
    several: tuple[bytes, ...] = ()
    hides_usage: bool = False
    head: bool = False
    id: re.Pattern[bytes] | None = None
    end: re.Pattern[bytes] | None = None


# A non-empty text, or a call.
_DELTA = re.compile(
    rb'"(?:content|text|reasoning_content|reasoning|refusal)"\s*:\s*"[^"]'
    rb'|"(?:tool_calls|output_ids)"\s*:\s*\[\s*[^\]\s]'
    rb'|"function_call"\s*:\s*\{'
)
# Quotes inside an answer's own words are escaped, so none of these can stand there.
_ERROR = re.compile(rb'"error"|event:')
_ERROR_EVENT = re.compile(rb'"type"\s*:\s*"error"|event:\s*error')

_OPENAI = Dialect(read_openai, _DELTA, _ERROR, (b'"index":1', b'"index": 1'), hides_usage=True)

DIALECTS = {
    "openai": _OPENAI,
    **dict.fromkeys(("vllm", "trtllm", "llamacpp"), _OPENAI),  # engines whose only dialect it is
    "sglang": Dialect(read_sglang, _DELTA, _ERROR, (b'"index"',), hides_usage=True),
    "responses": Dialect(
        read_responses,
        re.compile(rb'(?:event:\s*|"type"\s*:\s*")response\.[a-z_.]{1,40}\.delta\b'),
        _ERROR_EVENT,
        id=re.compile(rb'"response"\s*:\s*\{\s*"id"\s*:\s*"([\w.:-]{1,128})"'),
        end=re.compile(rb'(?:event:\s*|"type"\s*:\s*")response\.(?:completed|incomplete|failed|cancelled)\b'),
    ),
    "anthropic": Dialect(
        read_anthropic,
        re.compile(rb'"(?:text|thinking|partial_json)"\s*:\s*"[^"]|"type"\s*:\s*"tool_use"'),
        _ERROR_EVENT,
        head=True,
    ),
}
