"""The DP ranks of a simulated engine: as many schedulers, caches and clocks, and who gets a request.

As SGLang 0.5.23 has it (managers/data_parallel_controller.py, managers/tokenizer_manager.py): `routed_dp_rank` goes
where it says, out of range is refused, and without it the ranks take turns, whatever they hold. Simplified: all
prompts and answers of one HTTP request go to one rank.
"""

import asyncio
from collections.abc import Sequence
from itertools import count

from engine_adapter.engine_model import EngineModel
from engine_adapter.engine_request import EngineConfig
from engine_adapter.simulated_driver import EngineDriver
from prefix.errors import EngineError


class Ranks:
    """So many ranks of one engine, each with all of `config`. models: their schedulers."""

    def __init__(self, config: EngineConfig, ranks: int, speed: float) -> None:
        self.models: Sequence[EngineModel] = [EngineModel(config) for _ in range(ranks)]
        self._drivers = [EngineDriver(model, speed) for model in self.models]
        self._turns = count()

    def pick(self, rank: int | None) -> EngineDriver:
        """The rank that gets a request. Raises EngineError for one that is not there."""
        if rank is None:
            return self._drivers[next(self._turns) % len(self._drivers)]
        if not 0 <= rank < len(self._drivers):
            raise EngineError(f"routed_dp_rank={rank} out of range [0, {len(self._drivers)})")
        return self._drivers[rank]

    async def run(self) -> None:
        """Play for ever."""
        await asyncio.gather(*(driver.run() for driver in self._drivers))

    def flush(self) -> bool:
        """Forget all caches; refused (False) while there are requests."""
        return not any(model.busy for model in self.models) and all(model.flush() for model in self.models)
