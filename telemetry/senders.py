"""Encoded spans to a collector: OTLP over HTTP or gRPC, one message at a time, blocking, in the spans' own thread.

https://opentelemetry.io/docs/specs/otlp/: which answers may be tried again, and how long the collector asks to wait.
Not the SDK's exporters: they take the SDK's span objects only, whose making and encoding costs more than all
the rest of a request (telemetry.span_wire).
"""

import gzip
import http.client
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

from prefix.errors import ConfigError
from telemetry.otlp import PACKAGES, Target
from telemetry.span_queue import Sender, Undelivered

_AGAIN: Final = frozenset((429, 502, 503, 504))
_AGAIN_GRPC: Final = frozenset("CANCELLED DEADLINE_EXCEEDED ABORTED OUT_OF_RANGE UNAVAILABLE DATA_LOSS".split())
_EXPORT: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_LONGEST_ANSWER: Final = 64 << 10


def make_sender(target: Target) -> Sender:
    """Raises ConfigError when its protocol needs a package that is not here, or a file that cannot be read."""
    if target.protocol == "http":
        return HttpSender(target)
    if find_spec("grpc") is None:
        raise ConfigError(f"{target.said_by}: spans cannot be sent by gRPC: pip install {PACKAGES['grpc']}")
    return GrpcSender(target, import_module("grpc"))


class HttpSender:
    """OTLP over HTTP/1.1, binary protobuf, one connection that is kept."""

    def __init__(self, target: Target) -> None:
        self.timeout_s = target.timeout_s
        parts = urlsplit(target.url)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {"content-type": "application/x-protobuf", **dict(target.headers)}
        self._gzip = target.gzip
        if self._gzip:
            self._headers["content-encoding"] = "gzip"
        host, port = parts.hostname or "", parts.port
        self._connection = (
            http.client.HTTPSConnection(host, port, timeout=target.timeout_s, context=target.tls())
            if target.secure
            else http.client.HTTPConnection(host, port, timeout=target.timeout_s)
        )

    def send(self, body: bytes) -> None:
        """Raises Undelivered."""
        try:
            self._connection.request("POST", self._path, gzip.compress(body) if self._gzip else body, self._headers)
            answer = self._connection.getresponse()
            whole = len(answer.read(_LONGEST_ANSWER)) < _LONGEST_ANSWER
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Undelivered(f"the collector did not answer: {error or type(error).__name__}", again=True) from None
        if not whole:
            self._connection.close()
        if answer.status >= 300:
            after = answer.getheader("retry-after") or ""
            raise Undelivered(
                f"the collector answered {answer.status}",
                again=answer.status in _AGAIN,
                after_s=float(after) if after.isdecimal() else 0.0,
            )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class GrpcSender:
    """OTLP over gRPC. grpc: the module, which is there only with the extra `otlp`."""

    def __init__(self, target: Target, grpc: ModuleType) -> None:
        self.timeout_s = target.timeout_s
        self._failed: Any = grpc.RpcError
        self._metadata = target.headers
        place = urlsplit(target.url).netloc
        self._channel: Any = (
            grpc.secure_channel(place, _credentials(target, grpc)) if target.secure else grpc.insecure_channel(place)
        )
        self._export: Any = self._channel.unary_unary(_EXPORT)
        self._compression = grpc.Compression.Gzip if target.gzip else None

    def send(self, body: bytes) -> None:
        """Raises Undelivered."""
        try:
            self._export(body, timeout=self.timeout_s, metadata=self._metadata, compression=self._compression)
        except self._failed as error:
            code = error.code().name
            raise Undelivered(f"the collector: {code}: {error.details()}", again=code in _AGAIN_GRPC) from None

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()


def _credentials(target: Target, grpc: ModuleType) -> Any:
    ca, key, certificate = (_read(path) for path in (target.ca, target.key, target.certificate))
    return grpc.ssl_channel_credentials(ca, key, certificate)


def _read(path: str | None) -> bytes | None:
    try:
        return None if path is None else Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
