"""lint.traffic.reply: what logs say beside the bodies, under whatever name."""

from typing import Any

import pytest

from lint.traffic.reply import NOTHING, Reply, reply_in, told

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
USAGE = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}
AT = 1_772_532_847.0


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ({}, Reply()),
        ({"response": {"usage": USAGE, "choices": []}}, Reply({"usage": USAGE, "choices": []}, 4, 9)),
        ({"response": {"status_code": 200, "body": {"usage": USAGE}}}, Reply({"usage": USAGE}, 4, 9)),
        ({"output": "Hello"}, Reply("Hello")),
        ({"usage": {"input_tokens": 5, "cache_read_input_tokens": 7}}, Reply(None, 7, 12)),
        ({"input_tokens": 9, "cached_tokens": 0}, Reply(None, 0, 9)),
        ({"worker": "w1"}, Reply(worker="w1")),
        ({"metadata": {"replica": 3}}, Reply(worker="3")),
        ({"started": AT, "ttft_s": 0.5, "duration_s": 2}, Reply(started=AT, first=AT + 0.5, ended=AT + 2)),
        ({"timestamp": AT * 1000}, Reply(started=AT)),
        ({"startTime": "2026-03-03T10:14:07Z", "endTime": "2026-03-03T10:14:08Z"}, Reply(started=AT, ended=AT + 1)),
        ({"created_at": "2026-03-03T10:14:07"}, Reply(started=AT)),
        ({"timestamp": "yesterday", "usage": "much", "worker": ["x"]}, Reply()),
        ({"time": True}, Reply()),
    ],
)
def test_names(beside: dict[str, Any], expected: Reply) -> None:
    """Answers, usage, times and workers of gateways, batch files and tracing exports; what is not there is None."""
    assert reply_in({"request": BODY, **beside}, BODY) == expected


def test_a_body_alone() -> None:
    """Its own members are not taken for what a log says."""
    body = {**BODY, "metadata": {"worker": "w1"}, "time": 5}
    assert reply_in(body, body) is NOTHING


def test_told() -> None:
    """What rules may ask for."""
    assert told(NOTHING) == frozenset()
    assert told(Reply("x", 0, 1, 2.0, None, None, "w")) == {"answers", "reported cached tokens", "times", "workers"}
