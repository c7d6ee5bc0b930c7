"""The secrets of one gateway: read from the environment or from files, at start and on reload, never from the
configuration, never shown again.

The admin token is beside them (PREFIXGATE_ADMIN_TOKEN, gateway.serve). Files are for mounted secrets; a line's end
behind the value is not part of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gateway.config import Config
from gateway.isolation import Isolation
from prefix.errors import ConfigError

ISOLATION_SECRET = "PREFIXGATE_ISOLATION_SECRET"  # noqa: S105 - the variable's name, not the secret
REDIS_PASSWORD = "PREFIXGATE_REDIS_PASSWORD"  # noqa: S105 - the variable's name, not the password
ANY_ENGINE = "*"
_LEAST_SECRET_BYTES = 16


@dataclass(frozen=True, slots=True)
class Secrets:
    """isolation: derives the salts of isolated customers, None when nobody is isolated.

    engines: engine URL (or "*" for all others) -> value of its Authorization header. capture: what captures are
    redacted and sampled with, None: what one gateway makes up. redis: its password, None: the URL's, if any.
    """

    isolation: Isolation | None = field(default=None, repr=False)
    engines: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    capture: bytes | None = field(default=None, repr=False)
    redis: str | None = field(default=None, repr=False)

    def authorization(self, url: str) -> bytes | None:
        """What to send to this engine as Authorization, None when it needs none."""
        return self.engines.get(url) or self.engines.get(ANY_ENGINE)


NO_SECRETS = Secrets()


def load_secrets(config: Config, environ: Mapping[str, str]) -> Secrets:
    """Every secret the configuration needs. Raises ConfigError that names the missing one, never a value."""
    return Secrets(_isolation(config, environ), _engines(config, environ), _capture(config), _redis(config, environ))


def _isolation(config: Config, environ: Mapping[str, str]) -> Isolation | None:
    if not config.isolates:
        return None
    path = config.isolation_secret_file
    secret = environ.get(ISOLATION_SECRET, "").encode() if path is None else _read(path, "isolation_secret_file")
    if not secret:
        raise ConfigError(
            f"isolate_cache needs a secret that all replicas share: set {ISOLATION_SECRET} or isolation_secret_file "
            "(make one with `openssl rand -hex 32`)"
        )
    return Isolation(_unguessable(secret, "isolation secret"))


def _redis(config: Config, environ: Mapping[str, str]) -> str | None:
    path = config.redis.password_file
    if path is None:
        return environ.get(REDIS_PASSWORD) or None
    return _read(path, "redis: password_file").decode("utf-8", "surrogateescape")


def _capture(config: Config) -> bytes | None:
    path = config.capture.key_file
    return None if path is None else _unguessable(_read(path, "capture: key_file"), "capture key")


def _unguessable(secret: bytes, what: str) -> bytes:
    if len(secret) < _LEAST_SECRET_BYTES:
        raise ConfigError(f"the {what} is shorter than {_LEAST_SECRET_BYTES} bytes: it could be guessed")
    return secret


def _engines(config: Config, environ: Mapping[str, str]) -> dict[str, bytes]:
    return {url: b"Bearer " + _credential(url, source, environ) for url, source in config.engine_credentials.items()}


def _credential(url: str, source: str, environ: Mapping[str, str]) -> bytes:
    """source: `env:NAME` or `file:PATH`."""
    kind, _, name = source.partition(":")
    if kind == "file" and name:
        value = _read(name, f"engine_credentials: {url}")
    elif kind == "env" and name:
        value = environ.get(name, "").encode()
        if not value:
            raise ConfigError(f"engine_credentials: {url}: the environment variable {name} is not set")
    else:
        raise ConfigError(f"engine_credentials: {url}: say where the key is: env:NAME or file:PATH")
    if not value or any(byte <= 0x20 or byte >= 0x7F for byte in value):
        raise ConfigError(f"engine_credentials: {url}: the key is empty or no header may carry it")
    return value


def _read(path: str, setting: str) -> bytes:
    try:
        return Path(path).read_bytes().strip()
    except OSError as error:
        raise ConfigError(f"{setting}: {path}: {error.strerror}") from None
