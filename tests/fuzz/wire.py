"""Requests as hostile bytes: whatever comes, an answer or an end, and the engine sees only unambiguous requests.

What is checked at the engine is what request smuggling needs: two lengths, a transfer coding, a header for one hop,
or a body that is longer than its length says.
"""

import socket
from collections.abc import Callable
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.server import Target

_BODY: Final = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
_LINES: Final = [
    b"content-length: %d" % len(_BODY),
    *(b"Content-Length: 5", b"content-length: +5", b"content-length: 5, 5", b"content-length: 99999999999999999999"),
    *(b"transfer-encoding: chunked", b"Transfer-Encoding: identity", b"transfer-encoding: xchunked", b"te: trailers"),
    *(
        b"connection: close",
        b"connection: x-named\r\nx-named: 1",
        b"x-secret: 1",
        b"upgrade: h2c",
        b"expect: 100-continue",
    ),
    *(
        b"x-prefixgate-route: a",
        b"x-prefixgate-customer: b",
        b"host: other",
        b"Host : x",
        b" folded: 1",
        b"bad\x00: 1",
    ),
    *(
        b"content-encoding: gzip",
        b"accept-encoding: br",
        b"authorization: Bearer x",
        b"x-request-id: \xff",
        b":",
        b"",
    ),
]
_TARGETS: Final = [
    *(b"/v1/chat/completions", b"/v1/chat/completions?x=1", b"/v1/completions", b"/generate", b"/v1/models", b"/"),
    *(
        b"/workers",
        b"/metrics",
        b"/v1/chat/../chat/completions",
        b"http://x/v1/chat/completions",
        b"*",
        b"/\xff",
        b"",
    ),
]
_BODIES: Final = [
    *(
        _BODY,
        _BODY + _BODY,
        b"5\r\nhello\r\n0\r\n\r\n",
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(_BODY), _BODY),
        b"",
        b"{",
        b"zz\r\n",
    ),
    b"0\r\n\r\nPOST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n\r\n",
]
_HOP: Final = (b"connection:", b"te:", b"upgrade:", b"transfer-encoding:", b"x-prefixgate-", b"expect:", b"x-named:")


@st.composite
def _requests(draw: st.DrawFn) -> bytes:
    """Every other one is right but for what is added to it: those reach the engine."""
    added = draw(st.lists(st.one_of(st.sampled_from(_LINES), st.binary(max_size=12)), max_size=4))
    if draw(st.booleans()):
        start, body, lines = b"POST /v1/chat/completions HTTP/1.1", _BODY, [_LINES[0], *added]
    else:
        method = draw(st.sampled_from([b"POST", b"GET", b"HEAD", b"OPTIONS", b"DELETE", b"P\x00T", b""]))
        version = draw(st.sampled_from([b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b""]))
        start = b" ".join((method, draw(st.sampled_from(_TARGETS)), version))
        body, lines = draw(st.sampled_from(_BODIES)), added
    return b"\r\n".join([start, b"host: localhost", *lines, b"", b""]) + body


def wire(at: Target) -> Callable[[], None]:
    """The property, for this gateway."""

    @given(st.lists(_requests(), min_size=1, max_size=3).map(b"".join))
    def hostile_bytes(data: bytes) -> None:
        at.engine.received.clear()
        answer = _say(at.port, data)
        assert not answer or answer.startswith(b"HTTP/1.1 ")
        assert b"Traceback" not in answer
        for request in at.engine.received:
            lines = request.head.lower().split(b"\r\n")[1:]
            lengths = [line for line in lines if line.startswith(b"content-length:")]
            assert len(lengths) == 1
            assert int(lengths[0].partition(b":")[2]) == len(request.body)
            assert not [line for line in lines if line.startswith(_HOP)]
        assert _say(at.port, b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").startswith(
            b"HTTP/1.1 200"
        )

    return hostile_bytes


def _say(port: int, data: bytes) -> bytes:
    """Everything the gateway answers until it closes, or has nothing more to say."""
    with socket.create_connection(("127.0.0.1", port), timeout=5.0) as connection:
        received = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                received += piece
        except OSError:  # it hung up on us, as it may
            return received
        return received
