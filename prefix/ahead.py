"""Where the conversation of a chat body lies, found by a few jumps instead of by reading the body.

Splitting a body and then parsing its messages reads the longest member twice. A reader that knows where `messages`
begins and ends reads it once and splits what is left. The end is a guess, but one that proves itself: a JSON array
has exactly one end, so the parser accepts these bytes as an array only if the guess is right. A body that does not
look like what clients send, or one with many brackets in its text, is simply split first.
"""

import re

from prefix.scan import Span

_SPACE = rb"[ \t\n\r]*"
_SHORT = rb'(?:"[^"\\]{0,256}"|[-+.\w]{1,32}|[\[{][^][{}\\]{0,256}[]}])'
_FRONT = re.compile(rb'_\{(?:_"[^"\\]{0,64}"_:_%s_,)*_"messages"_:_(?=\[)'.replace(b"_", _SPACE) % _SHORT)
"""The body up to its messages, when only short strings, scalars and flat containers stand before them."""

_NEXT = (
    "model tools functions tool_choice stream stream_options max_tokens max_completion_tokens temperature top_p "
    "top_k min_p n stop seed user metadata response_format presence_penalty frequency_penalty logprobs "
    "reasoning_effort parallel_tool_calls chat_template_kwargs cache_salt extra_body service_tier store "
    "safety_identifier prompt_cache_key system stop_sequences thinking"
)
_BEHIND = re.compile(rb'_(?:,_"(?:%s)"_:|\}_\Z)'.replace(b"_", _SPACE) % "|".join(_NEXT.split()).encode())
"""What stands behind them: the end of the body, or a member that no message has."""

_JUMPS = 64


def messages_span(raw: bytes) -> Span | None:
    """Where the array `messages` of this body lies if it is JSON at all, or None when that cannot be told cheaply.

    It is the value of the first top-level key of that name. The caller proves the end by parsing the span.
    """
    front = _FRONT.match(raw)
    if front is None:
        return None
    end = front.end()
    for _ in range(_JUMPS):
        end = raw.find(b"]", end) + 1
        if not end:
            return None
        if _BEHIND.match(raw, end) is not None:
            return Span(front.end(), end)
    return None
