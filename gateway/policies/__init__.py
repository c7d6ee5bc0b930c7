"""What a routing policy is, and where it is found: one module of this package, named like the policy.

A policy prices every candidate; the router takes the cheapest. It is pure: all it may look at is in `Request` and
`Candidate`, both built anew for each request. To add one, write `gateway/policies/<name>.py` with its algorithm
explained at the top and a `POLICY` of type `Policy`; `expected-ttft` is then the name of `expected_ttft.py`.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, Literal, Protocol

import msgspec

from gateway.exact import Told
from prefix.errors import RoutingError

Reason = Literal[
    "only_candidate",
    "affinity",
    "cheaper_elsewhere",
    "holder_excluded",
    "spread",
    "warm_up",
    "load",
    "turn",
    "lot",
    "ring",
    "session",
]
"""Why a worker was chosen.

only_candidate: there was no choice. affinity: no worker held more of the prompt. cheaper_elsewhere: a candidate held
more, but cost more. holder_excluded: only a worker that is no candidate held more. spread: nobody held any of it.
warm_up: a candidate held more, but this one is new or restarted and gets some known prompts. load, turn, lot, ring,
session: the policy does not look at what workers hold.
"""

CACHE_AWARE: Final[frozenset[Reason]] = frozenset(("affinity", "cheaper_elsewhere", "spread", "warm_up"))
"""Reasons of choices made among several workers by what they hold."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """The request to place, and what the router has learned about the fleet.

    blocks: chained block hashes. prompt_tokens: 1 or more. session: the client's, if any. number: counts requests
    up from 1; with seed it makes a policy's own pseudo-random numbers (`scramble`). prefill_rate: tokens/s that a
    worker prefills. decode_s: mean seconds from the first token to the end of a response. busy: share of the workers
    that had a prompt to prefill, 0 to 1, as requests found it lately.
    """

    blocks: Sequence[int]
    prompt_tokens: int
    session: str | None
    number: int
    seed: int
    prefill_rate: float
    decode_s: float
    busy: float


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """One worker as this request would find it; tokens unless noted.

    overlap: of the prompt, believed to be cached (half credit where it is still being computed); uncached: the
    rest, 1 or more. known_blocks, pinned_blocks, computed_blocks: leading blocks held in any form, by requests in
    flight, and those that no request is still having computed. pending: uncached prompt tokens dispatched to the
    worker and without a first token yet; wait: the part of them that is still to be computed (both with what the
    engine reports beyond that, and as many tokens as a worker of the mean speed computes in that time). slowness:
    seconds that its prefill takes by those of the fleet. queued: requests without a first token yet; in_flight:
    requests. kv_tokens: KV memory in use with this request added; kv_capacity: of the worker, None when unknown.
    assigned: uncached tokens given to it so far. last_routed: number of the last request it got, 0 for none.
    cold: share of its warm-up that is still to come, for the few requests that may warm up a worker; else 0.
    told: what its KV events say of the prompt, believed or not; None without events or where the prompt's pages are
    not known.
    """

    worker: str
    overlap: int
    uncached: int
    known_blocks: int
    pinned_blocks: int
    pending: float
    wait: float
    in_flight: int
    kv_tokens: float
    kv_capacity: float | None
    assigned: int
    last_routed: int
    cold: float = 0.0
    computed_blocks: int = 0
    slowness: float = 1.0
    queued: int = 0
    told: Told | None = None


class Policy(Protocol):
    """Prices the candidates of a request."""

    @property
    def reason(self) -> Reason | None:
        """The reason of every choice, for a policy that ignores what workers hold; else None."""

    def costs(self, request: Request, candidates: Sequence[Candidate], /) -> Sequence[float]:
        """One finite cost a candidate, in their order. Equal costs are decided by the router."""


PREFIX_BLOCKS = 2
"""Blocks that tell prompts apart for policies that hash: 1 KiB of prompt in the gateway."""


def policy_names() -> tuple[str, ...]:
    """The names of all policies, sorted."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)))


POLICIES = policy_names()
"""The names of all policies, as found when the program began."""


def find_policy(name: str) -> Policy:
    """The policy of this name; raises RoutingError, with the nearest name, when there is none."""
    if name not in POLICIES:
        near = get_close_matches(name, POLICIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there is: {', '.join(POLICIES)}"
        raise RoutingError(f"unknown policy {name!r}; {hint}")
    policy: Policy = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").POLICY
    return policy


def prefix_point(request: Request) -> int:
    """64 bits that prompts with the same first blocks share; one too short to have a block draws its own."""
    leading = request.blocks[:PREFIX_BLOCKS]
    return scramble(leading[-1] if leading else scramble(request.seed) ^ request.number)


def scramble(number: int) -> int:
    """64 pseudo-random bits that depend on all bits of `number` (splitmix64's finalizer)."""
    z = (number + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return z ^ (z >> 31)
