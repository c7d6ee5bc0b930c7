"""lint.registry: what is in the folders is what there is."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import lint.rules
from lint.registry import _members, rules, source_of, sources
from lint.rule import Rule
from lint.sources import SUFFIXES
from prefix.errors import ConfigError


def test_every_module_is_a_rule() -> None:
    """As many rules as modules, in the order of their codes."""
    modules = [file.stem for file in Path(lint.rules.__file__).parent.glob("*.py") if file.stem != "__init__"]
    assert sorted(rule.name.replace("-", "_") for rule in rules().values()) == sorted(modules)
    assert list(rules()) == sorted(rules())


def test_a_module_without_a_rule_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never left out in silence."""
    (tmp_path / "lint_empty_rules").mkdir()
    (tmp_path / "lint_empty_rules" / "__init__.py").write_text("")
    (tmp_path / "lint_empty_rules" / "nothing_here.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    package: ModuleType = importlib.import_module("lint_empty_rules")
    with pytest.raises(ConfigError, match=r"nothing_here\.py has no RULE"):
        _members(package, "RULE", Rule)
    for name in [name for name in sys.modules if name.startswith("lint_empty_rules")]:
        del sys.modules[name]


def test_sources_read_what_the_table_says() -> None:
    """Every suffix has a source, and every source its suffixes in the table."""
    assert set(sources()) == set(SUFFIXES.values())
    for suffix, module in SUFFIXES.items():
        assert source_of(f"x{suffix.upper()}") is sources()[module]
    assert source_of("x.unknown") is None
