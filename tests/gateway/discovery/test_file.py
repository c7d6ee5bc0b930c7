"""gateway.discovery.file: a list that changes, and one that is broken for a while."""

from pathlib import Path

import pytest

from gateway.discovery.file import FileSource, read_engines
from prefix.errors import ConfigError
from tests.gateway.discovery.following import following
from tests.gateway.running import until

A, B = "http://a:1", "http://b:1"


def replace(path: Path, text: str) -> None:
    """Atomically, as one should."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.rename(path)


async def test_a_list_that_changes(tmp_path: Path) -> None:
    """YAML and JSON, replaced while it is watched; the same again says nothing."""
    path = tmp_path / "engines.yaml"
    replace(path, f"- {A}\n")
    async with following(FileSource(str(path), 0.005)) as heard:
        await heard.says({A: True})
        replace(path, f'["{A}", "{B}/"]')
        await heard.says({A: True, B: True})
        replace(path, f"engines: [{B}, {A}]\n")
        replace(path, f"engines: [{B}]\n")
        await heard.says({B: True})
        replace(path, "[]")
        await heard.says({})
        assert len(heard.told) == 4


async def test_a_bad_file_changes_nothing_and_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Half written, gone, another kind of thing: the last good list stands; each trouble is one line."""
    path = tmp_path / "engines.yaml"
    replace(path, f"- {A}\n")
    async with following(FileSource(str(path), 0.005)) as heard:
        await heard.says({A: True})
        for text, says in (
            ("", "must be a list"),
            ("- [", "not YAML"),
            ("- ftp://x", "must look like"),
            ("a: 1", "list"),
        ):
            said = len(caplog.records)
            replace(path, text)
            await until(lambda said=said: len(caplog.records) > said)  # type: ignore[misc]
            assert says in caplog.records[-1].getMessage()
        path.unlink()
        await until(lambda: "No such file" in caplog.text)
        assert len(caplog.records) == 5
        assert heard.told == [{A: True}]
        replace(path, f"- {B}\n")
        await heard.says({B: True})


@pytest.mark.parametrize("text", ["- http://u:secret@a:1", "- 5", "- {a: b}", "just text", "- \xff"])
def test_what_is_no_list_of_engines(tmp_path: Path, text: str) -> None:
    """One line that names the file and shows no credentials."""
    path = tmp_path / "engines"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError) as caught:
        read_engines(path)
    assert str(path) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
