"""gateway.identity: customer, route and prompt version, and whom to believe."""

import json
from typing import Any

import pytest

from gateway.config import Config, CustomerConfig, RouteConfig
from gateway.errors import Refusal
from gateway.identity import Identity, KeyRing, identify, new_key
from prefix.body import parse_body

ROUTES = {"chat": RouteConfig(), "code": RouteConfig()}


def identity(headers: dict[bytes, bytes], body: dict[str, Any], **config: Any) -> Identity:
    """The identity in open mode."""
    caller = KeyRing({}).caller(None)
    return identify(caller, headers, parse_body(json.dumps(body).encode()), Config(routes=ROUTES, **config))


def test_nobody_says_anything() -> None:
    """Anonymous on the default route, without a version or session."""
    assert identity({}, {}) == Identity("anonymous", "default", None, None)


def test_headers_come_first() -> None:
    """Header, then body; a known route is taken, an unknown one is the default route."""
    body = {"metadata": {"customer": "b", "route": "code", "prompt_version": "2"}, "prompt_cache_key": "thread"}
    assert identity({}, body) == Identity("b", "code", "2", "thread")
    headers = {
        b"x-prefixgate-customer": b"a",
        b"x-prefixgate-route": b"chat",
        b"x-prefixgate-prompt-version": b"1",
        b"x-prefixgate-session": b"s",
    }
    assert identity(headers, body) == Identity("a", "chat", "1", "s")
    assert identity({b"x-prefixgate-route": b"typo"}, {}).route == "default"


@pytest.mark.parametrize(
    ("prompt", "version"),
    [({"id": "greeting", "version": "3"}, "greeting@3"), ({"id": "greeting"}, "greeting"), ({"version": 3}, None)],
)
def test_stored_prompts_name_their_version(prompt: dict[str, Any], version: str | None) -> None:
    """prompt.id and prompt.version of a body are a prompt version."""
    assert identity({}, {"prompt": prompt}).prompt_version == version


def test_odd_fields_are_ignored() -> None:
    """Metadata of a wrong type, empty and huge values do no harm."""
    assert identity({}, {"metadata": ["x"], "prompt": "text", "prompt_cache_key": 3}).customer == "anonymous"
    assert identity({b"x-prefixgate-customer": b""}, {}).customer == "anonymous"
    assert len(identity({b"x-prefixgate-customer": b"x" * 9999}, {}).customer) == 256


def test_a_key_names_its_customer() -> None:
    """With customers configured only their keys open the door, and headers count only from trusted ones."""
    (key, stored), (trusted_key, trusted_stored) = new_key(), new_key()
    customers = {
        "acme": CustomerConfig(keys=(stored,), route="chat"),
        "ops": CustomerConfig(keys=(trusted_stored,), trusted=True),
    }
    ring = KeyRing(customers)
    headers = {b"x-prefixgate-customer": b"evil", b"x-prefixgate-route": b"code"}
    config = Config(routes=ROUTES, customers=customers)
    body = parse_body(b"{}")
    acme = ring.caller(b"Bearer " + key.encode())
    assert (acme.customer, acme.trusted) == ("acme", False)
    assert identify(acme, headers, body, config) == Identity("acme", "chat", None, None)
    ops = ring.caller(b"Bearer " + trusted_key.encode())
    assert identify(ops, headers, body, config) == Identity("ops", "code", None, None)


@pytest.mark.parametrize("authorization", [None, b"", b"Bearer ", b"Bearer pg-wrong", b"Basic eA=="])
def test_without_a_valid_key_nobody_gets_in(authorization: bytes | None) -> None:
    """No, empty or wrong credentials are 401."""
    ring = KeyRing({"acme": CustomerConfig(keys=(new_key()[1],))})
    with pytest.raises(Refusal) as caught:
        ring.caller(authorization)
    assert caught.value.kind.status == 401


def test_keys_are_random_and_stored_hashed() -> None:
    """Two keys differ, and the stored form does not contain the key."""
    (one, stored), (two, _) = new_key(), new_key()
    assert one != two
    assert one not in stored
    assert stored.startswith("sha256:")
