"""lint.docs: the pages of docs/rules."""

from lint.docs import FOLDER, pages


def test_pages_are_current() -> None:
    """docs/rules is what `python -m lint.docs` writes: no page is old, missing or left over."""
    assert {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")} == pages()


def test_headings() -> None:
    """Every rule's page has the same headings in the same order."""
    headings = ["## Why it breaks the cache", "## What to do instead", "## Bad", "## Good"]
    for name, page in pages().items():
        found = [line for line in page.splitlines() if line.startswith("## ")]
        assert found == ([] if name == "README.md" else headings)
