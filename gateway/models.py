"""Which workers serve which model: one router and one bytes-per-token ratio per base model.

Adapters of one base model share its router (their blocks differ, their KV pool does not). A request may name a
base model, an adapter, or `base:adapter`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from engine_adapter.engine import EngineLoad
from gateway.errors import Refusal
from gateway.ranks import rank_names, split_rank
from gateway.router import Route, Router
from gateway.shared.told import Told
from prefix.blocks import BLOCK_BYTES

INITIAL_BYTES_PER_TOKEN = 4.0
_WEIGHT = 0.05
_SANE = (1.0, 16.0)


class ModelGroup:
    """One base model: its router (of this policy), its workers and which of them may get requests now, and the
    bytes of view a token has.

    ranks: each worker's names in the router (gateway.ranks). several: whether a worker has more than one.
    observations: how often the bytes per token were learned. told: None when there are no other gateways.
    """

    __slots__ = (
        "bytes_per_token",
        "name",
        "observations",
        "policy",
        "ranks",
        "ready",
        "router",
        "several",
        "told",
    )

    def __init__(self, name: str, policy: str, *, seed: int = 0, told: Told | None = None) -> None:
        self.name = name
        self.policy = policy
        self.told = told
        self.bytes_per_token = INITIAL_BYTES_PER_TOKEN
        self.observations = 0
        self.router = Router(policy, block_tokens=BLOCK_BYTES / INITIAL_BYTES_PER_TOKEN, seed=seed)
        self.ranks: dict[str, tuple[str, ...]] = {}
        self.several = False
        self.ready: frozenset[str] = frozenset()

    @property
    def workers(self) -> AbstractSet[str]:
        """Ids of its workers."""
        return self.ranks.keys()

    def enter(self, worker: str, ranks: int, kv_capacity_tokens: int | None, now: float) -> None:
        """A worker with so many DP ranks serves this model; one that is here may have another number of them now."""
        names = rank_names(worker, ranks)
        for name in self.ranks.get(worker, ()):
            if name not in names:
                self.router.remove_worker(name)
        for name in names:
            self.router.add_worker(name, kv_capacity_tokens=kv_capacity_tokens, now=now)
        self.ranks[worker] = names
        self.several = any(len(each) > 1 for each in self.ranks.values())

    def quit(self, worker: str) -> None:
        """A worker does not serve it any more."""
        for name in self.ranks.pop(worker):
            self.router.remove_worker(name)
        self.ready = self.ready - {worker}
        self.several = any(len(each) > 1 for each in self.ranks.values())

    def names(self, workers: AbstractSet[str], rank: int | None) -> AbstractSet[str]:
        """What the router calls these workers: every rank of them, or this one only where a worker has it."""
        if not self.several:
            return workers
        every = {name for worker in workers for name in self.ranks[worker]}
        return {name for name in every if split_rank(name)[1] == rank} or every if rank is not None else every

    def place(
        self,
        blocks: Sequence[int],
        prompt_tokens: int,
        now: float,
        *,
        max_output_tokens: int | None,
        candidates: AbstractSet[str],
        session: str | None,
    ) -> Route:
        """Have the router choose; see `Router.route`."""
        route = self.router.route(
            blocks, prompt_tokens, now, max_output_tokens=max_output_tokens, candidates=candidates, session=session
        )
        if self.told is not None:
            self.told.placed(self.name, route, blocks, prompt_tokens, max_output_tokens, now)
        return route

    def first_token(self, route: Route, now: float) -> None:
        """The request has its first token."""
        self.router.on_first_token(route, now)
        if self.told is not None:
            self.told.first_token(route, now)

    def release(self, route: Route, now: float, *, cached_tokens: int | None, output_tokens: int) -> None:
        """The request ended; see `Router.release`."""
        self.router.release(route, now, cached_tokens=cached_tokens, output_tokens=output_tokens)
        if self.told is not None:
            self.told.released(route, now, cached_tokens, output_tokens)

    def learn_ratio(self, view_bytes: int, prompt_tokens: int) -> None:
        """One observation: a view of so many bytes was so many tokens. Long prompts count more than short ones."""
        if prompt_tokens < 32:
            return  # the template's own tokens dominate
        seen = min(max(view_bytes / prompt_tokens, _SANE[0]), _SANE[1])
        weight = _WEIGHT * min(1.0, prompt_tokens / 1024)
        self.observations += 1
        self._believe(self.bytes_per_token + weight * (seen - self.bytes_per_token))

    def adopt(self, observations: int, bytes_per_token: float, scales: Mapping[str, float]) -> None:
        """What another gateway learned, if from more observations: the bytes per token, corrected capacities."""
        if observations > self.observations:
            self.observations = observations
            self._believe(min(max(bytes_per_token, _SANE[0]), _SANE[1]))
            self.router.scales = scales

    def _believe(self, bytes_per_token: float) -> None:
        self.bytes_per_token = bytes_per_token
        self.router.block_tokens = BLOCK_BYTES / bytes_per_token


class Models:
    """Model groups by name. told: of each group, for other gateways. seed: of the routers' lots."""

    def __init__(self, policy: str, *, seed: int = 0) -> None:
        self.policy = policy
        self.told: Told | None = None
        self._seed = seed
        self._groups: dict[str, ModelGroup] = {}
        self._bases: dict[str, str] = {}

    def __iter__(self) -> Iterator[ModelGroup]:
        return iter(tuple(self._groups.values()))

    def ids(self) -> list[str]:
        """Every model id that can be asked for, adapters included."""
        return sorted(self._bases)

    def group(self, model: object) -> ModelGroup:
        """The group that serves a requested model; `None` is fine while there is only one.

        Raises Refusal `no_engine` (nothing has ever been up), `model_not_found`, `missing_field`.
        """
        if type(model) is str and (found := self._groups.get(model)) is not None:
            return found
        if not self._groups:
            raise Refusal("no_engine")
        if model is None:
            return self._only()
        if type(model) is not str:
            raise Refusal("invalid_type", "model must be a string", param="/model")
        base = self._bases.get(model) or self._bases.get(model.partition(":")[0])
        if base is None:
            raise Refusal(
                "model_not_found", f"no engine serves {model!r}; there is: {', '.join(self.ids())}", param="/model"
            )
        return self._groups[base]

    def named(self, base: str) -> ModelGroup | None:
        """The group of this base model, None when no worker serves it."""
        return self._groups.get(base)

    def any(self) -> ModelGroup:
        """Some group, for requests that are about no model. Raises Refusal `no_engine`."""
        if not self._groups:
            raise Refusal("no_engine")
        return next(iter(self._groups.values()))

    def group_of(self, worker: str) -> ModelGroup | None:
        """The group a worker is in, None while it has not said what it serves."""
        return next((group for group in self._groups.values() if worker in group.workers), None)

    def lists(self, model: str) -> bool:
        """Whether an engine names it at /v1/models: the model, the adapter, or both parts of `base:adapter`."""
        return model in self._bases or all(part in self._bases for part in model.split(":", 1))

    def join(
        self, worker: str, models: Iterable[str], kv_capacity_tokens: int | None, now: float, *, ranks: int = 1
    ) -> None:
        """A worker serves these models: the first is the base, the others are its adapters or aliases.

        kv_capacity_tokens: of each of its DP ranks.
        """
        names = list(models)
        base = names[0]
        for group in self:
            if worker in group.workers and group.name != base:
                self._quit(group, worker)
        for name in names:
            self._bases[name] = base
        joined = self._groups.get(base)
        if joined is None:
            joined = self._groups[base] = ModelGroup(base, self.policy, seed=self._seed, told=self.told)
        joined.enter(worker, ranks, kv_capacity_tokens, now)

    def leave(self, worker: str) -> None:
        """A worker was taken out."""
        for group in self:
            if worker in group.workers:
                self._quit(group, worker)

    def forget(self, worker: str) -> None:
        """A worker restarted or flushed: it holds no blocks any more."""
        for group in self._groups.values():
            for name in group.ranks.get(worker, ()):
                group.router.reset_worker(name)

    def observe(self, worker: str, load: EngineLoad, now: float) -> None:
        """A worker reported its load, of each rank; what it does not tell is not passed on as zero."""
        loads = load.ranks or (load,)
        for group in self._groups.values():
            names = group.ranks.get(worker, ())
            if len(names) != len(loads):
                continue  # it came back with other ranks, and has not said so yet
            for name, each in zip(names, loads, strict=True):
                if each.waiting_uncached_tokens is not None and each.kv_used_tokens is not None:
                    group.router.observe(
                        name,
                        now,
                        waiting_uncached_tokens=each.waiting_uncached_tokens,
                        running=each.running,
                        kv_used_tokens=each.kv_used_tokens,
                    )

    def set_ready(self, worker: str, *, ready: bool) -> None:
        """Whether a worker may get requests now."""
        for group in self._groups.values():
            if worker in group.workers:
                group.ready = group.ready | {worker} if ready else group.ready - {worker}

    def _quit(self, group: ModelGroup, worker: str) -> None:
        group.quit(worker)
        if not group.workers:
            del self._groups[group.name]
            self._bases = {name: base for name, base in self._bases.items() if base != group.name}

    def _only(self) -> ModelGroup:
        if len(self._groups) > 1:
            raise Refusal(
                "missing_field", f"name a model, the engines serve several: {', '.join(self.ids())}", param="/model"
            )
        return next(iter(self._groups.values()))
