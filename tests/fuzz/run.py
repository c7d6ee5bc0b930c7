"""Targets in turn, each with fresh examples, until the time is over."""

import random
import time
from collections.abc import Callable
from contextlib import ExitStack

from hypothesis import HealthCheck, Phase, seed, settings

from tests.fuzz.admin import admin
from tests.fuzz.body import canonical_body
from tests.fuzz.server import target
from tests.fuzz.stream import stream_tap
from tests.fuzz.wire import wire

_EXAMPLES = 100
_SETTINGS = settings(
    max_examples=_EXAMPLES,
    deadline=None,
    database=None,
    derandomize=False,
    phases=(Phase.generate, Phase.target, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def fuzz(seconds: float, *, first_seed: int, progress: Callable[[str], None]) -> dict[str, int]:
    """Examples tried per target. A finding is raised as hypothesis reports it, with what reproduces it."""
    tried: dict[str, int] = {}
    rng = random.Random(first_seed)
    end = time.monotonic() + seconds
    with ExitStack() as stack:
        at = stack.enter_context(target())
        targets = [_SETTINGS(each) for each in (stream_tap, canonical_body, wire(at), admin(at))]
        rounds = 0
        while time.monotonic() < end:
            for each in targets:
                used = rng.getrandbits(64)
                try:
                    seed(used)(each)()
                except BaseException:
                    progress(f"{each.__name__} failed with seed {used}")
                    raise
                tried[each.__name__] = tried.get(each.__name__, 0) + _EXAMPLES
            rounds += 1
            if rounds % 20 == 0:
                progress(f"{sum(tried.values()):,} examples, {max(0.0, end - time.monotonic()):.0f} s left")
    return tried
