"""One cache namespace a customer, told to nobody: a salt derived from its name with a secret of the replicas.

Replicas that share the secret derive the same salt, so they share an engine's cache; without the secret nobody can
name another customer's namespace. What the client itself sent as `cache_salt` goes into the derivation: its own
namespaces hold inside the customer's, and none of its choosing is another's. Fields are told apart by JSON (case 37:
"ab" + "c" is not "a" + "bc"). HMAC: RFC 2104.
"""

import hmac
import json
from typing import Any

from prefix.errors import BodyError

CLIENT_SALT = "cache_salt"
_DIGITS = 32
Salt = str | list[str]
"""What to send as salt: one for the request, or one for each prompt of a batch whose client sent one for each."""


class Isolation:
    """Derives salts. secret: at least 16 bytes, the same on every replica."""

    __slots__ = ("_key",)

    def __init__(self, secret: bytes) -> None:
        self._key = hmac.digest(secret, b"prefixgate cache isolation", "sha256")

    def salt(self, customer: str, client: Any) -> Salt:
        """The salt of a request. client: the value of its own `cache_salt`, None when it sent none.

        Raises BodyError `invalid_type` when that is not what an engine takes: a string, or a list of strings.
        """
        if type(client) is list:
            return [self._derive(customer, each) for each in client]
        return self._derive(customer, client)

    def _derive(self, customer: str, client: Any) -> str:
        if client is not None and type(client) is not str:
            message = f"/{CLIENT_SALT} must be a string or an array of strings"
            raise BodyError("invalid_type", message, pointer=f"/{CLIENT_SALT}")
        fields = json.dumps([customer, client or None]).encode()
        return hmac.digest(self._key, fields, "sha256").hex()[:_DIGITS]
