"""gateway.demo.workload and its script: the trace's structure survives, and the two bad habits are there."""

import re
from collections import Counter, defaultdict
from datetime import datetime
from itertools import takewhile
from typing import Any

import msgspec
import pytest

from gateway.demo import script
from gateway.demo.workload import SHRINK, WINDOW_S, DemoRequest, Workload, build_workload, conversation
from gateway.trace_file import BUNDLED_BLOCK_TOKENS, BUNDLED_TRACE, read_trace
from prefix.errors import TraceError
from prefix.trace import TraceRequest, arrival_seconds

TRACE = read_trace(BUNDLED_TRACE)


def build(trace: list[TraceRequest] = TRACE, *, count: int = 300, seconds: float = 10.0) -> Workload:
    return build_workload(trace, block_tokens=BUNDLED_BLOCK_TOKENS, count=count, seconds=seconds, model="m")


def body(request: DemoRequest) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(request.body)
    return decoded


WORKLOAD = build()


def test_same_every_time() -> None:
    """Each pass, and each run, sends the very same requests at the very same times."""
    assert build() == WORKLOAD


def test_count_and_time() -> None:
    """The number of requests asked for arrives, in order, over the seconds asked for."""
    arrivals = [request.arrival_s for request in WORKLOAD.requests]
    assert len(arrivals) == 300
    assert arrivals == sorted(arrivals)
    assert arrivals[0] == 0
    assert arrivals[-1] == pytest.approx(10.0)


def test_all_there_is() -> None:
    """Asking for more than the trace's half hour holds gives all of it."""
    assert len(build(count=3000).requests) == sum(arrival < WINDOW_S for arrival in arrival_seconds(TRACE))


def test_whole_conversations() -> None:
    """All turns of a chosen conversation are replayed (but for the last one drawn)."""
    within = [request for request in TRACE if request.timestamp < 1_800_000]
    turns = Counter(map(conversation, within))
    sent: Counter[str] = Counter()
    sizes = {len(body(request)["messages"]) for request in WORKLOAD.requests}
    assert len(sizes) > 20
    for request in WORKLOAD.requests:
        sent[body(request)["messages"][1]["content"]] += 1
    assert sum(sent.values()) == 300
    assert sum(count > 1 for count in turns.values()) > 100
    multi = [count for count in sent.values() if count > 1]
    assert sum(multi) > 150


def test_every_label_occurs() -> None:
    """Three routes, six customers and two prompt versions, each in the traffic; a conversation keeps its own."""
    seen = [set(column) for column in zip(*(request.labels for request in WORKLOAD.requests), strict=True)]
    assert seen == [set(script.ROUTES), set(script.CUSTOMERS), set(script.PROMPT_VERSIONS)]
    labels = defaultdict(set)
    for request in WORKLOAD.requests:
        first = body(request)["messages"][1]["content"]
        labels[first if len(first) == BUNDLED_BLOCK_TOKENS else request.body].add(request.labels)
    assert all(len(of_one) == 1 for of_one in labels.values())


def test_shares_add_up() -> None:
    """The shares of routes, customers and versions are whole."""
    for shares in (script.ROUTES, script.CUSTOMERS, script.PROMPT_VERSIONS):
        assert sum(shares.values()) == pytest.approx(1)


def test_body_is_a_streaming_chat_completion() -> None:
    """Bodies are chat completions whose user speaks last, with the trace's output length, scaled."""
    line = TraceRequest(0, 512 * 3 + 100, 400, (0, 1, 2, 3))
    (request,) = build([line]).requests
    sent = body(request)
    assert (sent["model"], sent["stream"], sent["max_tokens"]) == ("m", True, 400 // SHRINK)
    assert sent["stream_options"] == {"include_usage": True}
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert [len(message["content"]) for message in sent["messages"][1:]] == [512, 512, 100]


def test_next_turn_starts_with_this_one() -> None:
    """A turn that continues another one has all of its full blocks as leading messages."""
    turns = [TraceRequest(0, 1300, 9, (0, 1, 2)), TraceRequest(60_000, 2300, 9, (0, 1, 7, 8, 9))]
    one, two = (body(request)["messages"] for request in build(turns).requests)
    same = list(takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    assert len(same) == (2 if one[0] == two[0] else 0)
    assert one[1] == two[1]


def test_clock_moves_each_second() -> None:
    """One prompt version opens with the trace's time, to the second; no other has a clock."""
    clocks = defaultdict(set)
    for request in WORKLOAD.requests:
        system = body(request)["messages"][0]["content"]
        found = re.match(r"Current time: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC\.\n", system)
        clocks[request.route, request.prompt_version].add(found and datetime.fromisoformat(found[1]))
    with_clock = {labels for labels, times in clocks.items() if times != {None}}
    assert with_clock == {script.CLOCK}
    assert len(clocks[script.CLOCK]) > 20


def test_tools_are_one_set_in_many_orders() -> None:
    """One route's tools are the same set in as many orders as there are client processes; the others have none."""
    orders = defaultdict(set)
    for request in WORKLOAD.requests:
        names = tuple(tool["function"]["name"] for tool in body(request).get("tools", ()))
        orders[request.route].add(names)
    shuffled = orders.pop(script.SHUFFLED_ROUTE)
    assert 6 < len(shuffled) <= script.CLIENT_PROCESSES
    assert len({frozenset(order) for order in shuffled}) == 1
    assert all(of_route == {()} for of_route in orders.values())


def test_rejects_another_block_size() -> None:
    """A trace of other blocks is refused instead of being replayed with wrong prefixes."""
    with pytest.raises(TraceError, match="blocks of 64"):
        build_workload(TRACE, block_tokens=64, count=10, seconds=1, model="m")
