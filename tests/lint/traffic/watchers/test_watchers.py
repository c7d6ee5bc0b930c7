"""lint.traffic.watchers: what each remembers, and where it says nothing. What it finds: the examples of its rule."""

from typing import Any

import pytest

from lint.examples import HANDBOOK, QUESTIONS, chat, claude, entry, marked, tool
from lint.traffic.engine import Traffic, TrafficEngine
from lint.traffic.logged import Logged, logged
from lint.traffic.seen import block_end, block_keys
from lint.traffic.watcher import Note
from lint.traffic.watchers import dead_tools, echoes, scattered

LONG = HANDBOOK * 30
START = 1_772_532_847


def run(*entries: dict[str, Any]) -> Traffic:
    engine = TrafficEngine()
    for row, one in enumerate(entries, 1):
        engine.add(logged(one.get("request", one), one), row)
    return engine.result("log")


def notes(*entries: dict[str, Any]) -> list[str]:
    return [note.kind for note in run(*entries).notes]


def one(kind: str, *entries: dict[str, Any]) -> Note:
    (note,) = [note for note in run(*entries).notes if note.kind == kind]
    return note


def test_a_note_counts() -> None:
    """How many requests, how many tokens, and which part of the input."""
    note = one("bypass", *(chat(HANDBOOK, question, prompt_logprobs=1) for question in QUESTIONS))
    assert note.sighting.occurrences == 3
    assert note.sighting.recoverable_tokens == pytest.approx(3 * 160, rel=0.1)
    assert note.share == pytest.approx(0.7, abs=0.1)
    assert "3 requests, about" in note.sighting.message
    assert (note.sighting.request, note.sighting.pointer) == (1, "/prompt_logprobs")


def test_nothing_shared_is_nothing_bypassed() -> None:
    """Prompts that no other begins like lose nothing to log probabilities."""
    assert notes(*(chat(f"{at} {HANDBOOK[at * 40 :]}", prompt_logprobs=1) for at in range(4))) == []


@pytest.mark.parametrize("starts", [(0, 200, 400), (0, 299, 598)])
def test_an_entry_lives_from_its_last_use(starts: tuple[float, ...]) -> None:
    """Each read makes it live on, also when the log is longer than the lifetime."""
    bodies = [claude(question, system=marked(LONG)) for question in QUESTIONS]
    assert notes(*(entry(body, started=START + at) for body, at in zip(bodies, starts, strict=False))) == []


def test_an_entry_that_ran_out_is_written_anew() -> None:
    """So that the next request in time finds it."""
    bodies = [claude(f"{at}", system=marked(LONG)) for at in range(4)]
    note = one(
        "expired", *(entry(body, started=START + at) for body, at in zip(bodies, (0, 900, 901, 902), strict=True))
    )
    assert note.sighting.occurrences == 1


def test_a_model_has_entries_of_its_own() -> None:
    """What one wrote the other does not read."""
    pair = [claude("Hi", system=marked(LONG), model=model) for model in ("claude-sonnet-4-5", "claude-sonnet-4")]
    starts = (0, 1, 2, 3)
    entries = [entry(body, started=START + at, ttft_s=0.5) for body, at in zip(pair * 2, starts, strict=True)]
    assert "fanout" not in notes(*entries)


def test_reads_far_back_are_no_reads() -> None:
    """Twenty blocks from a breakpoint, itself the first."""
    for added, kinds in ((19, []), (20, ["lookback"])):
        turns = [f"Turn {at}" for at in range(added + 1)]
        first, last = claude(marked("Turn 0"), system=LONG), claude(*turns[:-1], marked(turns[-1]), system=LONG)
        assert [kind for kind in notes(first, last) if kind == "lookback"] == kinds


def test_answers_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first."""
    monkeypatch.setattr(echoes, "_MEMORY", 5000)
    watcher = echoes.Echoes()
    for at in range(50):
        watcher._remember(at, "x" * 400)
    assert len(watcher._answers) <= 13
    assert watcher._held == sum(watcher._sizes.values())


def test_sets_of_tools_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log with a set of its own for each request."""
    monkeypatch.setattr(dead_tools, "_SETS", 4)
    watcher = dead_tools.DeadTools()
    engine = TrafficEngine()
    engine._watchers = (watcher,)
    for at in range(20):
        engine.add(Logged(chat(HANDBOOK, tools=[tool(f"t{at}")])), at)
    assert len(watcher._sets) == 4


def test_tools_of_two_routes_are_judged_apart() -> None:
    """A tool that is called on one route is dead on the other."""

    def calling(names: str, name: str) -> list[dict[str, Any]]:
        call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
        says = {"role": "assistant", "content": None, "tool_calls": [call]}
        return [entry(chat(HANDBOOK, f"{at}?", tools=[tool(name) for name in names]), says) for at in range(30)]

    note = one("dead_tool", *calling("ab", "a"), *calling("bc", "b"), *calling("bc", "c"))
    assert note.sighting.values == ("b",)


def test_blocks_and_their_ends() -> None:
    """A number of whole blocks is so many bytes, short and long ones."""
    view = b"x" * 9000
    for size in (0, 63, 64, 4096, 4352, 9000):
        blocks = len(block_keys(view[:size], "m")) - 1
        assert size - 256 < block_end(blocks) <= size


def test_workers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names without end, such as one per connection, are not all counted."""
    monkeypatch.setattr(scattered, "_WORKERS", 3)
    watcher = scattered.Scattered()
    engine = TrafficEngine()
    engine._watchers = (watcher,)
    for at in range(9):
        body = chat(HANDBOOK)
        engine.add(Logged(body, worker=f"w{at}"), at)
    assert len(watcher._bits) == 3


def test_a_new_worker_is_no_fault() -> None:
    """Each has to see a prefix once."""
    turns = [chat(HANDBOOK * 9, f"Question {at}") for at in range(40)]
    assert notes(*(entry(body, worker=f"w{at % 2}") for at, body in enumerate(turns))) == []


@pytest.mark.parametrize(
    ("answered", "kinds"),
    [({}, ["evicted"]), ({"worker": True}, []), ({"ttft_s": 20.0}, []), ({"ttft_s": 1.0}, ["evicted"])],
)
def test_what_could_have_been_cached(answered: dict[str, Any], kinds: list[str]) -> None:
    """Not by another worker, nor before the earlier request was computed."""
    entries = []
    for at, cached in enumerate((0, 480, 0, 480)):
        times = {"started": START + at * 9, **answered}
        times |= {"worker": f"w{at}"} if "worker" in answered else {}
        entries.append(entry(chat(HANDBOOK * 4, f"{QUESTIONS[at]} ({at})"), cached=cached, **times))
    assert [kind for kind in notes(*entries) if kind == "evicted"] == kinds


def test_a_flip_is_said_once() -> None:
    """By the conversation it happens in, or for requests that are none."""
    turns = [f"Turn {at}: the parcel with the {at} blue shoes is still not here, what now?" for at in range(7)]
    efforts = ("low", "high", "low")
    going = [chat(HANDBOOK, *turns[: 2 * at + 1], reasoning_effort=effort) for at, effort in enumerate(efforts)]
    assert notes(*going) == []
    assert [loss.kind for loss in run(*going).losses] == ["template_arguments"]
    assert notes(*(chat(HANDBOOK, turns[at], reasoning_effort=effort) for at, effort in enumerate(efforts))) == [
        "param_flip"
    ]
    assert notes(*(chat(HANDBOOK, turns[at % 7], reasoning_effort=efforts[at % 2]) for at in range(12))) == []


def test_odd_bodies() -> None:
    """Whatever stands in the members that watchers read."""
    odd: list[dict[str, Any]] = [
        {
            "messages": [1],
            "tools": [2, {"function": 3}],
            "prompt_cache_key": 4,
            "tool_choice": [5],
            "model": "claude",
        },
        {"messages": "x", "tools": {}, "system": [{"cachePoint": 1}], "cache_control": 7, "model": "claude"},
        {"input": [{"type": "function_call"}], "functions": ["f"], "chat_template_kwargs": 1, "modelId": ["claude"]},
        {"messages": [{"role": "user", "content": [{"cache_control": "x"}]}], "model": "claude", "toolConfig": 3},
    ]
    assert (
        run(*odd, *(entry(body, {"tool_calls": [1]}, cached=3, worker=1, started="x") for body in odd)).requests == 8
    )


def test_what_an_earlier_breakpoint_reads_is_not_lost() -> None:
    """The system text is found from its own mark; only the conversation behind it is out of reach."""
    turns = [f"Turn {at}: {QUESTIONS[at % 4]}" for at in range(40)]
    first = claude(marked(turns[0]), system=marked(LONG))
    last = claude(*turns[:-1], marked(turns[-1]), system=marked(LONG))
    note = one("lookback", first, last)
    assert (note.sighting.recoverable_tokens or 0) < 50


@pytest.mark.parametrize("back", ["[hidden]", "Something else was chosen by the user in the end."])
def test_what_is_no_echo(back: str) -> None:
    """A hidden answer, or another one in its place, says nothing about what the client does to answers."""
    first = chat(HANDBOOK, "Where is my parcel?")
    said = [*first["messages"], {"role": "assistant", "content": back}, {"role": "user", "content": "Thanks."}]
    assert notes(entry(first, "The parcel left Oslo on Monday."), entry({**first, "messages": said}, "Bye.")) == []
