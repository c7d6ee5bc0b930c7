"""Finds rules and sources by their modules: `lint/rules/<name>.py` has RULE, `lint/sources/<name>.py` has SOURCE.

A module that is there and does not fit is a programming error, so it is raised and never left out.
"""

import functools
import importlib
import pkgutil
from types import ModuleType
from typing import TypeVar

import lint.rules
import lint.sources
from lint.rule import Rule
from lint.source import Source
from prefix.errors import ConfigError

_Kind = TypeVar("_Kind", Rule, Source)


@functools.cache
def rules() -> dict[str, Rule]:
    """All rules by code, in the order of codes. Raises ConfigError for a module that is no rule."""
    found: dict[str, Rule] = {}
    for module, rule in _members(lint.rules, "RULE", Rule):
        if rule.name.replace("-", "_") != module:
            raise ConfigError(f"lint/rules/{module}.py: the rule is called {rule.name}, not as its module")
        if rule.code in found:
            raise ConfigError(f"lint/rules/{module}.py: {rule.code} is already {found[rule.code].name}")
        found[rule.code] = rule
    return dict(sorted(found.items()))


@functools.cache
def sources() -> dict[str, Source]:
    """All sources by module. Raises ConfigError when what one reads is not what lint.sources.SUFFIXES says."""
    found = dict(_members(lint.sources, "SOURCE", Source))
    declared = {suffix: module for module, source in found.items() for suffix in source.suffixes}
    for suffix, module in declared.items() ^ lint.sources.SUFFIXES.items():
        raise ConfigError(f"lint/sources/{module}.py and SUFFIXES in lint/sources/__init__.py disagree on {suffix}")
    return found


def source_of(filename: str) -> Source | None:
    """Who reads a file of this name. Only this one is imported: those that are not needed cost no time."""
    lower = filename.lower()
    suffix = max((suffix for suffix in lint.sources.SUFFIXES if lower.endswith(suffix)), key=len, default=None)
    if suffix is None:
        return None
    source = importlib.import_module(f"lint.sources.{lint.sources.SUFFIXES[suffix]}").SOURCE
    assert isinstance(source, Source)
    return source


def _members(package: ModuleType, name: str, kind: type[_Kind]) -> list[tuple[str, _Kind]]:
    found: list[tuple[str, _Kind]] = []
    for module in pkgutil.iter_modules(package.__path__):
        member = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), name, None)
        if isinstance(member, kind):
            found.append((module.name, member))
        elif kind is Rule:
            raise ConfigError(f"lint/rules/{module.name}.py has no {name}")
    return found
