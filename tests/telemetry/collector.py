"""An OTLP collector for tests: HTTP and gRPC receivers on loopback, in threads, that keep what they were sent.

Behaviour is set by attributes, at any time: `status` of the HTTP answers, `silent`: take and never answer.
"""

import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"


class Collector:
    """What arrived. http, grpc: its addresses. headers: of the last message, lower case."""

    def __init__(self) -> None:
        self.http = self.grpc = ""
        self.status = 200
        self.retry_after: str | None = None
        self.silent = False
        self.headers: dict[str, str] = {}
        self.traces: list[ExportTraceServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.arrivals = 0
        self.ended = threading.Event()

    @property
    def spans(self) -> list[Span]:
        """All spans, in the order they came."""
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def take(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        self.arrivals += 1
        self.headers = headers
        if self.silent:
            self.ended.wait(20)
        if self.status >= 300:
            return
        if path.endswith("/v1/traces") or path == _TRACES:
            self.traces.append(ExportTraceServiceRequest.FromString(body))
        else:
            assert path.endswith("/v1/metrics") or path == _METRICS
            self.metrics.append(ExportMetricsServiceRequest.FromString(body))


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens."""
    collector = Collector()
    web = ThreadingHTTPServer(("127.0.0.1", 0), _handler(collector))
    web.daemon_threads = True
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    rpc = grpc.server(ThreadPoolExecutor(2), handlers=[_Rpc(collector)])
    collector.http = f"http://127.0.0.1:{web.server_port}"
    collector.grpc = f"http://127.0.0.1:{rpc.add_insecure_port('127.0.0.1:0')}"
    rpc.start()
    try:
        yield collector
    finally:
        collector.ended.set()
        web.shutdown()
        web.server_close()
        rpc.stop(None).wait()
        thread.join()


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            collector.take(self.path, body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(collector.status)
            self.send_header("content-length", "0")
            if collector.retry_after is not None:
                self.send_header("retry-after", collector.retry_after)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class _Rpc(grpc.GenericRpcHandler):
    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def service(self, call: Any) -> Any:
        headers = dict(call.invocation_metadata)

        def export(body: bytes, context: Any) -> bytes:
            self._collector.take(call.method, body, headers)
            if self._collector.status >= 300:
                context.abort(grpc.StatusCode.UNAVAILABLE, "told to")
            return b""

        return grpc.unary_unary_rpc_method_handler(export)


def attributes(message: Any) -> dict[str, Any]:
    """The attributes of a span, event or resource."""
    return {each.key: _value(each.value) for each in message.attributes}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, str(kind))
