"""The aggregates tell the exact truth about the records, within bounded memory."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefix.errors import ConfigError
from prefix.record import RequestRecord
from telemetry import catalog
from telemetry.aggregate import DIMENSIONS, Aggregate
from telemetry.cells import TokenSums
from telemetry.labels import OTHER, Labels
from telemetry.points import Distribution

Make = Callable[..., RequestRecord]


def recorded(records: Iterable[RequestRecord], labels: Labels | None = None) -> Aggregate:
    """An aggregate of these records."""
    aggregate = Aggregate(labels or Labels(["chat", "rag"], models=["m1"]))
    for record in records:
        aggregate.record(record)
    return aggregate


def points(aggregate: Aggregate, metric: catalog.Metric) -> dict[tuple[str, ...], object]:
    """One metric's points."""
    return next(dict(family.points) for family in aggregate.snapshot() if family.metric is metric)


def only(aggregate: Aggregate) -> TokenSums:
    """The sums over everything."""
    return aggregate.rows(())[0].sums


# --- tokens ---------------------------------------------------------------------------------------------------

tokens = st.none() | st.integers(0, 5000)
facts = st.fixed_dictionaries(
    {
        "route": st.sampled_from(["chat", "rag"]),
        "customer": st.sampled_from(["acme", "bolt", "anonymous"]),
        "prompt_version": st.sampled_from(["v1", "v2", None]),
        "input_tokens": tokens,
        "cached_tokens": tokens,
        "expected_cached_tokens": tokens,
        "output_tokens": tokens,
        "uncached_by_reason": st.none() | st.dictionaries(st.sampled_from(["new", "page"]), st.integers(1, 99)),
    }
)


def naive(records: list[RequestRecord], by: tuple[str, ...]) -> dict[tuple[str | None, ...], Counter[str]]:
    """The same sums, computed from the definition."""
    sums: dict[tuple[str | None, ...], Counter[str]] = {}
    for record in records:
        key = tuple(getattr(record, name) or "unversioned" if name in by else None for name in DIMENSIONS)
        group = sums.setdefault(key, Counter())
        n, c = record.input_tokens, record.cached_tokens
        known = n is not None and c is not None and c <= n
        group["requests"] += 1
        group["unknown_requests"] += not known
        group["input_tokens"] += (n or 0) if known else 0
        group["cached_tokens"] += (c or 0) if known else 0
        group["expected_cached_tokens"] += (record.expected_cached_tokens or 0) if known else 0
        group["unreported_input_tokens"] += 0 if known else (n or 0)
        group.update((record.uncached_by_reason or {}) if known else {})
        group["output_tokens"] += record.output_tokens or 0
    return sums


@given(st.lists(facts), st.sets(st.sampled_from(DIMENSIONS)))
def test_rows_are_exact(make_record: Make, drawn: list[dict[str, object]], by: set[str]) -> None:
    """Grouped by any of route, customer and prompt version, every sum equals the naive one."""
    records = [make_record(**each) for each in drawn]
    rows = recorded(records).rows(tuple(by))
    expected = naive(records, tuple(by))
    assert {(row.route, row.customer, row.prompt_version) for row in rows} == set(expected)
    for row in rows:
        want = expected[row.route, row.customer, row.prompt_version]
        assert all(getattr(row.sums, name) == want[name] for name in TokenSums.__slots__ if name != "uncached")
        assert row.sums.uncached == {reason: want[reason] for reason in ("new", "page") if want[reason]}


@given(st.lists(facts))
def test_counters_are_exact(make_record: Make, drawn: list[dict[str, object]]) -> None:
    """The token counters equal the naive sums, label set by label set."""
    records = [make_record(**each) for each in drawn]
    aggregate = recorded(records)
    expected = naive(records, DIMENSIONS)
    for metric in catalog.CATALOG[:5]:
        name = metric.name.removeprefix("prefixgate.")
        assert points(aggregate, metric) == {key: sums[name] for key, sums in expected.items()}
    reasons = {(*key, name): sums[name] for key, sums in expected.items() for name in ("new", "page") if sums[name]}
    assert points(aggregate, catalog.UNCACHED_TOKENS) == reasons


@given(st.lists(st.tuples(facts, st.sampled_from(["w1", "w2", None]))))
def test_what_each_worker_delivered_is_exact(
    make_record: Make, drawn: list[tuple[dict[str, object], str | None]]
) -> None:
    """Per worker, the same sums as over its records alone; one that answered nothing has none."""
    records = [make_record(**each, worker=worker) for each, worker in drawn]
    aggregate = recorded(records)
    counted = points(aggregate, catalog.WORKER_UNCACHED)
    for worker in ("w1", "w2"):
        own = [record for record in records if record.worker == worker]
        sums = aggregate.worker(worker)
        assert sums == (only(recorded(own)) if own else None)
        reasons = sums.uncached if sums is not None else {}
        assert {reason: count for (name, reason), count in counted.items() if name == worker} == reasons


def test_unknown_cached_count_is_outside_the_ratio(make_record: Make) -> None:
    """A prompt whose cached count nobody reported counts as unreported only."""
    aggregate = recorded([make_record(), make_record(cached_tokens=None)])
    sums = only(aggregate)
    assert (sums.requests, sums.unknown_requests) == (2, 1)
    assert (sums.input_tokens, sums.cached_tokens, sums.expected_cached_tokens) == (1000, 640, 704)
    assert sums.unreported_input_tokens == 1000
    assert aggregate.rows(())[0].hit_rate == 0.64


def test_known_zero_is_in_the_ratio(make_record: Make) -> None:
    """A reported zero is a miss; nothing reported is no rate at all."""
    assert recorded([make_record(cached_tokens=0)]).rows(())[0].hit_rate == 0.0
    assert recorded([make_record(cached_tokens=None)]).rows(())[0].hit_rate is None
    assert recorded([]).rows(()) == ()


@pytest.mark.parametrize("cached", [-1, 1001])
def test_an_impossible_report_is_no_report(make_record: Make, cached: int) -> None:
    """More cached tokens than the prompt has, or fewer than none, are not believed."""
    sums = only(recorded([make_record(cached_tokens=cached)]))
    assert (sums.input_tokens, sums.cached_tokens, sums.unreported_input_tokens) == (0, 0, 1000)


def test_rows_refuse_other_dimensions(make_record: Make) -> None:
    """Grouping by something else is a named error that lists what there is."""
    with pytest.raises(ConfigError, match="cannot group by 'model': use any of route, customer, prompt_version"):
        recorded([]).rows(["route", "model"])


def test_automatic_versions_join_the_rows_after_promotion(make_record: Make) -> None:
    """The first 20 requests of an automatic version are `other`, later ones its own; the sum is whole."""
    record = make_record(prompt_version="ab12", prompt_version_declared=False)
    rows = recorded([record] * 30).rows(["prompt_version"])
    assert [(row.prompt_version, row.sums.requests) for row in rows] == [("ab12", 10), (OTHER, 20)]


# --- outcomes, routing, histograms ----------------------------------------------------------------------------


def test_outcomes_are_counted(make_record: Make) -> None:
    """A request is counted by route, customer, outcome, error type and status class."""
    failed = make_record(route="rag", status=503, outcome="error", error_type="engine_unavailable", worker=None)
    assert points(recorded([make_record(), failed, failed]), catalog.REQUESTS) == {
        ("default", "anonymous", "ok", "", "2xx"): 1,
        ("rag", "anonymous", "error", "engine_unavailable", "5xx"): 2,
    }


@pytest.mark.parametrize("status", [0, 99, 600, -200, 10**6])
def test_a_status_that_is_none_is_other(make_record: Make, status: int) -> None:
    """No class is invented for a status outside 100 to 599."""
    ((key, _),) = points(recorded([make_record(status=status)]), catalog.REQUESTS).items()
    assert key[-1] == OTHER


def test_decisions_retries_and_rewrites(make_record: Make) -> None:
    """Decisions count requests that reached a worker; retries and rewrites add up per route."""
    aggregate = recorded(
        [
            make_record(retries=2, changes=3),
            make_record(worker="w2", reason=None, changes=1),
            make_record(worker=None, retries=1, route="rag"),
        ]
    )
    assert points(aggregate, catalog.ROUTE_DECISIONS) == {
        ("expected-ttft", "overlap", "w1"): 1,
        ("expected-ttft", "", "w2"): 1,
    }
    assert points(aggregate, catalog.RETRIES) == {("default",): 2, ("rag",): 1}
    assert points(aggregate, catalog.REWRITES) == {("default",): 4}


MODEL = ("chat", "m1", "default")


def count_and_total(aggregate: Aggregate, metric: catalog.Metric) -> dict[tuple[str, ...], object]:
    """A histogram's observations and their sum."""
    found = points(aggregate, metric)
    return {key: (sum(value.counts), value.total) for key, value in found.items() if isinstance(value, Distribution)}


def test_histograms_of_a_streamed_success(make_record: Make) -> None:
    """A successful stream feeds every histogram; TPOT is the time after the first token over the others."""
    aggregate = recorded([make_record()])
    assert count_and_total(aggregate, catalog.HTTP_DURATION) == {("/v1/chat/completions", "200", ""): (1, 1.1)}
    assert count_and_total(aggregate, catalog.REQUEST_DURATION) == {(*MODEL, ""): (1, 1.1)}
    assert count_and_total(aggregate, catalog.CLIENT_DURATION) == {(*MODEL, ""): (1, pytest.approx(1.0996))}
    assert count_and_total(aggregate, catalog.TTFT) == {MODEL: (1, 0.1)}
    assert count_and_total(aggregate, catalog.TPOT) == {MODEL: (1, pytest.approx(0.01))}
    assert count_and_total(aggregate, catalog.TOKEN_USAGE) == {
        (*MODEL, "input"): (1, 1000.0),
        (*MODEL, "output"): (1, 101.0),
    }
    assert count_and_total(aggregate, catalog.OVERHEAD) == {("default",): (1, 0.0004)}


@pytest.mark.parametrize(
    "fields",
    [
        {"stream": False},
        {"ttft_s": None},
        {"outcome": "truncated"},
        {"status": 500, "outcome": "error", "error_type": "500"},
        {"status": 400},
    ],
    ids=str,
)
def test_first_token_only_of_streamed_successes(make_record: Make, fields: dict[str, object]) -> None:
    """What was not streamed or did not succeed has no time to first token and none per output token."""
    aggregate = recorded([make_record(**fields)])
    assert points(aggregate, catalog.TTFT) == {}
    assert points(aggregate, catalog.TPOT) == {}
    assert len(points(aggregate, catalog.REQUEST_DURATION)) == 1


@pytest.mark.parametrize("output", [None, 0, 1])
def test_time_per_output_token_needs_two_tokens(make_record: Make, output: int | None) -> None:
    """One token has no token after the first, and an unknown number has no rate."""
    aggregate = recorded([make_record(output_tokens=output)])
    assert points(aggregate, catalog.TPOT) == {}
    assert len(points(aggregate, catalog.TTFT)) == 1


def test_the_engines_time_is_without_the_gateways(make_record: Make) -> None:
    """Neither its overhead nor its queue; a request that reached no engine has none."""
    aggregate = recorded([make_record(queued_s=0.5), make_record(worker=None, status=503, error_type="no_engine")])
    assert count_and_total(aggregate, catalog.CLIENT_DURATION) == {(*MODEL, ""): (1, pytest.approx(0.5996))}


def test_exemplars_are_of_sampled_requests(make_record: Make) -> None:
    """The last one of each bucket, with what was observed and when it ended."""
    ids = {"trace_id": "a" * 32, "span_id": "b" * 16}
    first, last = make_record(**ids, sampled=True, ttft_s=0.09), make_record(**ids, sampled=True, ttft_s=0.095)
    slow = make_record(**ids, sampled=True, ttft_s=0.7)
    aggregate = recorded([first, last, slow, make_record(**ids, ttft_s=0.3)])
    ttft = points(aggregate, catalog.TTFT)[MODEL]
    assert isinstance(ttft, Distribution)
    ended = last.started + last.duration_s
    assert ttft.exemplars == ((0.095, ("a" * 32, "b" * 16, ended)), (0.7, ("a" * 32, "b" * 16, ended)))


def test_unknown_tokens_are_not_observed(make_record: Make) -> None:
    """Token usage has no observation where nobody reported a count."""
    aggregate = recorded([make_record(input_tokens=None, cached_tokens=None, output_tokens=None)])
    assert points(aggregate, catalog.TOKEN_USAGE) == {}


def test_other_paths_feed_no_model_metric(make_record: Make) -> None:
    """Listing models is HTTP traffic, not a model request."""
    aggregate = recorded([make_record(path="/v1/models")])
    assert points(aggregate, catalog.REQUEST_DURATION) == {}
    assert len(points(aggregate, catalog.HTTP_DURATION)) == 1


# --- bounds, completeness, threads ----------------------------------------------------------------------------

hostile = st.fixed_dictionaries(
    {
        "path": st.text() | st.sampled_from(["/v1/chat/completions", "/generate"]),
        "route": st.text(),
        "customer": st.text() | st.uuids().map(str),
        "prompt_version": st.none() | st.text() | st.uuids().map(str),
        "prompt_version_declared": st.booleans(),
        "model": st.text() | st.uuids().map(str),
        "worker": st.none() | st.uuids().map(str),
        "policy": st.uuids().map(str),
        "reason": st.none() | st.uuids().map(str),
        "outcome": st.uuids().map(str),
        "error_type": st.none() | st.uuids().map(str),
        "status": st.integers(-(10**6), 10**6),
        "stream": st.booleans(),
    }
)


@settings(max_examples=20)
@given(st.lists(hostile, max_size=80))
def test_series_are_bounded_for_hostile_input(make_record: Make, drawn: list[dict[str, object]]) -> None:
    """Whatever clients send, labels stay few and the sums whole."""
    labels = Labels(max_customers=3, max_prompt_versions=3, max_workers=3)
    aggregate = recorded((make_record(**each) for each in drawn), labels)
    for family in aggregate.snapshot():
        assert len(family.points) <= family.metric.limit
    keys = points(aggregate, catalog.INPUT_TOKENS)
    assert {key[0] for key in keys} <= {"default"}
    assert len({key[1] for key in keys}) <= 3 + 2
    assert len({key[2] for key in keys}) <= 3 + 2
    assert len({key[2] for key in points(aggregate, catalog.ROUTE_DECISIONS)}) <= 3 + 1
    assert {key[1] for key in points(aggregate, catalog.REQUEST_DURATION)} <= {OTHER}
    assert sum(row.sums.requests for row in aggregate.rows()) == len(drawn)


def test_a_label_flood_stays_within_the_limits(make_record: Make) -> None:
    """Thousands of distinct customers and versions leave a bounded number of series, and lose no token."""
    aggregate = Aggregate(Labels(max_customers=500, max_prompt_versions=500))
    for n in range(6000):
        aggregate.record(make_record(customer=f"c{n * 7 % 400}", prompt_version=f"v{n % 450}", worker=f"w{n}"))
    for family in aggregate.snapshot():
        assert len(family.points) <= family.metric.limit
    assert len(points(aggregate, catalog.INPUT_TOKENS)) == catalog.INPUT_TOKENS.limit
    assert only(aggregate).input_tokens == 6000 * 1000


def test_snapshot_covers_the_catalog() -> None:
    """Before the first request every counter and histogram of the catalog is there, without points."""
    snapshot = recorded([]).snapshot()
    assert [family.points for family in snapshot] == [()] * len(snapshot)
    counted = {each for each in catalog.CATALOG if each.kind != "gauge"}
    elsewhere = {catalog.CAPTURES, catalog.SPANS, catalog.SHARED_MESSAGES, catalog.PROCESS_RESTARTS}
    elsewhere |= {metric for metric in counted if ".kv_events." in metric.name}  # no record tells these
    assert {family.metric for family in snapshot} == counted - elsewhere


def test_snapshot_is_a_copy(make_record: Make) -> None:
    """What an exporter holds does not change under it."""
    aggregate = recorded([make_record()])
    before = aggregate.snapshot()
    aggregate.record(make_record())
    assert before == recorded([make_record()]).snapshot()
    assert before != aggregate.snapshot()


def test_label_values_match_the_labels_of_their_metric(make_record: Make) -> None:
    """Every point has exactly one value per label."""
    some = {"retries": 1, "changes": 1, "hoist_saved_tokens": 7, "limit": "tokens", "queued_s": 0.5}
    record = make_record(**some, uncached_by_reason={"new": 360}, usage_anomaly="negative_count", asked_model="m0")
    for family in recorded([record]).snapshot():
        assert all(len(key) == len(family.metric.labels) for key, _ in family.points), family.metric.name
        assert family.points, family.metric.name


def test_a_reader_in_another_thread_sees_whole_records(make_record: Make) -> None:
    """While requests are recorded, every snapshot has a record's tokens all or not at all."""
    aggregate = Aggregate(Labels(models=["m1"]))
    records = [make_record(customer=f"c{n}", input_tokens=10, cached_tokens=10, output_tokens=10) for n in range(30)]
    seen: list[TokenSums] = []

    def read() -> None:
        for _ in range(300):
            seen.extend(row.sums for row in aggregate.rows(()))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        aggregate.record(records[0])  # so that the reader has something to see, however the threads are scheduled
        reader = Thread(target=read)
        reader.start()
        while reader.is_alive():
            for record in records:
                aggregate.record(record)
        reader.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen
    assert [sums for sums in seen if not sums.input_tokens == sums.cached_tokens == sums.output_tokens] == []
