"""The linter on logs that are like the samples and are not: other places, languages, APIs, envelopes and sessions.

Each is made from the clean samples of tests/data/lint by one fault. What is found is that fault, once, and nothing
else; of the clean ones nothing is found.
"""

import copy
import json
import random
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lint.linter import lint_text

LOGS = Path(__file__).parents[1] / "data" / "lint"
CLEAN, CLAUDE = (
    [json.loads(line) for line in (LOGS / f"c17_clean.{api}.jsonl").read_text(encoding="utf-8").splitlines()]
    for api in ("openai", "anthropic")
)
SYSTEM: str = CLEAN[0]["messages"][0]["content"]
TOOLS = CLEAN[0]["tools"]
NAMES = [
    "Alice Martin",
    "Bob Lee",
    "Carla Gomez",
    "Dmitri Petrov",
    "Eve Chen",
    "Farid Khan",
    "Grace Kim",
    "Hugo Blanc",
]
THINGS = "shoe coat lamp desk ring book tent drum".split()
NOTES = [
    f"Policy note {at}: the {thing} of item {at * 37} is kept for {at + 3} days in hall {at * 2}. Ask the desk."
    for at, thing in enumerate(THINGS)
]
SHOTS = [
    f"Eingabe {at}: Das {thing} kam nicht an und der Kunde ist sehr unzufrieden damit.\nAusgabe: reklamation-{thing}"
    for at, thing in enumerate(THINGS)
]
FRENCH = "".join(
    f"{at}. Le café près de l’hôtel où l’élève a été reçu à Noël était fermé; répétez la règle {at} à l’élève; "
    for at in range(50)
)
LONG_VALUE = {f"k{at}": {"a": at, "b": [at, at + 1]} for at in range(120)}
RANDOM = random.Random(3)
Found = list[tuple[str, str]]


def found(bodies: Sequence[Any]) -> Found:
    text = "".join(json.dumps(body, ensure_ascii=False) + "\n" for body in bodies)
    return sorted((finding.code, finding.severity) for finding in lint_text("log.jsonl", text))


def chats(system: Callable[[int], str], count: int = 8) -> list[dict[str, Any]]:
    """Single turns with this system text, as OpenAI takes them."""
    bodies = [copy.deepcopy(CLEAN[at % 8]) for at in range(count)]
    for at, body in enumerate(bodies):
        body["messages"][0]["content"] = system(at)
        del body["tools"]
    return bodies


def claudes(system: Callable[[int], str]) -> list[dict[str, Any]]:
    """The same as Anthropic takes them."""
    bodies = copy.deepcopy(CLAUDE)
    for at, body in enumerate(bodies):
        body["system"][0]["text"] = system(at)
        del body["tools"]
    return bodies


def responses(system: Callable[[int], str]) -> list[dict[str, Any]]:
    """The same as OpenAI's Responses API takes them."""
    return [
        {"model": "gpt-5", "instructions": system(at), "input": f"What about order {at * 31}?"} for at in range(8)
    ]


def shots(texts: Sequence[str]) -> list[dict[str, str]]:
    return [
        {"role": role, "content": line}
        for text in texts
        for role, line in zip(("user", "assistant"), text.split("\n"), strict=True)
    ]


FRONTS: dict[str, tuple[Callable[[int], str], str, str]] = {
    "uuid": (lambda _: f"Request id: {uuid.UUID(int=RANDOM.getrandbits(128), version=4)}\n", "PC103", "error"),
    "hex": (lambda _: f"trace={RANDOM.getrandbits(64):016x}\n", "PC103", "error"),
    "clock": (lambda at: f"Now {10 + at}:0{at}:11\n", "PC101", "error"),
    "name": (lambda at: f"You are talking with {NAMES[at]}, a valued customer.\n", "PC104", "error"),
    "name in German": (lambda at: f"Sie sprechen mit der Kundin {NAMES[at]}.\n", "PC104", "error"),
    "mail": (lambda at: f"Answer to {NAMES[at].split()[0].lower()}@example.com\n", "PC104", "error"),
    "documents": (lambda _: "Context:\n" + "\n".join(RANDOM.sample(NOTES, 3)) + "\n\n", "PC202", "error"),
    "other words": (lambda at: f"Mode {NAMES[at][::-1]}.\n", "PC201", "error"),
    "address": (lambda _: f"Agent <app.Support object at 0x7f{RANDOM.getrandbits(40):010x}>\n", "PC306", "error"),
    "examples": (lambda _: "Beispiele:\n" + "\n".join(RANDOM.sample(SHOTS, 4)) + "\n", "PC203", "warning"),
    "host": (lambda at: f"Hostname: web-7f9c4d5b6-x{at}k2p\n", "PC107", "warning"),
    "step": (lambda at: f"Step {at + 1} of 20\n", "PC106", "warning"),
}


@pytest.mark.parametrize("api", [chats, claudes, responses])
@pytest.mark.parametrize("name", FRONTS)
def test_text_ahead_of_the_system_text(name: str, api: Callable[[Callable[[int], str]], Sequence[Any]]) -> None:
    """One finding, of the rule that is for it, whatever the API."""
    front, code, severity = FRONTS[name]
    assert found(api(lambda at: front(at) + SYSTEM)) == [(code, severity)]


@pytest.mark.parametrize("api", [chats, claudes, responses])
@pytest.mark.parametrize("name", FRONTS)
def test_the_same_text_in_every_request(name: str, api: Callable[[Callable[[int], str]], Sequence[Any]]) -> None:
    """However volatile it looks: it does not vary."""
    front = FRONTS[name][0](0)
    assert found(api(lambda _: front + SYSTEM)) == []


def in_prompt(front: str, at: int) -> dict[str, Any]:
    return {"model": "m", "prompt": f"{front}{SYSTEM}\nQuestion {at}: {NAMES[at]}?"}


def settings(at: int, **how: Any) -> str:
    return f"Config: {json.dumps({'a': 1, 'region': 'eu', 'k': [1, 2], 'city': 'Köln'}, **how)}\n{SYSTEM}"


def described(at: int, description: str) -> dict[str, Any]:
    tool = {"name": "get_order", "description": description, "parameters": {"type": "object", "properties": {}}}
    return {**copy.deepcopy(CLEAN[at]), "tools": [{"type": "function", "function": tool}]}


def pictured(part: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": [part, {"type": "text", "text": SYSTEM}]}]}


ONE_FAULT: dict[str, tuple[list[dict[str, Any]], Found]] = {
    "documents in a user message": (
        [in_prompt("Documents:\n" + "\n".join(RANDOM.sample(NOTES, 3)) + "\n", at) for at in range(8)],
        [("PC202", "error")],
    ),
    "documents in another order": (
        [in_prompt("Documents:\n" + "\n".join(RANDOM.sample(NOTES, 8)) + "\n", at) for at in range(8)],
        [("PC204", "warning")],
    ),
    "examples behind the rules": (
        chats(lambda _: SYSTEM + "\n" + "\n".join(RANDOM.sample(SHOTS, 8)), 12),
        [("PC203", "warning")],
    ),
    "examples as messages": (
        [
            {
                "model": "m",
                "messages": [*CLEAN[0]["messages"][:1], *shots(RANDOM.sample(SHOTS, 4)), CLEAN[at]["messages"][1]],
            }
            for at in range(8)
        ],
        [("PC203", "warning")],
    ),
    "composed and not": (
        chats(
            lambda at: unicodedata.normalize(("NFC", "NFD")[at % 2], "Le café de l’hôtel fermé à Noël. " * 9 + SYSTEM)
        ),
        [("PC302", "warning")],
    ),
    "accents in every line": (
        chats(lambda at: unicodedata.normalize(("NFC", "NFD")[at % 2], FRENCH)),
        [("PC302", "warning")],
    ),
    "line ends of short lines": (
        chats(lambda at: FRENCH.replace("; ", ("\n", "\r\n")[at % 2])),
        [("PC301", "error")],
    ),
    "a long JSON with an indent": (
        chats(lambda at: json.dumps(LONG_VALUE, indent=2 if at % 2 else None)),
        [("PC304", "warning")],
    ),
    "a long JSON in another order": (
        chats(lambda _: json.dumps(dict(RANDOM.sample(list(LONG_VALUE.items()), len(LONG_VALUE))))),
        [("PC303", "error")],
    ),
    "JSON with an indent": (chats(lambda at: settings(at, indent=2 if at % 2 else None)), [("PC304", "warning")]),
    "JSON with escapes": (chats(lambda at: settings(at, ensure_ascii=bool(at % 2))), [("PC304", "warning")]),
    "a clock in a tool": (
        [described(at, f"Look up an order. Now it is 2026-03-01T10:{10 + at}:07Z") for at in range(8)],
        [("PC404", "error")],
    ),
    "a user in a tool": (
        [described(at, f"Look up orders of user {NAMES[at]}") for at in range(8)],
        [("PC404", "error")],
    ),
    "a schema in a tool": (
        [described(at, f"Look up an order by {THINGS[at]}") for at in range(8)],
        [("PC403", "warning")],
    ),
    "a picture first": (
        [
            pictured({"type": "image_url", "image_url": {"url": f"https://x.example/{name[:4]}.png"}})
            for name in NAMES
        ],
        [("PC703", "warning")],
    ),
    "a signed picture": (
        [
            pictured(
                {"type": "image_url", "image_url": {"url": f"https://x.example/a.png?X-Amz-Signature={at:032x}"}}
            )
            for at in range(8)
        ],
        [("PC701", "warning")],
    ),
    "a key per request": (
        [{**body, "prompt_cache_key": f"k{at}"} for at, body in enumerate(copy.deepcopy(CLEAN))],
        [("PC604", "warning")],
    ),
    "two variants": (
        chats(lambda at: f"You are {('Nora', 'Otto')[at % 2]}.\n{SYSTEM}", 16),
        [("PC206", "info")],
    ),
    "short": (
        [
            {
                "model": "gpt-4o-mini",
                "messages": [{"role": "system", "content": SYSTEM[:1500]}, *body["messages"][1:]],
            }
            for body in CLEAN
        ],
        [("PC205", "info")],
    ),
    "no breakpoint": (
        [
            {**body, "system": SYSTEM * 2, "messages": [{"role": "user", "content": f"{at}?"}]}
            for at, body in enumerate(CLAUDE)
        ],
        [("PC801", "warning")],
    ),
    "prompt logprobs": ([{**body, "prompt_logprobs": 1} for body in CLEAN], [("PC605", "warning")]),
}


@pytest.mark.parametrize("name", ONE_FAULT)
def test_one_fault(name: str) -> None:
    """One finding of the right rule and severity."""
    bodies, expected = ONE_FAULT[name]
    assert found(bodies) == expected


def session(
    newest: Callable[[int], list[dict[str, Any]]], *, trimmed: bool = False, turns: int = 6
) -> list[dict[str, Any]]:
    """Four conversations side by side, in a gateway's log. newest: the messages of a turn, kept in the history."""
    histories: list[list[dict[str, Any]]] = [[{"role": "system", "content": SYSTEM}] for _ in range(4)]
    entries = []
    for turn in range(turns):
        for at, history in enumerate(histories):
            history += newest(turn * 10 + at)
            answer = (
                f"\n\nParcel {turn * at + 7} is near Oslo, {NAMES[at]}. Expect it in week {turn}, by the end of it.\n"
            )
            usage = {"prompt_tokens": 1500, "prompt_tokens_details": {"cached_tokens": 1408 if entries else 0}}
            response = {
                "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}}],
                "usage": usage,
            }
            request = {"model": "gpt-4o", "messages": copy.deepcopy(history)}
            entries.append(
                {"timestamp": 1_772_532_847_000 + len(entries) * 9_000, "request": request, "response": response}
            )
            history.append({"role": "assistant", "content": answer.strip() if trimmed else answer})
    return entries


def agent(compact: bool) -> list[dict[str, Any]]:
    """A session with tools. compact: results of earlier turns are replaced."""
    bodies, turns = [], list[dict[str, Any]]()
    for at in range(8):
        turns.append({"role": "user", "content": f"Question {at}: what about order {1000 + at}?"})
        old = [place for place, turn in enumerate(turns) if turn["role"] == "tool"][:-1] if compact else []
        sent = [{**turn, "content": "[removed]"} if place in old else turn for place, turn in enumerate(turns)]
        bodies.append(
            {"model": "gpt-4o", "messages": [{"role": "system", "content": SYSTEM[:2000]}, *sent], "tools": TOOLS}
        )
        function = {"name": "get_order", "arguments": json.dumps({"order_id": str(1000 + at)})}
        result = {"order": 1000 + at, "lines": [{"sku": f"S{at}{line}", "state": "shipped"} for line in range(9)]}
        turns += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{at}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"call_{at}", "content": json.dumps(result)},
            {
                "role": "assistant",
                "content": f"Order {1000 + at} has been shipped with nine lines, as you can see there.",
            },
        ]
    return bodies


def two_sessions() -> list[dict[str, Any]]:
    """Side by side, and alike but for the first question."""
    sessions = [agent(False), agent(False)]
    for at, bodies in enumerate(sessions):
        for body in bodies:
            body["messages"] = [body["messages"][0], {"role": "user", "content": NAMES[at]}, *body["messages"][1:]]
    return [body for pair in zip(*sessions, strict=True) for body in pair]


def marked_session() -> list[dict[str, Any]]:
    """Append-only, with a mark that goes along."""
    bodies, turns = [], list[dict[str, Any]]()
    for at in range(8):
        turns.append(
            {"role": "user", "content": [{"type": "text", "text": f"Question {at}: where is parcel {at * 31}?"}]}
        )
        messages = copy.deepcopy(turns)
        messages[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
        bodies.append({**CLAUDE[0], "messages": messages})
        turns[-1] = {"role": "user", "content": turns[-1]["content"][0]["text"]}
        turns.append({"role": "assistant", "content": f"Parcel {at * 31} is on its way to you."})
    return bodies


def asks(at: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"[2026-03-01T10:{at:02}:00Z] {NAMES[at % 8]}: where is parcel {at * 31}?"}]


def retrieves(at: int) -> list[dict[str, Any]]:
    text = "Context:\n" + "\n".join(RANDOM.sample([*NOTES, *SHOTS], 3)) + f"\n\nQuestion {at}"
    return [{"role": "user", "content": text}]


SESSIONS: dict[str, tuple[list[dict[str, Any]], Found]] = {
    "append-only": (session(asks), []),
    "append-only with documents": (session(retrieves), []),
    "single turns with documents": (session(retrieves, turns=1), []),
    "answers trimmed": (session(asks, trimmed=True), [("PC504", "info")]),
    "tools": (agent(False), []),
    "the same tools called in two sessions": (two_sessions(), []),
    "texts to embed": (
        [{"model": "embed", "input": [SYSTEM[at * 300 :][:900], SYSTEM[at * 300 + 300 :][:900]]} for at in range(12)],
        [],
    ),
    "tool results removed": (agent(True), [("PC502", "error")]),
    "a mark that goes along": (marked_session(), []),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(name: str) -> None:
    """Conversations that only grow are clean, whatever stands in the newest message and around the bodies."""
    bodies, expected = SESSIONS[name]
    assert found(bodies) == expected


@pytest.mark.parametrize(
    "envelope",
    [
        lambda at, body: {"startTime": f"2026-03-01T10:{10 + at}:00Z", "input": body, "output": {"content": "ok"}},
        lambda at, body: {"custom_id": f"{at}", "method": "POST", "url": "/v1/chat/completions", "body": body},
        lambda at, body: {"kwargs": body, "response_cost": 0.1, "startTime": 1e9 + at, "api_base": "https://a"},
        lambda at, body: {"request": json.dumps(body), "worker": "w1", "status": 200, "ts": 1e12 + at},
    ],
)
def test_envelopes(envelope: Callable[[int, dict[str, Any]], dict[str, Any]]) -> None:
    """Clean bodies are clean in every envelope, and a fault is the same fault."""
    assert found([envelope(at, body) for at, body in enumerate(CLEAN)]) == []
    clocks = chats(lambda at: f"Now {10 + at}:0{at}:11\n" + SYSTEM)
    assert found([envelope(at, body) for at, body in enumerate(clocks)]) == [("PC101", "error")]
