"""A study: one trace, one fleet, several policies and loads. The numbers behind every table and plot."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import process_time

import msgspec

from engine_adapter.engine_request import EngineConfig
from engine_adapter.engine_timing import PROFILES
from gateway.router import Router
from gateway.simulate.fleet import Outcome, Placing, VirtualFleet
from gateway.simulate.measure import Measured, measure, shared_hit_rate
from gateway.simulate.workload import PAGE_BYTES, SimulatedRequest
from prefix.errors import ConfigError

NO_CONTEXT_LIMIT = 2**62


class Setting(msgspec.Struct, frozen=True):
    """The fleet. kv_capacity_tokens: of one engine. profile: of `engine_timing.PROFILES`."""

    engines: int
    kv_capacity_tokens: int
    block_tokens: int
    profile: str
    seed: int

    @property
    def engine(self) -> EngineConfig:
        """One engine: the memory is the only limit of a request's length."""
        return EngineConfig(
            page_tokens=self.block_tokens,
            page_bytes=PAGE_BYTES,
            kv_capacity_tokens=self.kv_capacity_tokens,
            context_tokens=NO_CONTEXT_LIMIT,
            timing=PROFILES[self.profile],
        )


class Row(msgspec.Struct, frozen=True):
    """One policy at one load. simulated_per_s: requests per second of this process's processor time."""

    policy: str
    rate: float
    simulated_per_s: float
    measured: Measured


class Study(msgspec.Struct, frozen=True):
    """All rows, and the hit rates of the two bounds."""

    trace: str
    requests: int
    bad_lines: int
    setting: Setting
    infinite_hit_rate: float
    pooled_hit_rate: float
    rows: Sequence[Row]


def check_room(requests: Sequence[SimulatedRequest], setting: Setting) -> None:
    """Raises ConfigError when the memory of an engine has no room for a prompt."""
    longest = max(request.prompt_tokens for request in requests)
    if longest >= setting.engine.input_limit:
        raise ConfigError(
            f"--kv-capacity {setting.kv_capacity_tokens}: an engine must have room for the longest prompt, "
            f"{longest} tokens; give more than {longest + setting.kv_capacity_tokens - setting.engine.input_limit}"
        )


def bounds(requests: Sequence[SimulatedRequest], setting: Setting) -> tuple[float, float]:
    """Hit rates of one infinite cache, and of one LRU as large as all engines' memory."""
    pool = setting.engines * setting.engine.pool_tokens
    return (
        shared_hit_rate(requests, setting.block_tokens),
        shared_hit_rate(requests, setting.block_tokens, pool),
    )


def run(
    requests: Sequence[SimulatedRequest],
    setting: Setting,
    policy: str,
    rate: float,
    done: Callable[[int], None],
) -> Row:
    """One policy at one load, on a cold fleet. `done` hears how many requests have ended."""
    router = Router(policy, block_tokens=setting.block_tokens, seed=setting.seed)
    return play(requests, setting, policy, router, rate, done)


def play(
    requests: Sequence[SimulatedRequest],
    setting: Setting,
    name: str,
    router: Placing,
    rate: float,
    done: Callable[[int], None],
) -> Row:
    """The same with any router that has no worker yet."""
    outcomes, took_s = outcomes_of(requests, setting, router, rate, done)
    per_s = len(requests) / took_s if took_s else 0.0
    return Row(name, rate, per_s, measure(requests, outcomes, setting.engines))


def outcomes_of(
    requests: Sequence[SimulatedRequest],
    setting: Setting,
    router: Placing,
    rate: float,
    done: Callable[[int], None],
) -> tuple[list[Outcome], float]:
    """What became of each request, and the seconds of processor time that this took."""
    fleet = VirtualFleet([setting.engine] * setting.engines, router, rate=rate)
    with _no_garbage_collection():
        began = process_time()
        outcomes = fleet.play(requests, done)
        return outcomes, process_time() - began


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A run makes millions of objects and no cycles: looking for them costs 5 to 10 %."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
