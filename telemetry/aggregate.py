"""What the finished requests add up to: plain integers and bucket arrays, one `record` per request.

No metrics SDK is on the request path (one of its records costs about 10 us): label values are bounded by dict
lookups, cells are found by label tuple and incremented. Requests are recorded by one thread (the event loop),
but exporters read from threads of their own, so a lock makes every record and every read whole: no reader sees
a request's input tokens without its cached ones.

A prompt counts once: as input, cached and expected when its cached count is known, else only as unreported. A
report that cannot be (cached below zero or above input) is no report.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

from prefix.errors import ConfigError
from prefix.record import RequestRecord, UncachedReason
from telemetry import catalog
from telemetry.cells import Counter, Histogram, Key, Models, Tokens, TokenSums
from telemetry.facts import itl_s, reported, ttft_s
from telemetry.labels import OTHER, Labels
from telemetry.points import Family, Seen

DIMENSIONS: Final = catalog.INPUT_TOKENS.labels

_TOKEN_FIELDS: Final = (
    (catalog.INPUT_TOKENS, "input_tokens"),
    (catalog.CACHED_TOKENS, "cached_tokens"),
    (catalog.EXPECTED_CACHED_TOKENS, "expected_cached_tokens"),
    (catalog.UNREPORTED_INPUT_TOKENS, "unreported_input_tokens"),
    (catalog.STABLE_TOKENS, "stable_tokens"),
    (catalog.OUTPUT_TOKENS, "output_tokens"),
)
_NO_REASONS: Final[dict[UncachedReason, int]] = {}
_Group = tuple[str | None, str | None, str | None]
_STATUS_CLASSES: Final = {1: "1xx", 2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx"}


@dataclass(frozen=True, slots=True)
class Row:
    """Token sums of one group of requests; a dimension that was not asked for is None. `sums` is a copy."""

    route: str | None
    customer: str | None
    prompt_version: str | None
    sums: TokenSums

    @property
    def hit_rate(self) -> float | None:
        """Cached / input tokens of the requests whose cached count is known; None when there are none."""
        return self.sums.hit_rate


class Aggregate:
    """Counters and histograms of every request recorded; `labels` bounds their label values and may be replaced
    when the configuration is reloaded."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._lock = Lock()
        self._tokens = Tokens(catalog.INPUT_TOKENS)
        self._uncached = Counter(catalog.UNCACHED_TOKENS)
        self._workers = Tokens(catalog.WORKER_UNCACHED)
        self._anomalies = Counter(catalog.USAGE_ANOMALIES)
        self._requests = Counter(catalog.REQUESTS)
        self._rate_limited = Counter(catalog.RATE_LIMITED)
        self._retries = Counter(catalog.RETRIES)
        self._rewrites = Counter(catalog.REWRITES)
        self._model_routes = Counter(catalog.MODEL_ROUTES)
        self._hoist_saved = Counter(catalog.HOIST_SAVED)
        self._decisions = Counter(catalog.ROUTE_DECISIONS)
        self._http_duration = Histogram(catalog.HTTP_DURATION)
        self._duration = Histogram(catalog.REQUEST_DURATION)
        self._client_duration = Histogram(catalog.CLIENT_DURATION)
        self._models = Models(catalog.TTFT)
        self._overhead = Histogram(catalog.OVERHEAD)
        self._queue = Histogram(catalog.QUEUE_DURATION)

    def record(self, record: RequestRecord) -> Key:
        """Counts one finished request; the labels that it was counted under: route, customer, prompt version."""
        labels = self.labels
        route = labels.routes[record.route]
        customer = labels.customers[record.customer]
        error = labels.errors[record.error_type or ""]
        version = labels.prompt_version(route, record.prompt_version, declared=record.prompt_version_declared)
        with self._lock:
            self._count_tokens(record, (route, customer, version))
            self._count_outcome(record, route, customer, error)
            self._count_routing(record, route)
            self._observe(record, route, error)
        return route, customer, version

    def snapshot(self) -> tuple[Family, ...]:
        """Every counter and histogram of the catalog as it is now, those without points too; for any thread."""
        plain = (
            *(self._requests, self._rate_limited, self._retries, self._rewrites, self._model_routes),
            *(self._hoist_saved, self._decisions),
            *(self._uncached, self._anomalies, self._http_duration, self._duration, self._client_duration),
            *(self._overhead, self._queue),
        )
        with self._lock:
            tokens = (
                Family(metric, tuple((key, getattr(sums, name)) for key, sums in self._tokens.items()))
                for metric, name in _TOKEN_FIELDS
            )
            models = self._models.families()
            return (*tokens, *(each.family() for each in plain), self._workers.uncached(), *models)

    def rows(self, by: Sequence[str] = DIMENSIONS) -> tuple[Row, ...]:
        """Token sums grouped by any of route, customer and prompt_version, in order of their labels.

        Raises ConfigError for another dimension.
        """
        unknown = [name for name in by if name not in DIMENSIONS]
        if unknown:
            raise ConfigError(f"cannot group by {unknown[0]!r}: use any of {', '.join(DIMENSIONS)}")
        groups: dict[_Group, TokenSums] = {}
        with self._lock:
            for key, sums in self._tokens.items():
                groups.setdefault(_group(key, by), TokenSums()).add(sums)
        return tuple(Row(*group, sums) for group, sums in sorted(groups.items(), key=_by_labels))

    def worker(self, name: str) -> TokenSums | None:
        """A copy of the sums of what this worker answered since the gateway began; None when it answered nothing."""
        with self._lock:
            sums, copy = self._workers.get((name,)), TokenSums()
            if sums is None:
                return None
            copy.add(sums)
        return copy

    def _count_tokens(self, record: RequestRecord, key: Key) -> None:
        self._tokens[key].count(record)
        if record.worker is not None:
            self._workers[self.labels.workers[record.worker],].count(record)
        if reported(record) is not None:
            for reason, count in (record.uncached_by_reason or _NO_REASONS).items():
                self._uncached[*key, reason].value += count

    def _count_outcome(self, record: RequestRecord, route: str, customer: str, error: str) -> None:
        status_class = _STATUS_CLASSES.get(record.status // 100, OTHER)
        outcome = self.labels.outcomes[record.outcome]
        self._requests[route, customer, outcome, error, status_class].value += 1
        if record.limit is not None:
            self._rate_limited[customer, record.limit].value += 1

    def _count_routing(self, record: RequestRecord, route: str) -> None:
        labels = self.labels
        if record.worker is not None:
            policy, reason = labels.policies[record.policy], labels.reasons[record.reason or ""]
            self._decisions[policy, reason, labels.workers[record.worker]].value += 1
            if record.usage_anomaly is not None:
                self._anomalies[labels.workers[record.worker], record.usage_anomaly].value += 1
        if record.retries:
            self._retries[route,].value += record.retries
        if record.changes:
            self._rewrites[route,].value += record.changes
        if record.asked_model is not None:
            self._model_routes[route, labels.models[record.model], "routed"].value += 1
        elif record.missed_model is not None:
            self._model_routes[route, labels.models[record.missed_model], "unserved"].value += 1
        if record.hoist_saved_tokens:
            self._hoist_saved[route,].value += record.hoist_saved_tokens

    def _observe(self, record: RequestRecord, route: str, error: str) -> None:
        labels, seen = self.labels, _seen(record)
        path, status = labels.paths[record.path], labels.statuses[str(record.status)]
        self._http_duration[path, status, error].observe(record.duration_s, seen)
        self._overhead[route,].observe(record.overhead_s, seen)
        if record.queued_s:
            self._queue[route,].observe(record.queued_s, seen)
        operation = catalog.OPERATIONS.get(record.path)
        if operation is not None:
            self._observe_model(record, (operation, labels.models[record.model], route), error, seen)

    def _observe_model(self, record: RequestRecord, key: tuple[str, str, str], error: str, seen: Seen | None) -> None:
        whole = (*key, error)
        self._duration[whole].observe(record.duration_s, seen)
        if record.worker is not None:
            self._client_duration[whole].observe(record.duration_s - record.overhead_s - record.queued_s, seen)
        responses = self._models[key]
        output = record.output_tokens
        if record.input_tokens is not None:
            responses.input.observe(float(record.input_tokens), seen)
        if output is not None:
            responses.output.observe(float(output), seen)
        first, gap = ttft_s(record), itl_s(record)
        if first is not None:
            responses.ttft.observe(first, seen)
        if gap is not None:
            responses.tpot.observe(gap, seen)


def _seen(record: RequestRecord) -> Seen | None:
    if not record.sampled or record.trace_id is None or record.span_id is None:
        return None
    return Seen(record.trace_id, record.span_id, record.started + record.duration_s)


def _group(key: Key, by: Sequence[str]) -> _Group:
    route, customer, version = (value if name in by else None for name, value in zip(DIMENSIONS, key, strict=True))
    return route, customer, version


def _by_labels(item: tuple[_Group, TokenSums]) -> tuple[str, ...]:
    return tuple(label or "" for label in item[0])
