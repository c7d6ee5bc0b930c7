"""lint.traffic.formless: what is the same but for its form."""

import json
import unicodedata

import pytest

from lint.traffic.formless import alike

LINES = [f"Règle {at}: le café fermé à l’élève numéro {at * 7}." for at in range(30)]
VALUE = {f"key{at}": {"a": at, "b": ["é", at]} for at in range(30)}


def view(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


TEXT = view("\n".join(LINES))
JSON = view(json.dumps(VALUE, ensure_ascii=False))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (TEXT, view("\r\n".join(LINES))),
        (TEXT, view(" \n".join(LINES))),
        (TEXT, view(unicodedata.normalize("NFD", "\n".join(LINES)))),
        (TEXT, view("\n".join(LINES).replace("le ", "le\u00a0"))),
        (JSON, view(json.dumps(VALUE, ensure_ascii=False, indent=2))),
        (JSON, view(json.dumps(VALUE))),
        (JSON, view(json.dumps(VALUE, ensure_ascii=False, separators=(",", ":")))),
        (JSON, view(json.dumps(dict(reversed(VALUE.items())), ensure_ascii=False))),
    ],
)
def test_alike(a: bytes, b: bytes) -> None:
    """All of the text, though it differs in every line."""
    assert alike(a, b) == len(b)
    assert alike(b, a) == len(a)


def test_a_part_of_it() -> None:
    """As far as the two agree."""
    longer = view("\r\n".join([*LINES, *(f"Other line {at}" for at in range(10))]))
    assert 0.8 < alike(TEXT, longer) / len(longer) < 1


@pytest.mark.parametrize("b", [b"", b"x" * 100, view("Something else entirely. " * 30), b"\xff" * 300])
def test_what_is_not(b: bytes) -> None:
    """Short texts, other words, bytes that are no text."""
    assert alike(TEXT, b) == 0


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Very long texts are not compared without their form."""
    monkeypatch.setattr("lint.traffic.formless._LONGEST", 1000)
    assert alike(TEXT, TEXT) == 0
