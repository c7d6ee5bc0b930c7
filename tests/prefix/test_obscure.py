"""prefix.obscure: nothing is said any more, and what a prefix cache sees is still there."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix import obscure
from prefix.masked import Masked
from prefix.obscure import Hashed
from prefix.realign import common_prefix
from prefix.volatile import find_volatile

FORM = Hashed(b"a key of one installation")
WORDS = st.text("acemnorst", max_size=5).map(lambda word: f"{word}e")
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), max_size=4)
NOW = "You help.\nNow: Tuesday, 3 March 2026, 09:14:07 AM CET\nBe brief."


@given(st.text() | st.text('ab 1:-/\\nu0\n{}"', max_size=40))
def test_the_shape_stays(text: str) -> None:
    """Bytes, lines, white space and punctuation, whatever the text is."""
    made = FORM.text(text)
    assert len(made.encode("utf-8", "surrogatepass")) == len(text.encode("utf-8", "surrogatepass"))
    assert re.findall(r"[\s!-/:-@\[\]^_`{-~]", made) == re.findall(r"[\s!-/:-@\[\]^_`{-~]", text)


@given(LINES)
def test_no_word_is_left(lines: list[str]) -> None:
    """Made-up words have none of the letters a to f, so that none of these can have stayed."""
    assert not re.search("[a-fA-F]", FORM.text("\n".join(lines)))


@given(st.lists(WORDS, min_size=1, max_size=9), LINES, LINES)
def test_a_shared_beginning_is_shared_to_the_word(words: list[str], one: list[str], other: list[str]) -> None:
    """Texts that begin alike begin alike when obscured, whatever follows."""
    start = " ".join(words) + " "
    a, b = FORM.text(start + "\n".join(one)), FORM.text(start + "\n".join(other))
    assert common_prefix(a, b) >= len(start) - 1


@given(LINES, LINES, st.lists(WORDS, min_size=3, max_size=9))
def test_texts_agree_again_two_words_behind_a_difference(one: list[str], other: list[str], words: list[str]) -> None:
    """So what comes again is found again: by lines at once, inside of a line behind two words."""
    a, b = (FORM.text(" ".join([*lines, *words, "\nthe end"]).replace("  ", " ")) for lines in (one, other))
    tail = FORM.text(" ".join([*words, "\nthe end"])).split(" ")[2:]
    assert a.split(" ")[-len(tail) :] == b.split(" ")[-len(tail) :] == tail


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (NOW, NOW.replace("07 AM", "08 AM")),
        ("2026-03-01T09:14:07Z", "2026-03-01T09:14:08Z"),
        ("[2026-03-01 09:14:07,123] INFO", "[2026-03-01 09:14:07,124] INFO"),
        ("Current time: 09:14", "Current time: 09:15"),
        ("Today's date: 3 March 2026", "Today's date: 4 March 2026"),
        ("现在 2026年3月1日 09:14:07 星期二", "现在 2026年3月1日 09:14:08 星期二"),
        ("today is 2026-03-01, all day", "today is 2026-03-02, all day"),
        ("now 20260301", "now 20260302"),
        ("now 1767225600", "now 1767225601"),
        ("at 1767225600123 ms", "at 1767225600124 ms"),
        ("6f1c2e9a-0b1d-4c3e-8f5a-9b7c6d5e4f3a", "6f1c2e9a-0b1d-4c3e-8f5a-9b7c6d5e4f3b"),
        ("trace 4bf92f3577b34da6a3ce929d0e0e4736", "trace 4bf92f3577b34da6a3ce929d0e0e4737"),
        ("01J8ZQ4YV7N3K5M2P9R6T1W0XC", "01J8ZQ4YV7N3K5M2P9R6T1W0XD"),
        ("call req_9k2mX4pQ7z", "call req_9k2mX4pQ7y"),
        ("web-7d9fxk2v8c-x2x4z says", "web-7d9fxk2v8c-x2x4c says"),
        ("cwd: /home/ada/shop", "cwd: /home/bob/shop"),
        ("hostname: gpu-7.local", "hostname: gpu-8.local"),
        ("turn 7 of 20", "turn 8 of 20"),
        ("12,000 tokens left", "11,000 tokens left"),
        ("https://a.b/c?X-Amz-Signature=ab12&X-Amz-Date=20260301", "https://a.b/c?X-Amz-Signature=ab13&X-Amz-Date=2"),
        (
            "x-anthropic-billing-header: cc_version=2.1; cch=9a1;",
            "x-anthropic-billing-header: cc_version=2.1; cch=9a2;",
        ),
    ],
)
def test_what_moves_is_still_found(text: str, other: str) -> None:
    """The same kinds, as certain as before, in other words; and two values are still two."""
    made = FORM.text(text)
    before, after = find_volatile(text), find_volatile(made)
    assert [(span.kind, span.certain) for span in after] == [(span.kind, span.certain) for span in before]
    assert before
    for span in before:
        assert text[span.start : span.end] not in made
    assert made != FORM.text(other)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(1, 28), st.integers(1, 12))
def test_every_clock_stays_one(hour: int, minute: int, second: int, day: int, month: int) -> None:
    """Whatever the key makes of its numbers."""
    text = f"Now: 2026-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    assert [span.kind for span in find_volatile(FORM.text(text))] == ["clock_second"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("now 10:20:30 Ada/Lovelace", "Lovelace"),
        ("date: 3 Mariana 2020", "Mariana"),
        ("now 10:20:30 UTC (UTC pasta map)", "pasta"),
        ("now 10:20:30 UTC (UTC tamp mad)", "mad"),
        ("now 10:20:30 UTC (UTC near here)", "near"),
        ("session id: Ünal12345", "Ü"),
    ],
)
def test_what_looks_like_a_moment_is_no_way_out(text: str, word: str) -> None:
    """Only words of calendars and clocks stay in what moves."""
    assert word not in FORM.text(text)


def test_nothing_begins_to_move() -> None:
    """Prose, prices, code and hours of opening have no clock or id in them afterwards."""
    text = (
        "Open 09:00-17:30. Order 4711 costs 1999 or 12/25 of 1700000000 cents, v2026.3.\nif a[10] > 0xff: pass\n" * 40
    )
    assert not [span for span in find_volatile(FORM.text(text)) if span.certain]


def test_json_in_a_text_stays_json() -> None:
    """The arguments of a tool call: what differs in them is found by parsing them."""
    text = json.dumps({"city": 'Os"lo\n', "n": [0.5, 10, 0], "ok": True, "none": None, "ü": "é"})
    made = json.loads(FORM.text(text))
    assert [type(value) for value in made.values()] == [str, list, bool, type(None), str]


def test_a_long_run_is_one_word() -> None:
    """Images in data URLs, keys: as long as before, and nothing of it left."""
    data = "iVBORw0KGgo" * 100
    made = FORM.text(f"data:image/png;base64,{data}")
    assert len(made) == len(data) + 22
    assert not common_prefix(made[22:], data)


def test_labels_stay_before_what_moves_only() -> None:
    """Elsewhere they are words like all others."""
    assert FORM.text("session id: 8f3a2b1c9d7e4f60").startswith("session id: ")
    assert not FORM.text("the session is over, date and time unknown").startswith("the session")


def test_it_takes_the_key() -> None:
    """Another key says it otherwise; a label is one name's, and tells nothing of it."""
    assert Hashed(b"1").text("Hello there") == Hashed(b"1").text("Hello there") != Hashed(b"2").text("Hello there")
    assert FORM.label("acme") == FORM.label("acme") != FORM.label("acne")
    assert Hashed(b"1").label("acme") != Hashed(b"2").label("acme") == Masked(b"2").label("acme")


def test_numbers() -> None:
    """As many digits, of the same type."""
    for number in (0, 7, 42, 151645):
        made = FORM.number(number)
        assert type(made) is int
        assert len(str(made)) == len(str(number))
    assert type(FORM.number(0.25)) is float
    assert type(FORM.number(1e-7)) is float
    assert FORM.number(151645, "1\0002") != FORM.number(151645, "1\0003")


def test_others_may_run_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """At every line that is new, and in a long line."""
    breaths: list[None] = []
    form = Hashed(b"k", lambda: breaths.append(None))
    form.text("a\nb\na\nb")
    assert len(breaths) == 3  # two lines, and what ends them
    form.text("word " * 1000)
    assert len(breaths) > 8


def test_the_memory_of_lines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """And forgetting changes no result."""
    monkeypatch.setattr(obscure, "CACHED_BYTES", 100)
    form = Hashed(b"k")
    lines = [f"this is line {number} of many" for number in range(50)]
    first = [form.text(line) for line in lines]
    assert sum(map(len, form._lines)) <= 100
    assert [form.text(line) for line in lines] == first


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (NOW, "Xxx xxxx.\nXxx: Xxxxxxx, 0 Xxxxx 0000, 00:00:00 XX XXX\nXx xxxxx."),
        ("É 価格 😀\n", "а 一一 𠀀\n"),
    ],
)
def test_mask(text: str, masked: str) -> None:
    """x, X and 0, and one letter for all others of a length."""
    assert Masked(b"k").text(text) == masked
    assert Masked(b"k").number(42) == 0
    assert type(Masked(b"k").number(0.5)) is float


@given(st.text())
def test_mask_keeps_lengths(text: str) -> None:
    """In bytes, as a cache counts."""
    made = Masked(b"k").text(text)
    assert len(made.encode("utf-8", "surrogatepass")) == len(text.encode("utf-8", "surrogatepass"))
