"""lint.comments: what is a comment, and what only looks like one."""

import io
import tokenize
from pathlib import Path

import pytest

import lint
from lint.comments import comments, starts

OWN = sorted(Path(lint.__file__).parent.rglob("*.py"))[::3]
ODD = [
    "x = 'a # b'  # c\n",
    'x = """a\n# b\n"""  # c\r\ny = r"\\"  # "d"\n',
    "x = '\\'# a'  # b\rz = b'#'\n# 'c\n",
    "x = f\"{a!r:>{w}} # {b}\" '#' # c\n",
    "x = 'a\\\n# b'  # c\n",
    "x = 'a\\\r\n# b'  # c\n",
    "x = ''''a' # ''' # b\n",
    'x = """\\""" # """ # b\n',
    "é = 'ü#'  # ö\n\n\f# a\n",
    "",
    "#",
]


def of_tokenize(text: str) -> list[tuple[int, int]]:
    """Where Python's own tokenizer sees comments."""
    lines = starts(text)
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    places = [(lines[t.start[0] - 1] + t.start[1], t.string) for t in tokens if t.type == tokenize.COMMENT]
    return [(start, start + len(string)) for start, string in places]


@pytest.mark.parametrize("text", [*ODD, *(path.read_text(encoding="utf-8") for path in OWN)])
def test_comments_are_those_of_python(text: str) -> None:
    """The tokenizer, at a tenth of its time."""
    assert [(comment.start, comment.end) for comment in comments("a.py", text)] == of_tokenize(text)


def test_a_comment_stands_for_the_string_before_it() -> None:
    """From the row the string begins in, of several the first."""
    text = "x = '''a\nb''' + '''c\nd'''  # e\n# f\n"
    assert [(one.row, one.first, one.last) for one in comments("a.py", text)] == [(3, 2, 3), (4, 4, 4)]


@pytest.mark.parametrize("text", ["x = '''\n# a\n", "x = 1\n'''''\n# a", '"""'])
def test_quotes_that_nobody_closes(text: str) -> None:
    """All behind them is string."""
    assert comments("a.py", text) == []


def test_a_line_that_breaks_off_in_a_string() -> None:
    """Costs that line."""
    assert [one.row for one in comments("a.py", "x = 'a\ny = 1  # b\n")] == [2]
