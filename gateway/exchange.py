"""One request's life as facts: filled in by the proxy, turned into one record at its end."""

import secrets
from typing import Literal

from engine_adapter.usage import Usage
from gateway.apis import Api
from gateway.config import DEFAULT_ROUTE
from gateway.identity import ANONYMOUS
from gateway.limits import Lease
from gateway.misses import Misses, Sent
from gateway.prepared import Prepared
from gateway.router import Route
from gateway.workers import Worker
from prefix.record import RequestRecord
from telemetry.knowledge import Explained, Sight
from telemetry.span_facts import NOTHING_SAID
from telemetry.tracing import NO_TRACE, Trace

Outcome = Literal["ok", "error", "truncated", "client_disconnect", "rejected"]


class Exchange:
    """What happened to one request so far. Monotonic times in seconds; `started` is the clock at its first byte.

    raw: the body as the client sent it.
    """

    __slots__ = (
        "api",
        "client_request_id",
        "customer",
        "dispatched",
        "error_type",
        "explained",
        "first_token",
        "lease",
        "outcome",
        "owner",
        "prepared",
        "queued_s",
        "raw",
        "received",
        "request_id",
        "retries",
        "route",
        "said",
        "sight",
        "status",
        "streamed",
        "trace",
        "usage",
        "worker",
    )

    def __init__(self, api: Api, received: float, trace: Trace = NO_TRACE) -> None:
        self.api = api
        self.trace = trace
        self.received = received
        self.request_id = secrets.token_hex(16)
        self.client_request_id: bytes | None = None
        self.owner: str | None = None  # the key's customer, None in open mode
        self.customer = ANONYMOUS
        self.lease: Lease | None = None
        self.raw = b""
        self.prepared: Prepared | None = None
        self.worker: Worker | None = None
        self.route: Route | None = None
        self.sight: Sight[Sent] | None = None
        self.explained: Explained[Sent] | None = None
        self.dispatched: float | None = None
        self.first_token: float | None = None
        self.status = 0
        self.outcome: Outcome = "rejected"
        self.error_type: str | None = None
        self.usage: Usage | None = None
        self.said = NOTHING_SAID
        self.streamed = False
        self.retries = 0
        self.queued_s = 0.0

    @property
    def choices(self) -> int:
        """Answers per prompt, where usage comes for each of them."""
        return self.prepared.choices if self.prepared is not None else 1

    @property
    def used_tokens(self) -> int:
        """Tokens the engine spent on it: as reported; else the prompt's, if an engine began to answer."""
        if self.usage is not None and self.usage.input_total is not None:
            return int(self.usage.input_total) + int(self.usage.output or 0)
        began = (
            self.prepared is not None and self.dispatched is not None and self.outcome not in ("error", "rejected")
        )
        return self.prepared.prompt_tokens if self.prepared is not None and began else 0

    def first_content(self, now: float) -> None:
        """The first generated content passed: the prefill is over."""
        if self.first_token is None and self.route is not None and self.prepared is not None:
            self.first_token = now
            self.prepared.group.first_token(self.route, now)

    def explain(self, misses: Misses) -> None:
        """Find out why tokens were not cached, and have the prompt known from now on."""
        if self.prepared is not None and self.worker is not None:
            page = self.worker.info.page_size if self.worker.info is not None else None
            computed = self.first_token is not None or self.outcome == "ok"
            self.explained = misses.finished(self.sight, self.prepared, self.usage, page or 1, computed=computed)

    def record(self, wall: float, now: float) -> RequestRecord:
        """The record of the request, which ended then. wall: seconds since the epoch."""
        prepared, usage, route = self.prepared, self.usage, self.route
        identity = prepared.identity if prepared else None
        duration = now - self.received
        refused = self.lease.refused if self.lease is not None else None
        return RequestRecord(
            request_id=self.request_id,
            started=wall - duration,
            path=self.api.path,
            route=identity.route if identity else DEFAULT_ROUTE,
            customer=identity.customer if identity else self.customer,
            prompt_version=prepared.prompt_version if prepared else None,
            prompt_version_declared=identity is not None and identity.prompt_version is not None,
            model=prepared.model if prepared else "",
            worker=self.route.worker if self.route else None,
            policy=prepared.group.policy if prepared else "",
            reason=route.reason if route else None,
            stream=self.streamed,
            status=self.status,
            outcome=self.outcome,
            error_type=self.error_type,
            input_tokens=usage.input_total if usage else None,
            cached_tokens=usage.cached_read if usage else None,
            output_tokens=usage.output if usage else None,
            expected_cached_tokens=route.expected_cached_tokens if route else None,
            best_fleet_tokens=route.best_fleet_tokens if route else None,
            prompt_bytes=len(prepared.view.text) if prepared else 0,
            changes=len(prepared.changes) if prepared else 0,
            retries=self.retries,
            ttft_s=self.first_token - self.received if self.first_token is not None else None,
            duration_s=duration,
            stable_tokens=prepared.stable_tokens if prepared else 0,
            hoist_saved_tokens=_hoist_saved(prepared),
            queued_s=self.queued_s,
            uncached_by_reason=self.explained.uncached or None if self.explained is not None else None,
            overhead_s=(self.dispatched - self.received if self.dispatched is not None else duration) - self.queued_s,
            limit=refused.kind if refused else None,
            client_request_id=self.client_request_id.decode("latin-1") if self.client_request_id else None,
            usage_anomaly=usage.anomaly if usage else None,
            asked_model=prepared.asked_model if prepared else None,
            missed_model=prepared.missed_model if prepared else None,
            trace_id=self.trace.trace_id,
            span_id=self.trace.span_id,
            sampled=self.trace.sampled,
        )


def _hoist_saved(prepared: Prepared | None) -> int:
    if prepared is None or prepared.hoist is None:
        return 0
    return round(prepared.hoist.saved_bytes / prepared.group.bytes_per_token)
