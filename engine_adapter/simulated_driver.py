"""The engine's clock: plays engine_model's iterations in real time, `speed` times as fast.

One idea: an iteration is decided, slept through, then reported. Decode steps that nobody listens to are not slept
through one by one: the driver rests until the next report or arrival and then plays all that passed.
"""

import asyncio
from collections.abc import Callable

from engine_adapter.engine_model import EngineModel
from engine_adapter.engine_request import EngineRequest, Report

LATE_S = 0.02  # a clock that is further behind (a stalled process) does not run after the lost time

Listener = Callable[[Report], None]


class EngineDriver:
    """Runs one EngineModel. `submit` and `abort` may be called from any task of the same loop."""

    def __init__(self, model: EngineModel, speed: float) -> None:
        self._model = model
        self._speed = speed
        self._listeners: dict[EngineRequest, Listener] = {}
        self._wake = asyncio.Event()
        self._free_at = 0.0

    def submit(self, request: EngineRequest, listener: Listener) -> None:
        """Queue a request; the listener hears each of its reports. Raises EngineError if it cannot ever run."""
        self._model.submit(request)
        self._listeners[request] = listener
        self._wake.set()

    def abort(self, request: EngineRequest) -> None:
        """Forget a request, wherever it stands."""
        if self._listeners.pop(request, None) is not None:
            self._model.abort(request)

    async def run(self) -> None:
        """Play for ever."""
        clock = asyncio.get_running_loop().time
        while True:
            if not self._model.busy:
                await self._rest(None)
                self._free_at = max(self._free_at, clock())
            step = self._model.step(await self._quiet())
            if step is None:
                continue
            now = clock()
            start = self._free_at if now - self._free_at < LATE_S else now
            self._free_at = start + step.seconds / self._speed
            await asyncio.sleep(max(0.0, self._free_at - clock()))
            for report in step.reports:
                self._tell(report)

    async def _quiet(self) -> float:
        """Wait while only unheard decode steps lie ahead; the engine's seconds that passed."""
        quiet = self._model.quiet_s()
        if quiet <= 0:
            return 0.0
        await self._rest(quiet / self._speed)
        return max(0.0, asyncio.get_running_loop().time() - self._free_at) * self._speed

    async def _rest(self, seconds: float | None) -> None:
        """Until a request arrives, at most `seconds`."""
        self._wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    def _tell(self, report: Report) -> None:
        listener = self._listeners.get(report.request)
        if listener is None:
            return
        if report.finished:
            del self._listeners[report.request]
        listener(report)
