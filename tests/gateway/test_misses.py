"""gateway.misses keeps the last requests to be explained, within its bounds."""

from typing import Any

import msgspec
import pytest

from engine_adapter.usage import Usage
from gateway.apis import APIS, CHAT
from gateway.dispatch import Place
from gateway.flight import Route
from gateway.identity import Identity
from gateway.misses import Misses, Parting, Sent
from gateway.policies import Reason
from gateway.prepared import Prepared
from prefix.blocks import block_hashes
from prefix.body import parse_body
from prefix.record import RequestRecord
from prefix.view import View
from telemetry.knowledge import Explained
from tests.cases import wire
from tests.telemetry.conftest import ORDINARY


def record(name: int) -> RequestRecord:
    """An ordinary record with this id."""
    return msgspec.structs.replace(ORDINARY, request_id=f"{name:032}")


def asks(text: str) -> Sent:
    """A body as it was sent."""
    messages = [{"role": "system", "content": text}, {"role": "user", "content": "Which?"}]
    return Sent(wire({"model": "m", "messages": messages}), {})


def prepared(sent: Sent) -> Prepared:
    """What is looked at of a prepared request."""
    body = parse_body(sent.raw)
    view, identity = View(0, b"x" * 100, 0, None), Identity("anonymous", "support", None, None)
    named = dict.fromkeys(Prepared._fields) | {"body": body, "replacements": {}, "view": view, "identity": identity}
    return Prepared(**named)


def test_the_last_requests_are_kept_and_no_more() -> None:
    """By number, and bodies by their bytes: a request outlives its bodies."""
    one, other = asks("It is 2026-11-30T09:14:07Z. Help."), asks("It is 2026-11-30T09:15:29Z. Help.")
    size = len(one.raw) + len(other.raw)
    misses = Misses(requests=5, body_bytes=2 * size)
    for number in range(8):
        parts = Explained({"divergent": 5}, one, 10, 20)
        misses.remember(record(number), prepared(other), parts)
    assert [misses.find(f"{number:032}") is None for number in range(8)] == [True] * 3 + [False] * 5
    kept = [misses.find(f"{number:032}") for number in range(3, 8)]
    assert [each is not None and each.parting is not None for each in kept] == [False] * 3 + [True] * 2


def test_a_cause_is_found_when_somebody_asks() -> None:
    """In the bodies as they were sent; None for what does not parse."""
    parting = Parting(
        asks("It is 2026-11-30T09:14:07Z. Help."), asks("It is 2026-11-30T09:15:29Z. Help."), 100, 10, 20
    )
    assert str(parting.cause()) == "clock in /messages/0/content at 6"
    assert Parting(asks("a"), Sent(b"{", {}), 100, 10, 20).cause() is None


def test_a_rewritten_body_is_compared_as_it_was_sent() -> None:
    """Replacements are spliced in before anything is compared."""
    raw = b'{"messages":[{"role":"user","content":"a"}]}'
    start = raw.index(b'"a"')
    spans = parse_body(raw).spans["messages"]
    assert spans.start < start
    sent = Sent(raw, {spans: b"[]"})
    assert sent.parsed() == {"messages": []}


@pytest.mark.parametrize(("reason", "why"), [("turn", "routed_away"), ("load", "routed_away"), ("spread", "evicted")])
def test_whether_the_policy_looks_at_who_holds_what(reason: Reason, why: str) -> None:
    """What another worker lost would have been cached, had it lost nothing, only if the prompt had gone there."""
    misses, text = Misses(), b"x" * 4000
    asked = prepared(asks("Help."))._replace(
        api=APIS[CHAT],
        view=View(1, text, 0, None),
        blocks=block_hashes(text, 1),
    )
    found = {}
    for worker in ("a", "b"):
        named: dict[str, Any] = {"worker": None, "route": Route(worker, 0, 0, reason, 1), "group": None}
        sight = misses.at_dispatch(asked, Place(**named))
        found = misses.finished(sight, asked, Usage(1000, 0), 1, computed=True).uncached
    assert found == {"page": 1, why: 999}
