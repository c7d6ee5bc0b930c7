"""lint.traffic.logged: what logs say beside the bodies, under whatever name."""

from typing import Any

import pytest

from lint.traffic.logged import Logged, logged, told

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
USAGE = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}
COUNTED: dict[str, Any] = {"input_tokens": 9, "cached_tokens": 4}
AT = 1_772_532_847.0


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ({}, {}),
        ({"response": {"usage": USAGE, "choices": []}}, {"answer": {"usage": USAGE, "choices": []}, **COUNTED}),
        ({"response": {"status_code": 200, "body": {"usage": USAGE}}}, {"answer": {"usage": USAGE}, **COUNTED}),
        ({"output": "Hello"}, {"answer": "Hello"}),
        ({"usage": {"input_tokens": 5, "cache_read_input_tokens": 7}}, {"input_tokens": 12, "cached_tokens": 7}),
        ({"input_tokens": 9, "cached_tokens": 0}, {"input_tokens": 9, "cached_tokens": 0}),
        ({"worker": "w1"}, {"worker": "w1"}),
        ({"server": {"name": "x"}, "worker_id": 0}, {"worker": "0"}),
        ({"metadata": {"replica": 3, "session_id": "s"}}, {"worker": "3", "session": "s"}),
        ({"started": AT, "ttft_s": 0.5, "duration_s": 2}, {"started": AT, "first": AT + 0.5, "ended": AT + 2}),
        ({"timestamp": AT * 1000}, {"started": AT}),
        ({"created_at": "yesterday", "startTimeUnixNano": str(int(AT * 1e9))}, {"started": AT}),
        ({"startTime": "2026-03-03T10:14:07Z", "endTime": "2026-03-03T10:14:08Z"}, {"started": AT, "ended": AT + 1}),
        ({"created_at": "2026-03-03T10:14:07"}, {"started": AT}),
        ({"timestamp": "yesterday", "usage": "much", "worker": ["x"], "session": ""}, {}),
        ({"time": True, "ttft_s": "soon"}, {}),
    ],
)
def test_names(beside: dict[str, Any], expected: dict[str, Any]) -> None:
    """Answers, usage, times and workers of gateways, batch files and tracing exports; what is not there is None."""
    assert logged(BODY, {"request": BODY, **beside}) == Logged(BODY, **expected)


def test_a_body_alone() -> None:
    """What a log wrote into the body itself is read, but not what its own objects say."""
    body = {**BODY, "metadata": {"worker": "w1"}, "timestamp": AT, "response": {"usage": USAGE}}
    assert logged(body, body) == Logged(body, AT, answer={"usage": USAGE}, **COUNTED)
    assert logged(BODY) == logged(BODY, BODY) == Logged(BODY)


def test_what_is_kept() -> None:
    """All but texts."""
    kept = Logged(BODY, AT, worker="w", answer="Hello").without_texts()
    assert kept == Logged({}, AT, worker="w")


def test_told() -> None:
    """What rules may ask for."""
    assert told(Logged(BODY)) == frozenset()
    everything = Logged(BODY, 2.0, cached_tokens=0, worker="w", answer="x")
    assert told(everything) == {"answers", "reported cached tokens", "times", "workers"}
