"""TLS on both sides: what the server shows its clients, and whom the gateway believes to be an engine."""

import ssl
from typing import TypedDict

from gateway.config import Config
from prefix.errors import ConfigError


class ServerTls(TypedDict, total=False):
    """uvicorn's options; empty without TLS."""

    ssl_certfile: str
    ssl_keyfile: str


def server_tls(config: Config) -> ServerTls:
    """Raises ConfigError when certificate and key cannot be used, before the port is opened."""
    if config.tls_cert is None and config.tls_key is None:
        return {}
    if config.tls_cert is None or config.tls_key is None:
        raise ConfigError("tls_cert and tls_key belong together: set both or none")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(config.tls_cert, config.tls_key)
    except OSError as error:  # SSLError is one
        reason = getattr(error, "reason", None) or error.strerror
        raise ConfigError(f"tls_cert {config.tls_cert}, tls_key {config.tls_key}: {reason}") from None
    return {"ssl_certfile": config.tls_cert, "ssl_keyfile": config.tls_key}


def check_tls(config: Config) -> None:
    """Raises ConfigError when a certificate or key that is configured cannot be used."""
    server_tls(config)
    if config.engine_ca_file is not None:
        engine_tls(config)


def engine_tls(config: Config) -> ssl.SSLContext:
    """For https engines: the system's authorities, or those of `engine_ca_file` alone. Raises ConfigError."""
    try:
        return ssl.create_default_context(cafile=config.engine_ca_file)
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror
        raise ConfigError(f"engine_ca_file {config.engine_ca_file}: {reason}") from None
