"""A module less what has nothing to do with some of its lines."""

from lint.sources.python.around import blanked

TEXT = '''"""Of prompts."""
import os
LIMIT = 9
RULES = made(LIMIT)

@wrapped
def one(q):
    return RULES + helper(q)

def helper(q):
    def inner():
        return 'é' + q
    return inner()

class Other:
    def ask(self):
        return inner(LIMIT)

def sorted(items):
    return items

def three(thing):
    return thing.ask()
'''


def kept(*rows: int) -> list[str]:
    """The lines that are left for these rows."""
    text = blanked(TEXT, rows)
    assert len(text) == len(TEXT)
    assert all(new in (old, " " * len(old)) for new, old in zip(text.split("\n"), TEXT.split("\n"), strict=True))
    return [line for line in text.split("\n") if line.strip()]


def test_what_hangs_together() -> None:
    """What names, or is named by, what stands in a row stays; imports, constants and built-in names always."""
    assert "@wrapped" in kept(12)
    assert "RULES = made(LIMIT)" in kept(12)
    assert "class Other:" not in kept(12)
    assert {"import os", "LIMIT = 9", "def sorted(items):"} < set(kept(12))


def test_a_method_is_called_by_its_name() -> None:
    """Whoever calls a method of that name may call this one."""
    assert "class Other:" in kept(23)
    assert "def helper(q):" not in kept(23)


def test_two_statements_in_one_row() -> None:
    """Rows that hold several statements are left as they are."""
    text = "def one(): return 1\nx = f(); y = g()\n"
    assert blanked(text, {1}) == text


def test_the_last_line_may_end_anywhere() -> None:
    """Without a line end too, and with other ones than LF."""
    assert blanked("def one():\r\n    return 1\r\ndef two():\r\n    return 2", {1}) == (
        "def one():\r\n    return 1\r\n          \r\n            "
    )
