"""Requests served in virtual time, with every one's uncached tokens explained.

One idea: the gateway's own router and the engine model serve real bodies, rewritten, viewed and hashed as the gateway
does it; a token of the engine is four bytes of the view. What a fault costs is told by serving the same requests
without it. The traffic is planted_talks' and planted_demo's.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine_adapter.engine_request import EngineConfig
from gateway.policies import CACHE_AWARE
from gateway.router import Route, Router
from gateway.simulate.fleet import VirtualFleet
from gateway.simulate.workload import SimulatedRequest
from prefix.blocks import block_hashes
from prefix.body import parse_body
from prefix.canonical import Level, ToolCache, rewrite
from prefix.prompt_version import PromptVersions
from prefix.tool_view import ToolViews
from prefix.view import View, prompt_view
from telemetry.knowledge import Knowledge

TOKEN_BYTES = 4
_SEED_TOKENS = 2


@dataclass(frozen=True)
class Prompt:
    """One request: when, what, and which one must have ended before.

    workers: those it may go to, None for all. group: what its tokens are counted under.
    """

    arrival_s: float
    view: View
    blocks: tuple[int, ...]
    version: str | None
    after: int | None
    output_tokens: int = 8
    workers: Collection[str] | None = None
    group: str = ""

    @property
    def tokens(self) -> int:
        """As the engine counts them."""
        return _SEED_TOKENS + -(-len(self.view.text) // TOKEN_BYTES)

    def simulated(self, number: int, page: int) -> SimulatedRequest:
        """For the engine: its key is the namespace, then the view's bytes, then an output that nobody else has."""
        room = -(-(self.tokens + self.output_tokens) // page) * page * TOKEN_BYTES
        text = self.view.text.ljust((self.tokens - _SEED_TOKENS) * TOKEN_BYTES)
        key = (self.view.seed.to_bytes(8, "little") + text + f"{number:08}".encode() * room)[:room]
        return SimulatedRequest(
            self.arrival_s, self.tokens, self.output_tokens, self.blocks, (), key, None, self.after
        )


class Preparing:
    """Bodies as the gateway sends and sees them at a level: view, block hashes, prompt version."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self._tools, self._views, self._versions = ToolCache(), ToolViews(), PromptVersions()

    def prompt(self, arrival_s: float, raw: bytes, salt: str, after: int | None, **more: Any) -> Prompt:
        """The prompt of one body."""
        body = parse_body(raw)
        made = rewrite(body, self._tools, self._level)
        span = body.spans.get("tools")
        tools = made.replacements.get(span, body.slice("tools")) if span is not None else None
        view = prompt_view(made.body, tools, self._views, salt=salt)
        label = self._versions.version(body, tools and self._tools.array(tools).raw)
        return Prompt(arrival_s, view, tuple(block_hashes(view.text, view.seed)), label, after, **more)


class Explained(Router):
    """A router that has every request's uncached tokens explained: `reasons`, by number of the request."""

    def __init__(self, policy: str, prompts: Sequence[Prompt], page: int) -> None:
        super().__init__(policy, block_tokens=512 / TOKEN_BYTES)
        self._prompts = {id(prompt.blocks): number for number, prompt in enumerate(prompts)}
        self._all = prompts
        self._page = page
        self._knowledge: Knowledge[int] = Knowledge()
        self._sights: dict[int, Any] = {}
        self.reasons: list[dict[str, int]] = [{} for _ in prompts]

    def route(self, blocks: Sequence[int], prompt_tokens: int, now: float, **more: Any) -> Route:
        number = self._prompts[id(blocks)]
        prompt = self._all[number]
        route = super().route(blocks, prompt_tokens, now, candidates=prompt.workers, **more)
        sight = self._knowledge.at_dispatch(
            prompt.view,
            prompt.blocks,
            prompt.version,
            route.worker,
            held_blocks=route.held_blocks,
            fleet_blocks=route.fleet_blocks,
            follows=route.reason in CACHE_AWARE,
        )
        self._sights[route.number] = number, sight
        return route

    def release(self, route: Route, now: float, *, cached_tokens: int | None, **more: Any) -> None:
        super().release(route, now, cached_tokens=cached_tokens, **more)
        number, sight = self._sights.pop(route.number)
        tokens = self._all[number].tokens
        explained = self._knowledge.finished(
            sight, number, 0, prompt_tokens=tokens, cached_tokens=cached_tokens, page_tokens=self._page
        )
        assert cached_tokens is not None
        assert sum(explained.uncached.values()) == tokens - cached_tokens
        self.reasons[number] = {str(reason): count for reason, count in explained.uncached.items()}


def serve(
    prompts: Sequence[Prompt], policy: str, engines: Sequence[EngineConfig], page: int = 1
) -> list[dict[str, int]]:
    """Uncached tokens of each prompt by reason; every sum is checked."""
    router = Explained(policy, prompts, page)
    requests = [prompt.simulated(number, page) for number, prompt in enumerate(prompts)]
    VirtualFleet(engines, router).play(requests, lambda _: None)
    return router.reasons


def by_group(prompts: Sequence[Prompt], reasons: Iterable[dict[str, int]]) -> dict[str, Counter[str]]:
    """Uncached tokens by reason, of each group of prompts."""
    total: dict[str, Counter[str]] = {}
    for prompt, counted in zip(prompts, reasons, strict=True):
        total.setdefault(prompt.group, Counter()).update(counted)
    return total
