"""lint.bypass: parameters with which an engine does not read its cache."""

from typing import Any

import pytest

from lint.bypass import bypass


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"prompt_logprobs": 1}, "prompt_logprobs"),
        ({"prompt_logprobs": 0}, "prompt_logprobs"),
        ({"prompt_logprobs": None}, None),
        ({"prompt_logprobs": False}, None),
        ({"prompt_logprob_token_ids": [1]}, "prompt_logprob_token_ids"),
        ({"echo": True, "logprobs": 1}, "echo"),
        ({"echo": True, "logprobs": 0}, None),
        ({"echo": True}, None),
        ({"return_logprob": True, "logprob_start_len": 0}, "logprob_start_len"),
        ({"return_logprob": True, "logprob_start_len": -1}, None),
        ({"return_logprob": True, "logprob_start_len": [0, 0]}, None),
        ({"logprob_start_len": 0}, None),
        ({"return_hidden_states": True, "logprobs": True, "top_logprobs": 5}, None),
    ],
)
def test_bypass(body: dict[str, Any], name: str | None) -> None:
    """As SGLang 0.5.23 and vLLM read them (the module cites where)."""
    found = bypass(body)
    assert (found and found.name) == name
