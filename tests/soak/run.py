"""One soak from its start to its verdict.

The rate is set so that the gateway's process uses the wanted share of one core: a short calibration at a modest rate
gives its CPU seconds per request. Memory is compared between one sixth of the run and its end, so before all that
the tables that are bounded (index, popularity) are filled, and a burst takes what many requests at once need: what
grows afterwards grows without bound.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice

from tests.soak.fleet import Soaked, soaked
from tests.soak.load import Tally, send_at_rate
from tests.soak.traffic import filling, requests

ENGINES = 3
MEMORY_RATIO = 1.02
_FILL_S, _FILL_RATE = 16.0, 40.0
_BURST_S, _BURST_RATE = 0.3, 2000.0
_CALIBRATE_S, _CALIBRATE_RATE = 8.0, 300.0
_SETTLE_S = 10.0


@dataclass(frozen=True, slots=True)
class Soak:
    """What was seen. cpu_share: of one core, by the gateway. memory: bytes at one sixth of the run and at its end."""

    seconds: float
    per_second: float
    cpu_us: float
    cpu_share: float
    memory_early: int
    memory_end: int
    slots_left: int
    descriptors: tuple[int, int]
    tally: Tally

    def faults(self) -> list[str]:
        """What is not as promised; empty: the soak passed."""
        found = []
        if self.memory_end > MEMORY_RATIO * self.memory_early:
            found.append(f"memory grew from {self.memory_early:,} to {self.memory_end:,} bytes")
        if self.slots_left:
            found.append(f"{self.slots_left} slots are still taken")
        if self.descriptors[1] > self.descriptors[0]:
            found.append("file descriptors at rest: {} before the load, {} after it".format(*self.descriptors))
        if self.tally.wrong_count:
            found.append(f"{self.tally.wrong_count} answers were wrong: {'; '.join(self.tally.wrong)}")
        if not self.tally.outcomes["ok"]:
            found.append("no request succeeded")
        return found


async def soak(
    *, seconds: float, share: float, seed: int = 1, distinct: int | None = None, progress: Callable[[str], None]
) -> Soak:
    """Run it. share: of one core that the gateway is to use. distinct: how many requests there are, which then come
    again: a short run cannot fill tables that hold tens of thousands of prompts."""
    async with soaked(ENGINES) as gateway:
        traffic = requests(seed) if distinct is None else cycle(list(islice(requests(seed), distinct)))
        at_rest = max(await _descriptors_at_rest(gateway))
        warm = Tally()
        await send_at_rate(
            gateway.url, filling(seed), per_second=_FILL_RATE, seconds=_FILL_S, seed=seed, tally=Tally()
        )
        await send_at_rate(gateway.url, traffic, per_second=_BURST_RATE, seconds=_BURST_S, seed=seed, tally=Tally())
        before = gateway.cpu_s()
        await send_at_rate(
            gateway.url, traffic, per_second=_CALIBRATE_RATE, seconds=_CALIBRATE_S, seed=seed, tally=warm
        )
        cost = (gateway.cpu_s() - before) / sum(warm.outcomes.values())
        rate = share / cost
        progress(f"calibrated: {cost * 1e6:.0f} us of CPU per request, so {rate:.0f} requests/s for {share:.0%}")
        tally, memory = Tally(), [0]
        watch = asyncio.create_task(_watch(gateway, seconds, memory, tally, progress))
        before = gateway.cpu_s()
        await send_at_rate(gateway.url, traffic, per_second=rate, seconds=seconds, seed=seed + 1, tally=tally)
        used, end = gateway.cpu_s() - before, gateway.resident_bytes()
        await watch
        slots = await _slots_left(gateway)
        return Soak(
            seconds=seconds,
            per_second=sum(tally.outcomes.values()) / seconds,
            cpu_us=used / sum(tally.outcomes.values()) * 1e6,
            cpu_share=used / seconds,
            memory_early=memory[0],
            memory_end=end,
            slots_left=slots,
            descriptors=(at_rest, min(await _descriptors_at_rest(gateway))),
            tally=tally,
        )


async def _watch(
    gateway: Soaked, seconds: float, early: list[int], tally: Tally, progress: Callable[[str], None]
) -> None:
    """Note the early memory; tell now and then how it stands."""
    for step in range(1, 13):
        await asyncio.sleep(seconds / 12)
        if step == 2:
            early[0] = gateway.resident_bytes()
        now = gateway.resident_bytes()
        progress(
            f"{step}/12: {sum(tally.outcomes.values()):,} requests, {tally.wrong_count} wrong, {now / 2**20:.1f} MiB"
        )


async def _slots_left(gateway: Soaked) -> int:
    """Slots still taken some seconds after the last answer."""
    for _ in range(int(_SETTLE_S / 0.1)):
        if not (slots := await gateway.slots()):
            break
        await asyncio.sleep(0.1)
    return slots


async def _descriptors_at_rest(gateway: Soaked) -> list[int]:
    """Open descriptors once the pools' idle connections have been swept; looks at the engines come and go in them."""
    await asyncio.sleep(_SETTLE_S / 2)
    seen = []
    for _ in range(20):
        seen.append(gateway.descriptors())
        await asyncio.sleep(_SETTLE_S / 40)
    return seen
