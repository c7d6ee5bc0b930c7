"""prefix.kin finds the prompt that another was made like, where nothing in front is shared."""

from prefix.body import parse_body
from prefix.history import Finished
from prefix.kin import Kin, names_of
from prefix.tool_view import ToolViews
from prefix.view import prompt_view
from tests.cases import wire

VERSION = (7, "v1")


def text(*said: str) -> bytes:
    """The view of a conversation."""
    messages = [{"role": "user", "content": each.ljust(90, ".")} for each in said]
    return prompt_view(parse_body(wire({"model": "m", "messages": messages})), None, ToolViews()).text


def finished(view: bytes) -> Finished[bytes]:
    """A prompt that came from its own view."""
    return Finished(view, view, 1, len(view))


def test_the_latest_message_in_common_decides() -> None:
    """Behind a clock: the same conversation before the same document before the same version."""
    kin: Kin[bytes] = Kin()
    made = {
        name: finished(text("12:00", *said)) for name, said in (("talk", ("doc", "one")), ("doc", ("doc", "two")))
    }
    made["last"] = finished(text("12:01", "other"))
    for prompt in made.values():
        kin.learn(names_of(prompt.text, VERSION), prompt)
    assert kin.find(names_of(text("12:02", "doc", "one", "more"), VERSION)) is made["talk"]
    assert kin.find(names_of(text("12:02", "doc", "three"), VERSION)) is made["doc"]
    assert kin.find(names_of(text("12:02", "new"), VERSION)) is made["last"]


def test_versions_are_kept_apart() -> None:
    """The same document in another version, or another namespace, is no kin; without a version messages count."""
    kin: Kin[bytes] = Kin()
    prompt = finished(text("12:00", "doc"))
    kin.learn(names_of(prompt.text, VERSION), prompt)
    assert kin.find(names_of(text("12:01", "doc"), (7, "v2"))) is None
    assert kin.find(names_of(text("12:01", "doc"), (8, "v1"))) is None
    kin.learn(names_of(prompt.text, (7, None)), prompt)
    assert kin.find(names_of(text("12:01", "doc"), (7, None))) is prompt
    assert kin.find(names_of(text("12:01", "new"), (7, None))) is None


def test_what_was_forgotten_is_no_kin() -> None:
    """Its text is gone."""
    kin: Kin[bytes] = Kin()
    prompt = finished(text("12:00", "doc"))
    kin.learn(names_of(prompt.text, VERSION), prompt)
    prompt.source = None
    assert kin.find(names_of(text("12:01", "doc"), VERSION)) is None


def test_memory_is_bounded() -> None:
    """Versions made up without end push out the ones before."""
    kin: Kin[bytes] = Kin()
    prompt = finished(text("doc"))
    for number in range(20_000):
        kin.learn(names_of(prompt.text, (7, str(number))), prompt)
    assert len(kin._latest) == 8192
    assert kin.find(names_of(b"", (7, "19999"))) is prompt
    assert kin.find(names_of(b"", (7, "0"))) is None
