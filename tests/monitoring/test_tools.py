"""A missing tool is a failure that says what to install."""

import pytest

from tests.monitoring.tools import tool


def test_a_missing_tool_fails_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """No skip: a machine without Prometheus has not shown anything."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="apt-get install --no-install-recommends prometheus"):
        tool("promtool")
