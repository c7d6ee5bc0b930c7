"""Who asks, on which route, with which version of the prompt.

Customer: the API key's, else the trusted header, else `metadata.customer` of the body. Without configured
customers (open mode) headers are honoured from everybody and the key is the engine's business. Route and prompt
version: header, else the key's route, else `metadata` or `prompt.{id,version}` of the body; an unknown route is
the default route. Values are raw here; telemetry bounds what becomes a label.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from gateway.config import DEFAULT_ROUTE, Config, CustomerConfig
from gateway.errors import Refusal
from prefix.body import Body
from prefix.frame import Frame

ANONYMOUS = "anonymous"
PREFIX = b"x-prefixgate-"
CREDENTIALS = frozenset((b"authorization", b"x-api-key", b"api-key"))
"""Headers that carry a client's key: the gateway's own business once it has customers."""
_MAX_VALUE = 256


class Caller(NamedTuple):
    """The holder of a key. config: None in open mode."""

    customer: str | None
    config: CustomerConfig | None

    @property
    def trusted(self) -> bool:
        """May set x-prefixgate-* headers and see where its requests went."""
        return self.config is None or self.config.trusted


class Identity(NamedTuple):
    """What telemetry and routing know a request by. session: affinity hint, never a metric label."""

    customer: str
    route: str
    prompt_version: str | None
    session: str | None


class _Stated(NamedTuple):
    """What a body says of these itself."""

    customer: str | None
    route: str | None
    prompt_version: str | None
    session: str | None


class KeyRing:
    """Customers by the hash of their keys. Only digests are kept, and compared in constant time."""

    __slots__ = ("_customers",)

    def __init__(self, customers: Mapping[str, CustomerConfig]) -> None:
        self._customers = {
            key.removeprefix("sha256:"): Caller(name, customer)
            for name, customer in customers.items()
            for key in customer.keys
        }

    @property
    def open(self) -> bool:
        """No customers are configured: everybody may ask, headers are honoured."""
        return not self._customers

    def caller(self, authorization: bytes | None) -> Caller:
        """Who the Authorization header (or x-api-key value) belongs to. Raises Refusal `invalid_api_key`."""
        if self.open:
            return Caller(None, None)
        digest = hashlib.sha256((authorization or b"").removeprefix(b"Bearer ").strip()).hexdigest()
        found: Caller | None = None
        for known, caller in self._customers.items():
            if hmac.compare_digest(known, digest):
                found = caller
        if found is None:
            raise Refusal("invalid_api_key")
        return found


def identify(caller: Caller, headers: Mapping[bytes, bytes], body: Body, config: Config) -> Identity:
    """The identity of one request. headers: lower-case names of the request's x-prefixgate-* headers."""
    stated = body.once(_stated)
    given = headers if caller.trusted else {}
    route = _header(given, b"route") or (caller.config and caller.config.route) or stated.route
    version = _header(given, b"prompt-version") or stated.prompt_version
    customer = caller.customer or _header(given, b"customer") or stated.customer or ANONYMOUS
    session = _header(given, b"session") or stated.session
    known = route if route in config.routes else DEFAULT_ROUTE
    return Identity(customer, known or DEFAULT_ROUTE, version, session)


def named_customer(caller: Caller, headers: Mapping[bytes, bytes]) -> str:
    """The customer as far as it is known before the body is: limits do not believe what a body says."""
    return caller.customer or _header(headers, b"customer") or ANONYMOUS


def _stated(body: Frame) -> _Stated:
    metadata = _object(body, "metadata")
    return _Stated(
        _text(metadata.get("customer")),
        _text(metadata.get("route")),
        _text(metadata.get("prompt_version")) or _prompt_id(_object(body, "prompt")),
        _text(body.value("prompt_cache_key")),
    )


def new_key() -> tuple[str, str]:
    """A fresh API key with 256 bits of entropy, and the hash to store for it.

    A plain SHA-256 is enough: there is no dictionary of 256-bit random keys.
    """
    key = "pg-" + secrets.token_urlsafe(32)
    return key, "sha256:" + hashlib.sha256(key.encode()).hexdigest()


def _object(body: Frame, name: str) -> dict[str, Any]:
    value = body.value(name)
    return value if type(value) is dict else {}


def _header(headers: Mapping[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(PREFIX + name) if headers else None
    return None if value is None else _text(value.decode("latin-1"))


def _text(value: Any) -> str | None:
    return value[:_MAX_VALUE] if type(value) is str and value else None


def _prompt_id(prompt: Mapping[str, Any]) -> str | None:
    name, version = _text(prompt.get("id")), _text(prompt.get("version"))
    return f"{name}@{version}" if name and version else name
