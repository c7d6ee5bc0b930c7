"""prefix.capture: a line says how a request went and holds its body, or what may be left of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from lint.traffic.reading import Tally, logged_requests
from prefix.capture import VERSION, line_of, parse_line
from prefix.errors import TraceError
from prefix.obscure import Hashed
from prefix.redaction import Redact
from tests.gateway.test_access_log import record

FORM = Hashed(b"key")
KNOWN: dict[str, Any] = {
    "started": 1_700_000_000.25,
    "route": "shop",
    "customer": "acme",
    "prompt_version": "v7",
    "worker": "http://127.0.0.1:30000",
    "input_tokens": 100,
    "cached_tokens": 64,
    "output_tokens": 5,
    "ttft_s": 0.25,
    "uncached_by_reason": {"new": 36},
}
RAW = b'{"model": "m", "n": 1.50,\r\n "messages": [{"role": "user", "content": "Hi Eve\\n"}]}\n'


def line(redact: Redact = "none", raw: bytes = RAW, **more: Any) -> bytes:
    """A line of a capture."""
    return line_of(record(**KNOWN | more), "s1", raw, redact, FORM)


def test_a_line_is_read_as_it_was_written() -> None:
    """All that a replay needs; the body is the client's, but for the ends of lines between its members."""
    capture = parse_line(line(), "f:1")
    assert (capture.v, capture.started, capture.path, capture.route) == (
        VERSION,
        1_700_000_000.25,
        "/v1/chat/completions",
        "shop",
    )
    assert (capture.customer, capture.session, capture.prompt_version) == ("acme", "s1", "v7")
    assert (capture.input_tokens, capture.cached_tokens, capture.output_tokens) == (100, 64, 5)
    assert (capture.ttft_s, capture.duration_s, capture.uncached_by_reason) == (0.25, 0.5, {"new": 36})
    assert bytes(capture.request) == RAW.replace(b"\r\n", b"  ").strip()
    assert capture.body() == json.loads(RAW)


def test_what_is_unknown_is_not_there() -> None:
    """And is not zero when it is read."""
    unknown = line(cached_tokens=None, ttft_s=None, worker=None, uncached_by_reason=None)
    assert b"cached_tokens" not in unknown
    capture = parse_line(unknown, "f:1")
    assert (capture.cached_tokens, capture.ttft_s, capture.uncached_by_reason) == (None, None, None)


@pytest.mark.parametrize("redact", ["hash", "mask"])
def test_a_redacted_line_names_nobody(redact: Redact) -> None:
    """Nor what was said; the same customer is the same."""
    made = line(redact)
    assert not [word for word in (b"Eve", b"Hi", b"acme", b"s1") if word in made]
    assert parse_line(made, "f:1").customer == parse_line(line(redact, request_id="8"), "f:2").customer
    assert parse_line(made, "f:1").redact == redact


def test_the_linter_reads_it(tmp_path: Path) -> None:
    """Body, times, tokens, worker and session, under the names that it knows."""
    file = tmp_path / "c.jsonl"
    file.write_bytes(line() + b"\n" + line("hash") + b"\n")
    tally = Tally()
    with file.open("rb") as stream:
        found = [logged for _, logged in logged_requests("c.jsonl", stream, tally)]
    assert (tally.bad, tally.without_prompt, len(found)) == (0, 0, 2)
    for logged in found:
        assert (logged.started, logged.first, logged.ended) == (1_700_000_000.25, 1_700_000_000.5, 1_700_000_000.75)
        assert (logged.input_tokens, logged.cached_tokens) == (100, 64)
        assert logged.worker == "http://127.0.0.1:30000"
        assert logged.session
    assert found[0].body == json.loads(RAW)


@pytest.mark.parametrize(
    "bad",
    [b"", b"[]", b"{}", line()[:-9], line().replace(b'"v":1', b'"v":2'), line().replace(b'"hash"', b'"none"')[1:]],
)
def test_what_is_no_line(bad: bytes) -> None:
    """Broken off, another thing, or of a form to come: one sentence with the place."""
    with pytest.raises(TraceError, match=r"^f:3: not a line of a capture"):
        parse_line(bad, "f:3")


@pytest.mark.parametrize("raw", [b'{"n": NaN, "prompt": "a"}', b'{"prompt": "\\ud800"}'])
def test_a_body_that_not_everybody_reads_is_not_redacted(raw: bytes) -> None:
    """So it is not captured where it would have to be; unredacted it stays what it is, and no replay takes it."""
    with pytest.raises(TraceError, match="cannot be redacted"):
        line("hash", raw)
    with pytest.raises(TraceError, match="not a line of a capture"):
        parse_line(line(raw=raw), "f:1")


def test_long_labels_are_cut() -> None:
    """Model and customer are what a client says they are."""
    capture = parse_line(line(model="m" * 9999, customer="c" * 9999), "f:1")
    assert (len(capture.model), len(capture.customer)) == (256, 256)
