"""Everything that must be known and made before the first request is sent.

Bodies are all made here, so that making them costs no request its punctuality; a plan that would need more memory
than MOST_BYTES is refused rather than made late.
"""

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final

import msgspec

from gateway.bench.arrivals import gamma_arrivals, stamped_arrivals
from gateway.bench.client import Target
from gateway.bench.options import PAIRS, Isolation, Options
from gateway.bench.plan import ALONE, Slot, Turns, limited, slots
from gateway.bench.requests import PATHS, TraceText, check_salt, probe_body
from gateway.bench.source import Source, read_bodies, read_source
from gateway.bench.target import choose_model, header_of, known_models, probe
from prefix.errors import ConfigError

MOST_BYTES: Final = 2 << 30
_SEEDS: Final = 1_000_000
_APIS: Final = {path: api for api, path in PATHS.items()}


class Prepared(msgspec.Struct, frozen=True):
    """A run that can begin. planned: of an open loop, None for a closed one. bodies: by side."""

    source: Source
    seed: int
    isolation: Isolation
    model: str | None
    planned: list[Slot] | None
    turns: Turns
    bodies: list[list[bytes]]
    warnings: list[str]

    def slots(self, options: Options) -> Iterator[Slot]:
        """The plan, for one side."""
        if self.planned is not None:
            return iter(self.planned)
        return limited(slots(self.source.afters, repeat(0.0)), count_of(options, self.source), None)


def read(options: Options) -> Source:
    """The requests. Raises TraceError with file and line."""
    most = options.requests
    if options.prompts is not None:
        return read_bodies(options.prompts, api=options.api, most=most)
    assert options.trace is not None
    return read_source(options.trace, api=options.api or "chat", block_tokens=options.block_tokens, most=most)


def headers_of(options: Options) -> dict[str, str]:
    """What goes with every request. Raises ConfigError."""
    headers = dict(map(header_of, options.header))
    return headers if options.key_env is None else headers | _bearer("--key-env", options.key_env)


def admin_headers(options: Options, headers: Mapping[str, str]) -> dict[str, str]:
    """What the target's gauges are asked for with. Raises ConfigError."""
    name = options.admin_key_env
    return dict(headers) if name is None else dict(headers) | _bearer("--admin-key-env", name)


def _bearer(option: str, name: str) -> dict[str, str]:
    if not (key := os.environ.get(name)):
        raise ConfigError(f"{option} {name}: there is no such environment variable, or it is empty")
    return {"authorization": f"Bearer {key}"}


async def prepare(options: Options, source: Source, targets: Sequence[Target]) -> Prepared:
    """Ask the targets, plan, make the bodies. Raises ConfigError, TraceError, EngineError."""
    isolation = options.isolated(source.kind)
    paths = sorted({request.path for request in source.requests})
    if isolation == "salt":
        check_salt(paths)
    model, warned = None, []
    for target in targets:
        model = choose_model(options.model or model, source.models(), await known_models(target), target.url)
        asked = model or next(iter(sorted(source.models())), "")
        for path in paths:
            text = TraceText(_APIS[path], asked, 1, ignore_eos=options.ignore_eos and source.kind == "trace")
            warned.append(await probe(target, path, probe_body(text)))
    seed = random.SystemRandom().randrange(_SEEDS) if options.seed is None else options.seed
    planned = plan(options, source, seed)
    used = len(source.requests) if planned is None else max((slot.ask for slot in planned), default=-1) + 1
    source = msgspec.structs.replace(source, requests=source.requests[:used])
    bodies = [_bodies(options, source, model, isolation, f"{seed}{'AB'[side]}") for side in range(len(targets))]
    if sum(map(len, bodies[0])) * len(bodies) > MOST_BYTES:
        raise ConfigError("the prompts take more than 2 GiB of memory: use --requests, --duration or --shrink")
    notes = [note for note in (*source.notes, *warned) if note]
    return Prepared(source, seed, isolation, model, planned, _turns(options, planned), bodies, notes)


def plan(options: Options, source: Source, seed: int) -> list[Slot] | None:
    """The slots of an open loop; None for a closed one, whose times nobody knows. Raises ConfigError."""
    if options.how == "closed":
        return None
    rate = options.rate or 1.0
    if options.how == "trace":
        times = stamped_arrivals([request.at_s for request in source.requests], rate)
    else:
        shape = options.shape if options.how == "gamma" else 1.0
        times = gamma_arrivals(rate, shape, random.Random(seed))  # noqa: S311 - to be repeated, not to be secret
    return list(limited(slots(source.afters, times), count_of(options, source), options.seconds("duration")))


def count_of(options: Options, source: Source) -> int | None:
    """How many requests at most; without any limit, each of the source's once."""
    if options.requests is not None or options.duration is not None:
        return options.requests
    return len(source.requests)


def _turns(options: Options, planned: Sequence[Slot] | None) -> Turns:
    if options.compare is None:
        return ALONE
    duration = options.seconds("duration") if planned is None else planned[-1].at_s if planned else 0.0
    window = options.seconds("window") or (duration and duration / PAIRS)
    if not window:
        raise ConfigError("--compare needs to know how long a window is: give --duration, or --window 10s")
    return Turns(options.interleave, window)


def _bodies(options: Options, source: Source, model: str | None, isolation: Isolation, key: str) -> list[bytes]:
    text = TraceText(options.api or "chat", model or "", source.block_tokens or 1, options.shrink, options.ignore_eos)
    return source.bodies(
        text,
        key=f"{key} " if isolation == "prompts" else "",
        model=options.model,
        salt=f"bench-{key}" if isolation == "salt" else None,
    )
