"""Where the Redis is that gateways share their state over. The password is best kept out of the URL."""

from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from prefix.errors import ConfigError

_SCHEMES = ("redis", "rediss", "unix")


class RedisConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """url: `redis://host:port/db`, `rediss://` for TLS, `unix:///path`; null: each gateway is alone.

    fleet: gateways of one name share their state. password_file: in place of the URL's password or
    PREFIXGATE_REDIS_PASSWORD. ca_file: who signed the server's certificate, null: the system's authorities.
    """

    url: str | None = None
    fleet: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_.-]{1,64}$")] = "default"
    password_file: str | None = None
    ca_file: str | None = None

    @property
    def key(self) -> str:
        """The one key that is used. In a cluster the part in braces decides where it lies."""
        return f"prefixgate:{{{self.fleet}}}:events"

    @property
    def shown(self) -> str | None:
        """The URL without user and password."""
        return None if self.url is None else shown(self.url)

    def check(self) -> None:
        """Raises ConfigError, which never shows a password."""
        if self.url is None:
            return
        try:
            parts = urlsplit(self.url)
            valid = parts.scheme in _SCHEMES and bool(parts.path if parts.scheme == "unix" else parts.hostname)
            valid = valid and (parts.port or 1) > 0
        except ValueError:
            valid = False
        if not valid:
            raise ConfigError("the URL must look like redis://host:6379/0, rediss://host:6379 or unix:///path")


def shown(url: str) -> str:
    """A URL without what stands before the last @ of its authority, and without its query."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path.partition('?')[0]}"
