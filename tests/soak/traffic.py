"""What the soak sends: a seeded, endless sequence of requests, and what each must come to.

A request belongs to one of a few templates, so that prefixes are shared; its length varies; its tail is unique, so
that an index without bounds would grow for ever. One in twenty asks the engines for a fault, one in ten leaves.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

Leave = Literal["never", "before the answer", "in the answer"]
CHAT: Final = "/v1/chat/completions"
FAULT_SHARE: Final = 0.05
LEAVE_SHARE: Final = 0.10
FAULTS: Final = ("status=500", "status=503", "die=0", "die=3")
_TEMPLATES: Final = 24
_FILLING_WORDS: Final = 12_000
_WORDS: Final = "the cache of prompts seen before keeps what was computed while it has room for it ".split()


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. fault: what its engines were asked to do wrong, None: nothing. body: JSON bytes."""

    body: bytes
    stream: bool
    fault: str | None
    leave: Leave

    @property
    def expected(self) -> frozenset[str]:
        """The outcomes (of `answers.outcome`) that are right for it."""
        if self.fault is None:
            return frozenset(("ok",))
        if self.fault == "status=500":
            return frozenset(("500",))
        if self.fault == "status=503":
            return frozenset(("503",))
        if self.fault == "die=3" and self.stream:
            return frozenset(("broken",))
        return frozenset(("502", "503"))  # 503: meanwhile no worker was left to try


def requests(seed: int) -> Iterator[Asked]:
    """The sequence of a seed."""
    draw = random.Random(seed)
    systems = [_text(draw, 200 * 2 ** (n % 6)) for n in range(_TEMPLATES)]
    number = 0
    while True:
        number += 1
        stream = draw.random() < 0.6
        fault = draw.choice(FAULTS) if draw.random() < FAULT_SHARE else None
        leaves = fault is None and draw.random() < LEAVE_SHARE / (1 - FAULT_SHARE)
        leave: Leave = draw.choice(("before the answer", "in the answer")) if leaves else "never"
        question = f"{number}: {_text(draw, draw.randint(5, 60))}"
        yield Asked(_body(draw.choice(systems), question, stream, draw.randint(4, 24)), stream, fault, leave)


def filling(seed: int) -> Iterator[Asked]:
    """Long prompts that share nothing: a few hundred fill every bounded table of the gateway."""
    text = _text(random.Random(seed), _FILLING_WORDS)
    number = 0
    while True:
        number += 1
        yield Asked(_body(f"{number}: {text}", "Go on.", False, 1), False, None, "never")


def _body(system: str, question: str, stream: bool, max_tokens: int) -> bytes:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return msgspec.json.encode(
        {"model": "m", "messages": messages, "max_tokens": max_tokens, "ignore_eos": True, "stream": stream}
    )


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_WORDS, k=words))
