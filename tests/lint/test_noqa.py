"""lint.noqa: comments for what is there."""

from pathlib import Path

import pytest

from lint.sources.examples import app, prompt_file
from tests.lint.adopting import CLOCK, run


def test_add_noqa(adopting: Path) -> None:
    """A comment at each finding, in every language; then there is nothing left, and nothing unused."""
    multi = app('f"""Now: {datetime.now()}\n{POLICY}"""', imports="from datetime import datetime").text
    (adopting / "multi.py").write_text(multi)
    (adopting / "prompt.yaml").write_text(prompt_file("Current time: {{ timestamp }}").text)
    (adopting / "held.py").write_text(CLOCK.replace("+ POLICY},", "+ POLICY},  # noqa: E501"))
    result = run(".", "--add-noqa")
    assert "Added comments for 5 findings; 1 are where no comment can be" in result.output
    assert run(".", "--exclude", "*.jsonl").output == ""
    assert "# noqa: E501, PC101" in (adopting / "held.py").read_text()
    assert (adopting / "a.j2").read_text().startswith("{# noqa: PC101 #}Today is")
    assert "content: |  # noqa: PC101" in (adopting / "prompt.yaml").read_text()
    assert '{POLICY}"""},  # noqa: PC101' in (adopting / "multi.py").read_text()


def test_add_noqa_where_no_comment_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A continued line cannot have one: it is left as it was."""
    monkeypatch.chdir(tmp_path)
    text = CLOCK.replace("f'Now: {datetime.now()}. ' + POLICY", "f'Now: {datetime.now()}. ' \\\n + POLICY")
    Path("app.py").write_text(text)
    assert "Added comments for 0 findings; 1 are" in run("app.py", "--add-noqa").output
    assert Path("app.py").read_text() == text
