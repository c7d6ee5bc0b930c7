"""gateway.errors: every code the gateway answers by itself, in one shape."""

import re
from pathlib import Path

import msgspec
import pytest

import gateway
from gateway.errors import TABLE, Refusal
from prefix.errors import BodyError

SOURCES = [path.read_text(encoding="utf-8") for path in Path(gateway.__file__).parent.rglob("*.py")]


@pytest.mark.parametrize("code", TABLE)
def test_every_code_has_the_shape_of_an_openai_error(code: str) -> None:
    """message, type, param, code; the length in the headers is that of the body."""
    refusal = Refusal(code, param="/x")
    error = msgspec.json.decode(refusal.body())["error"]
    assert list(error) == ["message", "type", "param", "code"]
    assert (error["code"], error["param"]) == (code, "/x")
    assert "\n" not in error["message"]
    assert 400 <= refusal.kind.status < 600
    headers = dict(refusal.headers())
    assert headers[b"content-length"] == str(len(refusal.body())).encode()
    assert (b"retry-after" in headers) is (refusal.kind.retry_after is not None)
    assert (b"www-authenticate" in headers) is (refusal.kind.status == 401)


def test_client_errors_and_ours_are_told_apart_by_type() -> None:
    """A 4xx is the client's, a 5xx is not."""
    for kind in TABLE.values():
        assert (kind.type == "api_error") is (kind.status >= 500)


@pytest.mark.parametrize("code", TABLE)
def test_every_code_is_used(code: str) -> None:
    """No dead entry: a code stands somewhere else in the package, or is one of a body's errors."""
    used = sum(len(re.findall(f'"{code}"', source)) for source in SOURCES)
    of_bodies = (Path(gateway.__file__).parents[1] / "prefix").glob("*.py")
    assert used > 1 or any(f'"{code}"' in path.read_text(encoding="utf-8") for path in of_bodies)


@pytest.mark.parametrize(
    ("error", "message", "param"),
    [
        (BodyError("invalid_json", "not JSON", offset=7), "not JSON (byte 7)", None),
        (BodyError("invalid_utf8", "not UTF-8 at byte 7", offset=7), "not UTF-8 at byte 7", None),
        (BodyError("invalid_type", "wrong", pointer="/a/0"), "wrong", "/a/0"),
        (BodyError("duplicate_key", "twice", pointer="/a", offset=0), "twice (byte 0)", "/a"),
    ],
)
def test_errors_of_bodies(error: BodyError, message: str, param: str | None) -> None:
    """The place is in the message, once, and the pointer is the param."""
    refusal = Refusal.of_body(error)
    assert (refusal.code, refusal.message, refusal.param) == (error.code, message, param)


def test_an_error_as_an_event() -> None:
    """One whole event of a stream."""
    refusal = Refusal("stream_broken")
    assert refusal.event() == b"data: " + refusal.body() + b"\n\n"


def test_allowed_methods_are_named() -> None:
    """RFC 9110 15.5.6: a 405 carries Allow."""
    assert (b"allow", b"GET, HEAD") in Refusal("method_not_allowed", allow="GET, HEAD").headers()
    assert b"allow" not in dict(Refusal("not_found").headers())
