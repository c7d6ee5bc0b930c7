"""Traffic with planted faults, served in virtual time: what each reason counts beside what its fault really cost.

One idea: the trace is a function of the faults planted in it, and nothing else differs between two replays, so the
uncached tokens that vanish when a fault is taken out are what it cost. The prompts are real bodies, rewritten, viewed
and hashed as the gateway does it; a token of the engine is four bytes of the view. Three prompt versions (the third
with tools), 12 customers with a document each, conversations of up to four turns, questions that never come again.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from engine_adapter.engine_request import EngineConfig
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
from tests.cases import wire

FAULTS = ("clock", "tools", "small_cache", "salt", "round_robin")
TOKEN_BYTES = 4
ENGINES = 3
_SEED_TOKENS = 2
_OUTPUT = 8
_WORDS = (
    "the of and to in is that for it with as on be at by this have from or one had not but what all were when".split()
)


@dataclass(frozen=True)
class Prompt:
    """One request: when, what, and which one must have ended before."""

    arrival_s: float
    view: View
    blocks: tuple[int, ...]
    version: str | None
    after: int | None

    @property
    def tokens(self) -> int:
        """As the engine counts them."""
        return _SEED_TOKENS + -(-len(self.view.text) // TOKEN_BYTES)

    def simulated(self, number: int, page: int) -> SimulatedRequest:
        """For the engine: its key is the namespace, then the view's bytes, then an output that nobody else has."""
        room = -(-(self.tokens + _OUTPUT) // page) * page * TOKEN_BYTES
        text = self.view.text.ljust((self.tokens - _SEED_TOKENS) * TOKEN_BYTES)
        key = (self.view.seed.to_bytes(8, "little") + text + f"{number:08}".encode() * room)[:room]
        return SimulatedRequest(self.arrival_s, self.tokens, _OUTPUT, self.blocks, (), key, None, self.after)


def words(size: int, *seed: object) -> str:
    """Text of this many characters, the same for the same seed."""
    chance = Random(str(seed))
    return " ".join(chance.choice(_WORDS) for _ in range(size // 2))[:size]


def traffic(faults: Iterable[str], count: int = 600, seed: int = 1) -> list[Prompt]:
    """The trace with these faults planted."""
    planted = frozenset(faults)
    chance = Random(seed)
    level: Level = "off" if "tools" in planted else "safe"
    tools, views, versions = ToolCache(), ToolViews(), PromptVersions()
    prompts: list[Prompt] = []
    now = 0.0
    while len(prompts) < count:
        now += chance.expovariate(4.0)
        version, customer, talk = chance.randrange(3), chance.randrange(12), len(prompts)
        after, arrival = None, now
        for turn in range(chance.randint(1, 4)):
            salt = str(talk % 40) if version == 0 and customer < 6 and "salt" in planted else ""
            body = parse_body(wire(_body(version, customer, talk, turn, planted)))
            made = rewrite(body, tools, level)
            raw = made.replacements.get(body.spans["tools"], body.slice("tools")) if version == 2 else None
            view = prompt_view(made.body, raw, views, salt=salt)
            label = versions.version(body, raw and tools.array(raw).raw)
            prompts.append(Prompt(arrival, view, tuple(block_hashes(view.text, view.seed)), label, after))
            after, arrival = len(prompts) - 1, arrival + chance.uniform(3.0, 20.0)
    return prompts[:count]


def _body(version: int, customer: int, talk: int, turn: int, planted: frozenset[str]) -> dict[str, Any]:
    clock = f"It is 2026-11-30T{talk // 3600:02}:{talk // 60 % 60:02}:{talk % 60:02}Z turn {turn}. "
    front = clock if version == 1 and "clock" in planted else ""
    system = f"You are assistant {version}. {front}{words(4000, 'system', version)}"
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": words(1600, "document", customer) + words(300, talk, 0)},
    ]
    for past in range(turn):
        messages += [
            {"role": "assistant", "content": words(200, "answer", talk, past)},
            {"role": "user", "content": words(300, talk, past + 1)},
        ]
    body: dict[str, Any] = {"model": "m", "messages": messages}
    if version == 2:
        body["tools"] = [_tool(number) for number in range(10)]
        if "tools" in planted:
            Random(f"{talk}.{turn}").shuffle(body["tools"])
    return body


def _tool(number: int) -> dict[str, Any]:
    function = {"name": f"tool_{number}", "description": words(300, "tool", number), "parameters": {"type": "object"}}
    return {"type": "function", "function": function}


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
        route = super().route(blocks, prompt_tokens, now, **more)
        number = self._prompts[id(blocks)]
        prompt = self._all[number]
        sight = self._knowledge.at_dispatch(
            prompt.view,
            prompt.blocks,
            prompt.version,
            route.worker,
            held_blocks=route.held_blocks,
            fleet_blocks=route.fleet_blocks,
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


def replay(faults: Iterable[str], *, page: int = 1, count: int = 600, seed: int = 1) -> Counter[str]:
    """Uncached tokens of the whole trace by reason; every request's sum is checked."""
    planted = frozenset(faults)
    prompts = traffic(planted, count, seed)
    policy = "round-robin" if "round_robin" in planted else "expected-ttft"
    capacity = 6_000 if "small_cache" in planted else 2_000_000
    config = EngineConfig(page_tokens=page, page_bytes=TOKEN_BYTES * page, kv_capacity_tokens=capacity)
    router = Explained(policy, prompts, page)
    VirtualFleet(ENGINES, config, router).play(
        [prompt.simulated(number, page) for number, prompt in enumerate(prompts)], lambda _: None
    )
    total: Counter[str] = Counter()
    for reasons in router.reasons:
        total.update(reasons)
    return total
