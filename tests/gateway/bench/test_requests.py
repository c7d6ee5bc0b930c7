"""gateway.bench.requests: bodies that engines take, and recorded ones with only what was asked for spliced in."""

import msgspec
import pytest

from engine_adapter.simulated_asks import Api
from engine_adapter.simulated_bodies import read_ask
from gateway.apis import CHAT, COMPLETIONS, GENERATE, MESSAGES
from gateway.bench.requests import PATHS, TraceText, check_salt, is_measurable, probe_body, recorded_body, trace_body
from prefix.errors import ConfigError, TraceError
from prefix.trace import TraceRequest

TURN = TraceRequest(0, 64, 20, (1, 2, 3, 4))
RAW = b'{"model" : "m", "messages": [], "temperature": 1.0e0}'


@pytest.mark.parametrize(("api", "ask"), [("chat", "chat"), ("completions", "completion"), ("generate", "generate")])
def test_engines_read_what_the_trace_means(api: str, ask: Api) -> None:
    """The prompt's length within a template's few tokens, the answer's to the token, whatever the model would say."""
    body = trace_body(TURN, 0, TraceText(api, "m", 16), "k ")
    prompt = read_ask(ask, body).prompts[0]
    assert prompt.tokens == pytest.approx(64, abs=24)
    assert (prompt.max_tokens, prompt.ignore_eos) == (20, True)


@pytest.mark.parametrize("api", list(PATHS))
def test_every_api_is_asked_for_a_stream(api: str) -> None:
    """With usage where that has to be asked for; a probe is of the same form, for one token."""
    for body in (trace_body(TURN, 0, TraceText(api, "m", 16, 2), ""), probe_body(TraceText(api, "m", 16))):
        read = msgspec.json.decode(body)
        assert read["stream"] is True
        assert ("stream_options" in read) == (api in ("chat", "completions"))
        assert ("model" in read) == (api != "generate")


def test_no_ignore_eos_leaves_the_field_out() -> None:
    """Hosted servers refuse fields that they do not know."""
    for api in PATHS:
        assert b"ignore_eos" not in trace_body(TURN, 0, TraceText(api, "m", 16, 1, ignore_eos=False), "")


def test_a_recorded_body_keeps_its_bytes() -> None:
    """As it is where nothing is asked; else by offset, every other byte unchanged."""
    assert recorded_body(RAW, CHAT, model=None, salt=None, stream=False, where="f:1") is RAW
    changed = recorded_body(RAW, CHAT, model="n", salt="s", stream=True, where="f:1")
    assert changed.endswith(b'"model" : "n", "messages": [], "temperature": 1.0e0}')
    assert {"stream", "stream_options", "cache_salt"} <= msgspec.json.decode(changed).keys()


def test_a_captured_stream_is_asked_for_its_usage() -> None:
    """A client that did not want it is measured all the same; one that did not stream goes on so."""
    raw = b'{"model":"m","prompt":"p","stream":true}'
    assert b'"include_usage":true' in recorded_body(raw, COMPLETIONS, model=None, salt=None, stream=False, where="")
    whole = raw.replace(b"true", b"false")
    assert recorded_body(whole, COMPLETIONS, model=None, salt=None, stream=True, where="") == whole


def test_what_cannot_be_sent_is_refused() -> None:
    """With its place; a salt where the API has no field for one."""
    with pytest.raises(TraceError, match="f:3: not a request body"):
        recorded_body(b"{", CHAT, model=None, salt=None, stream=False, where="f:3")
    with pytest.raises(ConfigError, match="no field for a salt"):
        check_salt([CHAT, MESSAGES])
    check_salt([CHAT, GENERATE])
    assert [is_measurable(path) for path in (CHAT, "/v1/embeddings", "/v1/messages/count_tokens", "/x")] == [
        True,
        False,
        False,
        False,
    ]
