"""Where a collector is and how to talk to it: our settings, else the standard environment variables.

https://opentelemetry.io/docs/specs/otel/protocol/exporter/. A variable of one signal (OTEL_EXPORTER_OTLP_TRACES_*)
comes before the general one. Headers and certificates are told by variables only: they are secrets. As in the Python
SDK, timeouts are seconds.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from prefix.errors import ConfigError

Signal = Literal["traces", "metrics"]
Protocol = Literal["http", "grpc"]

PACKAGES: Final[Mapping[Protocol, str]] = {
    "http": "opentelemetry-exporter-otlp-proto-http",
    "grpc": "opentelemetry-exporter-otlp-proto-grpc",
}
_OURS: Final = "OTLP endpoint"
_PREFIX: Final = "OTEL_EXPORTER_OTLP_"
_SPELLED: Final[Mapping[str, Protocol]] = {"http": "http", "http/protobuf": "http", "grpc": "grpc"}


@dataclass(frozen=True, slots=True)
class Target:
    """A collector's receiver of one signal. url: with the path of the signal, for http; scheme, host and port.

    ca, key, certificate: paths of PEM files. headers: may hold secrets. said_by: the setting that named it.
    """

    url: str
    protocol: Protocol
    said_by: str
    timeout_s: float = 10.0
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    gzip: bool = False
    ca: str | None = None
    key: str | None = None
    certificate: str | None = None

    @property
    def configured(self) -> bool:
        """Whether a setting of ours named it; a variable may be set for everyone in a cluster."""
        return self.said_by == _OURS

    @property
    def secure(self) -> bool:
        """Whether it is talked to by TLS."""
        return urlsplit(self.url).scheme == "https"

    def tls(self) -> ssl.SSLContext:
        """How to know it, and to be known. Raises ConfigError for files that cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"the collector's certificates ({_PREFIX}CERTIFICATE ...): {error}") from None
        return context


def find_target(
    signal: Signal,
    environ: Mapping[str, str],
    *,
    endpoint: str | None = None,
    protocol: Protocol | None = None,
    timeout_s: float | None = None,
) -> Target | None:
    """Where this signal goes; None where nobody said. endpoint: a base URL, for both protocols.

    Raises ConfigError for what cannot be an endpoint, a protocol or a number.
    """
    said_by, url = _endpoint(signal, environ, endpoint)
    if url is None:
        return None
    spoken = protocol or _protocol(signal, environ)
    if spoken == "grpc" and "://" not in url:  # as gRPC itself writes it
        insecure = (_variable(signal, environ, "INSECURE") or "").lower() == "true"
        url = f"{'http' if insecure else 'https'}://{url}"
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise ConfigError(f"{said_by}: {url!r} must look like http://collector:{4317 if spoken == 'grpc' else 4318}")
    whole = spoken == "grpc" or said_by == f"{_PREFIX}{signal.upper()}_ENDPOINT"
    return Target(
        url=url if whole else f"{url.rstrip('/')}/v1/{signal}",
        protocol=spoken,
        said_by=said_by,
        timeout_s=timeout_s or _seconds(signal, environ),
        headers=_headers(_variable(signal, environ, "HEADERS") or ""),
        gzip=_variable(signal, environ, "COMPRESSION") == "gzip",
        ca=_variable(signal, environ, "CERTIFICATE"),
        key=_variable(signal, environ, "CLIENT_KEY"),
        certificate=_variable(signal, environ, "CLIENT_CERTIFICATE"),
    )


def names_endpoint(signal: Signal, environ: Mapping[str, str]) -> bool:
    """Whether a variable asks for this very signal."""
    return bool(environ.get(f"{_PREFIX}{signal.upper()}_ENDPOINT"))


def _endpoint(signal: Signal, environ: Mapping[str, str], endpoint: str | None) -> tuple[str, str | None]:
    if endpoint is not None:
        return _OURS, endpoint
    for name in (f"{_PREFIX}{signal.upper()}_ENDPOINT", f"{_PREFIX}ENDPOINT"):
        if environ.get(name):
            return name, environ[name]
    return "", None


def _protocol(signal: Signal, environ: Mapping[str, str]) -> Protocol:
    said = _variable(signal, environ, "PROTOCOL") or "http"
    if said not in _SPELLED:
        raise ConfigError(f"{_PREFIX}PROTOCOL: {said!r} is not supported; use grpc or http/protobuf")
    return _SPELLED[said]


def _seconds(signal: Signal, environ: Mapping[str, str]) -> float:
    said = _variable(signal, environ, "TIMEOUT") or "10"
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"{_PREFIX}TIMEOUT: {said!r} must be a number of seconds above 0")
    return seconds


def _variable(signal: Signal, environ: Mapping[str, str], name: str) -> str | None:
    return environ.get(f"{_PREFIX}{signal.upper()}_{name}") or environ.get(_PREFIX + name) or None


def _headers(said: str) -> tuple[tuple[str, str], ...]:
    """`name=value,name=value`, percent-encoded."""
    pairs = [each.partition("=") for each in said.split(",") if "=" in each]
    return tuple((unquote(name).strip().lower(), unquote(value).strip()) for name, _, value in pairs if name.strip())
