"""SGLang's scheduler in virtual time: one KV pool, one queue, prefill before decode.

One idea: `step` plays what one scheduler iteration decides and says how long it takes; whoever calls it owns
the clock (the simulated server sleeps, a simulator adds). Read in SGLang 0.5.23 (managers/scheduler.py,
schedule_policy.py, schedule_batch.py, mem_cache/common.py, allocation.py), with the defaults of its flags:

- FCFS; the prefix is matched when a request is scheduled; every 32nd pass touches the waiting ones' prefixes.
- Prefill is cut into chunks; a chunk is stored in the tree before the next one is scheduled, the prompt after
  the last one, prompt and output (but the last token) when the request ends, split at the prompt's end.
- Decode takes a page for each request that needs one and evicts for it; without room it retracts the requests
  with the least output, which queue again.

Requests carry keys of prefix.radix, so tokens and hashed blocks both work; what they say is not its business.
"""

from collections import OrderedDict
from itertools import islice

from engine_adapter.engine_decode import DecodeBatch
from engine_adapter.engine_pool import allocate, decode_room, release, room_at_once, store
from engine_adapter.engine_prefill import PrefillPass, Verdict
from engine_adapter.engine_request import Chunk, EngineConfig, EngineRequest, Load, Report, Step
from prefix.errors import EngineError
from prefix.radix import RadixCache

FIRST_RATIO, LEAST_RATIO, RATIO_STEPS = 0.7, 0.7 * 0.14, 600
RATIO_STEP = (FIRST_RATIO - LEAST_RATIO) / RATIO_STEPS
RETRACT_STEPS = 20
TOUCH_EVERY, TOUCHED_WAITING = 32, 128


class EngineModel:
    """One engine."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.cache = RadixCache(config.kv_capacity_tokens, config.page_tokens, page_bytes=config.page_bytes)
        self.waiting: OrderedDict[EngineRequest, None] = OrderedDict()
        self.running = DecodeBatch(config.page_tokens)
        self.chunked: EngineRequest | None = None
        self._ratio = FIRST_RATIO  # part of the allowed output that is reserved for running requests
        self._full = False  # no admission until a request leaves
        self._passes = 0

    def submit(self, request: EngineRequest) -> None:
        """Queue a request. Raises EngineError for a prompt that does not fit; cuts too long an output."""
        config = self.config
        if not 0 < request.prompt_tokens < config.input_limit:
            raise EngineError(
                f"Input length ({request.prompt_tokens} tokens) exceeds the maximum allowed length "
                f"({config.input_limit} tokens). Use a shorter input or enable --allow-auto-truncate."
            )
        request.max_output_tokens = config.output_limit(request.prompt_tokens, request.max_output_tokens)
        request.output_tokens = min(request.output_tokens, request.max_output_tokens)
        self.waiting[request] = None

    def abort(self, request: EngineRequest) -> None:
        """The client left: free its place now. What it computed stays cached as far as the engine keeps it."""
        if request in self.waiting:
            del self.waiting[request]
        elif request is self.chunked:
            self.chunked = None
            release(self.cache, request)
        elif request in self.running:
            self._leave(request, keep=True)

    def flush(self) -> bool:
        """Forget the cache; refused (False) while there are requests."""
        if not self.busy:
            self.cache.reset()
        return not self.busy

    @property
    def busy(self) -> bool:
        """Whether `step` has something to do."""
        return bool(self.waiting or self.running.count or self.chunked)

    @property
    def full(self) -> bool:
        """Whether what arrives must wait until a running request leaves."""
        return self._full

    def load(self) -> Load:
        """What /v1/loads reports."""
        uncached = sum(request.length - request.matched for request in self.waiting)
        if self.chunked is not None:
            uncached += self.chunked.length - self.chunked.computed
        cache = self.cache
        used = cache.capacity_tokens - cache.free_tokens - cache.evictable_tokens
        return Load(self.running.count + (self.chunked is not None), len(self.waiting), uncached, used)

    def quiet_s(self) -> float:
        """Seconds in which nothing but unreported decode steps will happen, unless a request arrives."""
        steps = self._steps_at_rest()
        return self._decode_s(steps - 1) if steps > 1 else 0.0

    def rest(self) -> tuple[int, float]:
        """Decode steps up to the next report and their seconds, when nothing else happens before it; else zeros."""
        steps = self._steps_at_rest()
        return (steps, self._decode_s(steps)) if steps else (0, 0.0)

    def play_rest(self, steps: int) -> list[Report]:
        """Play what `rest` told; no request was submitted since, or none that the engine has room for."""
        demand = self.running.page_demand(steps)
        room_at_once(self.cache, self.running, steps, demand)
        return self._advance(steps, demand)

    def step(self, horizon_s: float = 0.0) -> Step | None:
        """Run one iteration, and further decode steps until there is a report or horizon_s is over.

        None: there is nothing to do.
        """
        batch = self._schedule_prefill()
        if batch:
            return self._prefill(batch)
        if self.running.count:
            return self._decode(horizon_s)
        self._ratio = FIRST_RATIO
        return None

    def _schedule_prefill(self) -> list[Chunk]:
        """Choose the prompts of the next iteration and allocate their KV cache."""
        chunked = self.chunked
        if chunked is not None:
            store(self.cache, chunked)
        running = self.running.count
        if not running:
            self._full = False
        if (self._full or not self.waiting) and chunked is None:
            return []
        if running >= self.config.max_running and chunked is None:
            self._full = True
            return []
        if self.waiting:
            self._touch_waiting()
        pass_ = PrefillPass(self.config, self.cache, self.running, self._ratio)
        if chunked is not None:
            pass_.resume(chunked)
        self._admit(pass_)
        self.chunked = pass_.cut
        allocate(self.cache, pass_.chunks)
        return pass_.chunks

    def _touch_waiting(self) -> None:
        """Keep what the queue will match: the head's prefix is the most recent afterwards."""
        if self._passes % TOUCH_EVERY == 0:
            match = self.cache.match
            for request in reversed(list(islice(self.waiting, TOUCHED_WAITING))):
                match(request.key, request.prompt_tokens + request.produced, request.namespace)
        self._passes += 1

    def _admit(self, pass_: PrefillPass) -> None:
        waiting, chunks, running = self.waiting, pass_.chunks, self.running.count
        most = self.config.max_running - running
        if not waiting or pass_.verdict() is Verdict.NO_COMPUTE:
            return
        while waiting:
            request = next(iter(waiting))
            taken = len(chunks)
            if taken >= most:
                self._full = True
                return
            verdict = pass_.admit(request)
            if len(chunks) > taken:
                del waiting[request]
                if not request.retractions:
                    request.cached_tokens = request.matched
            if verdict is not Verdict.GO_ON:
                if verdict is Verdict.NO_MEMORY:
                    self._full = bool(chunks or running)
                return

    def _prefill(self, batch: list[Chunk]) -> Step:
        timing = self.config.timing
        seconds = 0.0
        reports = []
        for request, start, end in batch:
            seconds += timing.prefill_s(start, end)
            if request is self.chunked:
                continue
            request.produced = min(request.produced + 1, request.output_tokens)
            finished = request.produced >= request.output_tokens
            store(self.cache, request)
            if finished:
                release(self.cache, request)
            else:
                self.running.join(request)
            reports.append(Report(request, request.produced, finished))
        return Step(timing.prefill_step_s + seconds, reports)

    def _steps_at_rest(self) -> int:
        """Decode steps up to the next report when there is nothing else to do and memory for them; else 0."""
        running = self.running
        if not running.count or self.chunked is not None or (self.waiting and not self._full):
            return 0
        steps, room = running.steps_to_report(), self.cache.available_tokens
        if running.count * (steps + self.config.page_tokens) <= room or running.page_demand(steps) <= room:
            return steps
        return 0

    def _decode_s(self, steps: int) -> float:
        return self.config.timing.decode_s(self.running.count, self.running.context_tokens, steps)

    def _decode(self, horizon_s: float) -> Step:
        """Decode to the next report, the horizon or a retraction, at once while there is memory for every step."""
        seconds, running, timing = 0.0, self.running, self.config.timing
        cache = self.cache
        while True:
            steps, took = timing.decode_until(
                running.count, running.context_tokens, horizon_s - seconds, running.steps_to_report()
            )
            demand, retracted = running.page_demand(steps), False
            if not room_at_once(cache, running, steps, demand):
                retracted = not decode_room(cache, running)
                if retracted:
                    self._retract()
                steps, demand, took = 1, running.page_demand(), self._decode_s(1)
            seconds += took
            reports = self._advance(steps, demand, cool=not retracted)
            if reports or retracted or seconds >= horizon_s:
                return Step(seconds, reports)

    def _advance(self, steps: int, demand: int, *, cool: bool = True) -> list[Report]:
        """So many decode steps, for which there is memory; cool: they did without a retraction."""
        if cool:
            self._ratio = max(LEAST_RATIO, self._ratio - steps * RATIO_STEP)
        self.cache.held_tokens += demand
        return [self._report(request) for request in self.running.advance(steps)]

    def _report(self, request: EngineRequest) -> Report:
        produced = self.running.produced(request)
        finished = produced >= request.output_tokens
        if finished:
            self._leave(request, keep=True)
        return Report(request, produced, finished)

    def _retract(self) -> None:
        """Send requests with the least output back to the queue until the others have room."""
        ranked = self.running.by_retraction()
        while len(ranked) > 1:
            request = ranked.pop()
            self._leave(request, keep=False)
            self.cache.make_room(len(ranked) * RETRACT_STEPS)
            request.computed = request.matched = 0
            request.retractions += 1
            self.waiting[request] = None
            if decode_room(self.cache, self.running):
                break
        produced = sum(self.running.produced(request) for request in ranked)
        allowed = sum(request.max_output_tokens for request in ranked)
        self._ratio = min(1.0, (produced + RETRACT_STEPS * len(ranked)) / (allowed + 1))

    def _leave(self, request: EngineRequest, *, keep: bool) -> None:
        self.running.leave(request)
        self._full = False
        if keep:
            store(self.cache, request)
        release(self.cache, request)
