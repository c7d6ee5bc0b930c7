"""gateway.incoming: which headers pass, and how much body is taken."""

from collections.abc import Iterable
from typing import Any

import pytest

from gateway.errors import Refusal
from gateway.held import Bodies, Held
from gateway.incoming import ClientGone, Incoming, Receive, read_body, read_head, response_headers
from tests.cases import case


def receiving(*messages: dict[str, Any]) -> Receive:
    """A receive channel that gives these messages."""
    waiting = list(messages)

    async def receive() -> dict[str, Any]:
        return waiting.pop(0)

    return receive


async def read(headers: Iterable[tuple[bytes, bytes]], *messages: dict[str, Any], limit: int = 100) -> Incoming:
    """The request made of these headers and body messages."""
    scope = {"method": "POST", "path": "/v1/chat/completions", "query_string": b"", "headers": list(headers)}
    bodies = Bodies()
    bodies.most = 1 << 20
    with Held(bodies) as held:
        return await read_body(read_head(scope, limit), receiving(*messages), limit, held)


def body(data: bytes, more: bool = False) -> dict[str, Any]:
    """One ASGI body message."""
    return {"type": "http.request", "body": data, "more_body": more}


async def test_case_53_hop_by_hop_headers_stay_on_their_hop() -> None:
    """Neither hop-by-hop headers nor those named in Connection are forwarded, in both directions."""
    given = case(53)["input"]
    headers = [(k.lower().encode(), v.encode()) for k, v in given["client_to_gateway"].items()]
    incoming = await read(headers, body(b"{}"))
    names = {name for name, _ in incoming.headers}
    assert names == {b"content-type", b"traceparent", b"authorization", b"accept-encoding"}
    assert dict(incoming.headers)[b"accept-encoding"] == b"identity"
    for number in "12":
        raw = [(k.lower().encode(), v.encode()) for k, v in given[f"engine_to_gateway_{number}"].items()]
        kept = sorted(name.decode() for name, _ in response_headers(raw))
        assert kept == [name.lower() for name in case(53)["expected"][f"response_{number}_names"]["bytes_untouched"]]


async def test_our_own_headers_are_read_and_removed() -> None:
    """x-prefixgate-* never reaches an engine; x-request-id does."""
    headers = [(b"x-prefixgate-route", b"chat"), (b"x-request-id", b"r1"), (b"authorization", b"Bearer k")]
    incoming = await read(headers, body(b"{}"))
    assert incoming.own == {b"x-prefixgate-route": b"chat"}
    assert (incoming.authorization, incoming.request_id) == (b"Bearer k", b"r1")
    assert b"x-prefixgate-route" not in dict(incoming.headers)
    assert dict(incoming.headers)[b"x-request-id"] == b"r1"


async def test_bodies_come_in_pieces() -> None:
    """The pieces are joined in order; exactly the limit is allowed."""
    incoming = await read([], body(b"a" * 60, True), body(b"", True), body(b"b" * 40))
    assert incoming.body == b"a" * 60 + b"b" * 40


@pytest.mark.parametrize(
    ("headers", "messages"),
    [
        ([(b"content-length", b"101")], []),
        ([(b"content-length", b"9" * 400)], []),
        ([], [body(b"a" * 101)]),
        ([], [body(b"a" * 60, True), body(b"a" * 41, True)]),
    ],
)
async def test_bodies_over_the_limit_are_refused_early(headers: Any, messages: Any) -> None:
    """By the declared length before anything is read, else as soon as it is too much."""
    with pytest.raises(Refusal) as caught:
        await read(headers, *messages)
    assert caught.value.code == "body_too_large"


async def test_an_endless_body_is_refused_before_its_next_piece() -> None:
    """A piece that is too much is enough; nobody waits for another one."""
    with pytest.raises(Refusal) as caught:
        await read([], body(b"a" * 101, True))
    assert caught.value.code == "body_too_large"


async def test_compressed_bodies_are_refused() -> None:
    """A body the gateway cannot read is not forwarded blindly."""
    with pytest.raises(Refusal) as caught:
        await read([(b"content-encoding", b"gzip")], body(b""))
    assert caught.value.kind.status == 415


@pytest.mark.parametrize("messages", [[], [body(b"{", True)]])
async def test_a_client_that_leaves_before_its_body_is_complete(messages: list[dict[str, Any]]) -> None:
    """Half a request is no request."""
    with pytest.raises(ClientGone):
        await read([], *messages, {"type": "http.disconnect"})
