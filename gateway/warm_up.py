"""Workers that joined or lost their cache: how cold each still is, and which requests may warm one up. Pure.

One idea: a worker is as cold as the part that it lacks of what the others held on average when it came (or of what it
has room for); what it is given to prefill fills it. One request in eight may be placed as if filling it were free
(gateway.policies.expected_ttft says up to what), so a new worker gets some known prompts at once and the hit rate has
no cliff. It is over when the worker is full, and after five minutes in any case: what nobody asked it for until then
is not worth a copy.

Source: smg 1.13 sends a new worker one miss in four and one hit in eight for 60 s (with KV events only).
"""

from typing import Final

from gateway.load import Cold, WorkerLoad
from gateway.policies import scramble

EVERY: Final = 8
"""One request in so many may warm up a worker."""

LONGEST_S: Final = 300.0
"""How long a worker is cold at most, in seconds."""


class WarmUps:
    """The cold workers of one router."""

    __slots__ = ("_cold", "_seed")

    def __init__(self, seed: int) -> None:
        self._cold: list[WorkerLoad] = []
        self._seed = scramble(seed)

    def begin(self, load: WorkerLoad, others_hold: int, now: float) -> None:
        """This worker holds nothing, the others so many tokens on average."""
        self.forget(load)
        tokens = others_hold if load.kv_capacity is None else min(others_hold, load.kv_capacity)
        if tokens > 0:
            load.cold = Cold(load.assigned, tokens, now + LONGEST_S)
            self._cold.append(load)

    def forget(self, load: WorkerLoad) -> None:
        """This worker is not cold, or not here, any more."""
        load.cold = None
        self._cold = [cold for cold in self._cold if cold is not load]

    def draw(self, number: int, now: float) -> bool:
        """Whether request `number` may warm up a worker: by lot, while there is a cold one."""
        if not self._cold:
            return False
        for load in self._cold:
            if not load.coldness(now):
                self.forget(load)
        return bool(self._cold) and scramble(self._seed ^ number) % EVERY == 0
