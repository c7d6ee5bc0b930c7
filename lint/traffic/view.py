"""The view of a prompt (prefix.divergence), written by msgspec: a log has it written three times a request.

The bytes are the same but for how numbers with an exponent are spelled, and it is one spelling for all of a log. What
msgspec cannot write (lone surrogates, numbers of more than 64 bits, what is nested too deep) prefix.divergence does.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from prefix.divergence import prompt_members, view_bytes

_encode = msgspec.json.Encoder().encode


def view(body: Mapping[str, Any]) -> bytes:
    """The view of one body. Raises BodyError when it is no parsed JSON."""
    try:
        return _encode(prompt_members(body))
    except (UnicodeEncodeError, OverflowError, RecursionError, TypeError, ValueError):
        return view_bytes(body)
