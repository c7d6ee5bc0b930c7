"""prefix.explanations: every kind of cause is explained, in words that fit where they are shown."""

import re
from pathlib import Path
from typing import Any, get_args

from prefix.explanations import EXPLANATIONS, Kind


def _names(kinds: Any) -> set[str]:
    """The strings of a literal, or of a union of them."""
    return {name for part in get_args(kinds) for name in ((part,) if isinstance(part, str) else _names(part))}


def test_every_kind_is_explained() -> None:
    """And nothing else is."""
    assert set(EXPLANATIONS) == _names(Kind)


def test_titles_and_advice_read_well() -> None:
    """A title is a noun phrase to put into a sentence; advice is whole sentences, not long ones."""
    for title, advice in EXPLANATIONS.values():
        assert re.fullmatch(r"[a-z][\w, ]{3,60}", title)
        assert re.fullmatch(r"[A-Z].{10,180}\.", advice)


def test_no_two_causes_have_one_title() -> None:
    """A reader can tell them apart."""
    assert len({title for title, _ in EXPLANATIONS.values()}) == len(EXPLANATIONS)


def test_the_guide_has_every_cause() -> None:
    """In docs/diff.md, in the same words."""
    guide = (Path(__file__).parents[2] / "docs" / "diff.md").read_text(encoding="utf-8")
    rows = [line for line in guide.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{kind}` | {title} | {advice} |" for kind, (title, advice) in EXPLANATIONS.items()]
