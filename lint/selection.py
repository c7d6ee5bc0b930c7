"""Which rules to apply: by code, the beginning of one, or name."""

import functools
from collections.abc import Iterable
from typing import NamedTuple

from lint.registry import rules
from lint.rule import Rule
from prefix.errors import ConfigError


class Selection(NamedTuple):
    """select: () is all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()

    def rules(self) -> tuple[Rule, ...]:
        """The rules chosen; the more specific of two selectors decides. Raises ConfigError for an unknown one."""
        return _chosen(self)

    def ignores(self, code: str) -> bool:
        """Whether a rule is ignored by name, and not only left out of what is selected."""
        return rules()[code] not in _chosen(self._replace(select=()))


@functools.cache
def _chosen(selection: Selection) -> tuple[Rule, ...]:
    chosen, ignored = (*selection.select, *selection.extend_select), selection.ignore
    known(*chosen, *ignored)
    everything = () if selection.select else ("PC",)
    return tuple(
        rule for rule in rules().values() if _specificity(rule, (*chosen, *everything)) > _specificity(rule, ignored)
    )


def known(*selectors: str) -> None:
    """Raises ConfigError when a selector matches no rule."""
    for selector in selectors:
        if not any(_matches(rule, selector) for rule in rules().values()):
            raise ConfigError(f"no rule is called {selector}{_nearest(selector)}: `prefixgate rule` lists them")


def _nearest(selector: str) -> str:
    from difflib import get_close_matches

    names = [name for rule in rules().values() for name in (rule.code, rule.name)]
    near = get_close_matches(selector, names, 1)
    return f", did you mean {near[0]}" if near else ""


def _matches(rule: Rule, selector: str) -> bool:
    return rule.code.startswith(selector.upper()) or rule.name == selector.lower()


def _specificity(rule: Rule, selectors: Iterable[str]) -> int:
    return max((len(rule.code) if rule.name == s else len(s) for s in selectors if _matches(rule, s)), default=0)
