"""gateway.ranks: an engine with several DP ranks is as many workers behind one address."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from engine_adapter.simulated import SimulatedEngine
from engine_adapter.simulated_options import EngineOptions
from gateway.config import CustomerConfig
from gateway.identity import new_key
from gateway.models import Models
from gateway.ranks import chosen_rank, rank_names, split_rank
from prefix.body import parse_body
from tests.gateway.running import CHAT, GENERATE, Running, running, sums, until

MESSAGES = "/v1/messages"


def engine(dp: int = 2) -> SimulatedEngine:
    """A fast engine with so many ranks that remembers what it got."""
    return SimulatedEngine(EngineOptions(model="m", dp=dp, speed=100.0, remember=200))


def prompt(tenant: int, turn: int = 0, **more: Any) -> dict[str, Any]:
    """A chat whose long system prompt is its tenant's."""
    system = f"tenant {tenant} " * 400
    messages = [{"role": "system", "content": system}, {"role": "user", "content": f"question {turn}"}]
    return {"model": "m", "max_tokens": 2, "messages": messages, **more}


def told(engine: SimulatedEngine) -> list[Any]:
    """The rank in each request that the engine got."""
    return [msgspec.json.decode(each.body).get("routed_dp_rank") for each in engine.received]


async def ask(gateway: Running, body: Any, path: str = CHAT, **headers: str) -> tuple[int, str]:
    """Status and worker of an answer."""
    async with gateway.post(path, body, **headers) as response:
        await response.read()
        return response.status, response.headers.get("x-prefixgate-worker", "")


def test_names_tell_endpoint_and_rank() -> None:
    """There and back; an engine with one rank keeps its plain name."""
    assert rank_names("h:1", 1) == ("h:1",)
    assert [split_rank(name) for name in rank_names("h:1.base", 2)] == [("h:1.base", 0), ("h:1.base", 1)]
    assert split_rank("[::1]:30000") == ("[::1]:30000", None)


@pytest.mark.parametrize(
    ("body", "headers", "rank"),
    [
        (b"{}", [], None),
        (b'{"routed_dp_rank":1}', [], 1),
        (b'{"routed_dp_rank":null,"data_parallel_rank":2}', [], 2),
        (b'{"routed_dp_rank":"1"}', [], None),
        (b'{"routed_dp_rank":-1}', [], None),
        (b'{"routed_dp_rank":1}', [(b"x-data-parallel-rank", b"0")], 0),
        (b"{}", [(b"x-override-routed-dp-rank", b" 3 ")], 3),
        (b"{}", [(b"x-data-parallel-rank", b"one")], None),
    ],
)
def test_a_clients_choice_is_read_as_the_engine_reads_it(
    body: bytes, headers: list[tuple[bytes, bytes]], rank: int | None
) -> None:
    """A header before the body, the older name where the newer one is absent, nothing that is no rank."""
    assert chosen_rank(parse_body(body), headers) == rank


def test_a_worker_may_come_back_with_other_ranks() -> None:
    """The router has the ranks that are there now, and none of them when the worker leaves."""
    models = Models("expected-ttft")
    for ranks, names in ((2, {"w#0", "w#1"}), (3, {"w#0", "w#1", "w#2"}), (1, {"w"}), (2, {"w#0", "w#1"})):
        models.join("w", ["m"], 1000, 0.0, ranks=ranks)
        group = models.group("m")
        assert (set(group.router.holdings()), group.several) == (names, ranks > 1)
    assert group.names({"w"}, None) == {"w#0", "w#1"}
    assert group.names({"w"}, 1) == {"w#1"}
    assert group.names({"w"}, 7) == {"w#0", "w#1"}
    models.leave("w")
    assert not group.router.holdings()


async def test_a_prefix_stays_on_its_rank() -> None:
    """Each tenant's prompts meet on one rank, which the engine is told and where they hit; both ranks have work."""
    async with engine() as dp, running(dp) as gateway:
        homes: dict[int, set[str]] = {}
        for turn in range(4):
            for tenant in range(6):
                status, worker = await ask(gateway, prompt(tenant, turn))
                assert status == 200
                homes.setdefault(tenant, set()).add(worker)
        await until(gateway.settled)
        assert all(len(workers) == 1 for workers in homes.values())
        name = gateway.workers[0].id
        shares = Counter(next(iter(workers)) for workers in homes.values())
        assert shares.keys() == {f"{name}#0", f"{name}#1"}
        assert [f"{name}#{rank}" for rank in told(dp)] == [record.worker for record in gateway.records]
        assert sum((record.cached_tokens or 0) > 0 for record in gateway.records) == 18
        assert all(model.cache.cached_tokens > 0 for model in dp.ranks.models)


async def test_an_engine_with_one_rank_is_told_nothing() -> None:
    """No member is added, the worker has no rank in its name."""
    async with engine(dp=1) as dp, running(dp) as gateway:
        assert await ask(gateway, prompt(0)) == (200, gateway.workers[0].id)
        assert told(dp) == [None]


async def test_the_clients_choice_is_kept() -> None:
    """In open mode, from body or header; what is out of range is the engine's to refuse; nothing is added."""
    async with engine() as dp, running(dp) as gateway:
        name = gateway.workers[0].id
        for turn in range(2):
            for rank in (1, 0):
                assert await ask(gateway, prompt(0, turn, routed_dp_rank=rank)) == (200, f"{name}#{rank}")
        assert told(dp) == [1, 0, 1, 0]
        body = {"text": "x" * 2000, "sampling_params": {"max_new_tokens": 1}}
        assert await ask(gateway, body, GENERATE, x_override_routed_dp_rank="1") == (200, f"{name}#1")
        status, _ = await ask(gateway, prompt(0, routed_dp_rank=2))
        assert status == 400
        assert told(dp)[4:] == [None, 2]


async def test_a_customer_may_not_choose() -> None:
    """With customers configured the field is 403; their requests are placed like any other."""
    key, stored = new_key()
    customers = {"acme": CustomerConfig(keys=(stored,))}
    async with engine() as dp, running(dp, customers=customers) as gateway:
        bearer = f"Bearer {key}"
        status, _ = await ask(gateway, prompt(0, routed_dp_rank=1), authorization=bearer)
        assert (status, told(dp)) == (403, [])
        status, _ = await ask(gateway, prompt(0), authorization=bearer)
        assert (status, len(told(dp))) == (200, 1)
        assert told(dp)[0] in (0, 1)


async def test_ranks_are_shown_and_counted() -> None:
    """/workers has each rank with its own load, the breaker and the state are the endpoint's, a flush forgets all."""
    async with engine() as dp, running(dp) as gateway:
        for tenant in range(4):
            await ask(gateway, prompt(tenant))
        (worker,) = gateway.workers
        await until(lambda: worker.load is not None)
        async with gateway.http.get("/workers") as response:
            (row,) = (await response.json())["workers"]
        assert [rank["id"] for rank in row["ranks"]] == [f"{worker.id}#0", f"{worker.id}#1"]
        assert {rank["waiting"] for rank in row["ranks"]} == {0}
        assert (row["state"], row["breaker"]) == ("up", "closed")
        router = gateway.app.workers.models.group("m").router
        metrics = await gateway.metrics()
        assert sums(metrics, "prefixgate_prefix_tree_blocks") == sum(router.holdings().values()) > 0
        gateway.app.workers.models.forget(worker.id)
        assert not any(router.holdings().values())


async def test_an_api_without_the_field_is_told_by_header() -> None:
    """/v1/messages: the body is not touched, and prompts hit on their rank all the same."""
    async with engine() as dp, running(dp) as gateway:
        for turn in range(3):
            for tenant in range(3):
                assert (await ask(gateway, prompt(tenant, turn), MESSAGES))[0] == 200
        await until(gateway.settled)
        named = [each.headers.get("x-data-parallel-rank") for each in dp.received]
        assert [record.worker for record in gateway.records] == [f"{gateway.workers[0].id}#{rank}" for rank in named]
        assert set(named) == {"0", "1"}
        assert told(dp) == [None] * 9
        assert sum((record.cached_tokens or 0) > 0 for record in gateway.records) == 6
