"""The log of the lint benchmark: 5,000 requests of about 3 KB over ten routes, six of them with one known fault each.

    python -m tests.bench.lint_log FILE [COUNT]

What is wrong with each route, if anything, is in FAULTS: the truth that findings are compared with.
"""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

FAULTS: Final = {
    "clock": "PC101",
    "ids": "PC103",
    "names": "PC104",
    "tools": "PC401",
    "line ends": "PC301",
    "examples": "PC203",
}
ROUTES: Final = (*FAULTS, "plain", "constant date", "with tools", "conversation")
_WORDS: Final = "where parcel size order money card ship oslo blue shoes again late refund agent seal".split()
_NAMES: Final = ("Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Tony", "Leslie")
_CHAT_EVERY: Final = 60


def route_of(number: int) -> str:
    """The route of the request in this line, from 0."""
    return ROUTES[number % len(ROUTES)]


def rules(route: str) -> list[str]:
    """The constant text of a route: about 2.7 KB, with no phrase of another one."""
    name = route.capitalize()
    return [
        f"{name} rule {at}: in cases of kind {route} {at * 7} the {route} clerk answers with care {at}.\n"
        for at in range(30)
    ]


def tools(route: str) -> list[dict[str, Any]]:
    """Eight tools."""
    schema = {"type": "object", "properties": {"id": {"type": "string", "description": "which one"}}}
    return [
        {
            "type": "function",
            "function": {"name": f"{name}_{route}", "description": f"The {name} of {route}.", "parameters": schema},
        }
        for name in _WORDS[:8]
    ]


def _system(route: str, at: int, dice: random.Random) -> str:
    text = rules(route.replace(" ", "_"))
    heads: dict[str, Callable[[], str]] = {
        "clock": lambda: f"Current time: 2026-03-01T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}Z\n",
        "ids": lambda: f"Request id: {dice.getrandbits(128):032x}\n",
        "names": lambda: f"The customer is called {dice.choice(_NAMES)} {dice.choice(_NAMES)}, a member.\n",
        "constant date": lambda: "Prices as of 2026-03-01.\n",
    }
    if route == "examples":
        dice.shuffle(text)
    joined = heads.get(route, str)() + "".join(text)
    return joined.replace("\n", "\r\n") if route == "line ends" and dice.random() < 0.5 else joined


def requests(count: int = 5000) -> list[dict[str, Any]]:
    """The bodies, always the same."""
    dice = random.Random(8)
    said: list[dict[str, str]] = []
    bodies = []
    for number in range(count):
        route, at = route_of(number), number // len(ROUTES)
        question = {"role": "user", "content": " ".join(dice.choices(_WORDS, k=30))}
        if route == "conversation":
            said = [] if at % 20 == 0 else said
            said += [question, {"role": "assistant", "content": " ".join(dice.choices(_WORDS, k=_CHAT_EVERY // 2))}]
            turns = said[:-1]
        else:
            turns = [question]
        body: dict[str, Any] = {"model": "m"}
        if route in ("tools", "with tools"):
            offered = tools(route.replace(" ", "_"))
            if route == "tools":
                dice.shuffle(offered)
            body["tools"] = offered
        body["messages"] = [{"role": "system", "content": _system(route, at, dice)}, *turns]
        bodies.append(body)
    return bodies


def write(file: Path, count: int = 5000) -> None:
    """The log as JSONL."""
    file.write_text("".join(json.dumps(body) + "\n" for body in requests(count)), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
