"""Token sums by label, from where they were counted: the gateway's `/metrics`, and the client's own streams.

The hit rates shown come from the gateway. The client adds up what the engines' usage chunks said; both must agree.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client.parser import text_string_to_metric_families

from gateway.demo.load import Outcome
from gateway.percentile import nearest_rank

Labels = tuple[str, str, str]
"""(route, customer, prompt version)."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Prompt tokens of requests whose cached count is known; `input` includes the cached ones."""

    input: int = 0
    cached: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.input + other.input, self.cached + other.cached)

    @property
    def hit_rate(self) -> float | None:
        """cached / input; None when there was no input."""
        return self.cached / self.input if self.input else None


Key = TypeVar("Key")
TokensByLabels = Mapping[Labels, Tokens]


def gateway_tokens(metrics: str) -> TokensByLabels:
    """The token counters of the gateway, from the Prometheus text of its `/metrics`."""
    kinds: Mapping[str, Callable[[int], Tokens]] = {
        "prefixgate_input_tokens_total": lambda value: Tokens(input=value),
        "prefixgate_cached_tokens_total": lambda value: Tokens(cached=value),
    }
    return _add_up(
        (_labels(sample.labels), kinds[sample.name](int(sample.value)))
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
        if sample.name in kinds
    )


def client_tokens(outcomes: Iterable[Outcome]) -> TokensByLabels:
    """What the engines reported to the client; requests without a report are left out."""
    return _add_up(
        (outcome.request.labels, Tokens(outcome.input_tokens, outcome.cached_tokens))
        for outcome in outcomes
        if outcome.input_tokens is not None and outcome.cached_tokens is not None
    )


def mismatches(gateway: TokensByLabels, client: TokensByLabels) -> list[str]:
    """One line for each label set on which gateway and client disagree."""
    return [
        f"{'/'.join(labels)}: gateway {_say(gateway.get(labels))}, client {_say(client.get(labels))}"
        for labels in sorted({*gateway, *client})
        if gateway.get(labels) != client.get(labels)
    ]


def total(tokens: TokensByLabels) -> Tokens:
    """The sum over all labels."""
    return sum(tokens.values(), Tokens())


def by_name(tokens: TokensByLabels) -> dict[str, dict[str, Tokens]]:
    """Sums by route, by customer and by prompt version (within its route), in the order of their names."""
    views: Mapping[str, Callable[[Labels], str]] = {
        "route": lambda labels: labels[0],
        "customer": lambda labels: labels[1],
        "prompt version": lambda labels: f"{labels[0]} {labels[2]}",
    }
    return {
        view: dict(sorted(_add_up((name(labels), one) for labels, one in tokens.items()).items()))
        for view, name in views.items()
    }


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that `share` (0 to 1) of all do not exceed; None of nothing."""
    return nearest_rank(sorted(values), share) if values else None


def _labels(of: Mapping[str, str]) -> Labels:
    return of["route"], of["customer"], of["prompt_version"]


def _add_up(parts: Iterable[tuple[Key, Tokens]]) -> dict[Key, Tokens]:
    sums: dict[Key, Tokens] = {}
    for key, tokens in parts:
        sums[key] = sums.get(key, Tokens()) + tokens
    return sums


def _say(tokens: Tokens | None) -> str:
    return f"{tokens.cached:,} of {tokens.input:,}" if tokens else "nothing"
