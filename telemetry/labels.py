"""Which raw strings may become metric labels: configured ones, or the first few that come; never free text.

Every distinct label value is a series that lives as long as the process, so a client must not be able to make
them up without end (DESIGN 6 and 9; https://github.com/BerriAI/litellm/pull/39136). Values that were not
configured must also look like a name, which keeps prompt text and control characters out of a scrape.
"""

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Final

OTHER: Final = "other"
UNVERSIONED: Final = "unversioned"
UNMATCHED: Final = "unmatched"
ANONYMOUS: Final = "anonymous"

PATHS: Final = (
    *("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"),
    *("/v1/embeddings", "/v1/models", "/generate", "/v1/messages/count_tokens"),
    *("/v1/responses/{id}", "/v1/responses/{id}/cancel", "/v1/responses/{id}/input_items"),
)

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,63}")
_RESERVED: Final = frozenset({OTHER, UNVERSIONED, UNMATCHED})
_WAITING: Final = 1024


class Admitted(dict[str, str]):
    """Raw value to label: `known` values, then up to `room` more that look like names; the rest are `fallback`.

    Reading is `admitted[raw]` and never fails; for an admitted value it is one dict lookup.
    """

    def __init__(self, known: Iterable[str] = (), *, room: int = 0, fallback: str = OTHER) -> None:
        super().__init__((value, value) for value in known)
        self._limit = len(self) + room
        self._fallback = fallback

    def __missing__(self, raw: str) -> str:
        if not self.accepts(raw):
            return self._fallback
        self[raw] = raw
        return raw

    @property
    def full(self) -> bool:
        """Whether every further value is `fallback`."""
        return len(self) >= self._limit

    def accepts(self, raw: str) -> bool:
        """Whether a value not yet admitted may be: there is room, and it looks like a name."""
        return not self.full and _NAME.fullmatch(raw) is not None and raw not in _RESERVED


class Versions:
    """The prompt versions of one route: declared ones at once, automatic ones after `promote_after` requests.

    Those waiting are counted in a table of fixed size that forgets the one not seen for the longest time.
    """

    def __init__(self, limit: int, promote_after: int) -> None:
        self._admitted = Admitted(room=limit)
        self._promote_after = promote_after
        self._waiting: OrderedDict[str, int] = OrderedDict()

    def label(self, raw: str | None, *, declared: bool) -> str:
        """The label of one request's version; counts the request towards promotion."""
        if raw is None:
            return UNVERSIONED
        if declared or raw in self._admitted:
            return self._admitted[raw]
        return self._wait(raw) if self._admitted.accepts(raw) else OTHER

    def _wait(self, raw: str) -> str:
        seen = self._waiting.pop(raw, 0)
        if seen >= self._promote_after:
            return self._admitted[raw]
        if len(self._waiting) >= _WAITING:
            self._waiting.popitem(last=False)
        self._waiting[raw] = seen + 1
        return OTHER


class Labels:
    """The bounded labels of one gateway: look raw values up in the attributes, versions by `prompt_version`.

    An unknown route is `default_route`. With `customers` configured all others are `other`; without, the first
    `max_customers` keep their names. `models` may grow by `learn_models` as engines report theirs.
    """

    def __init__(
        self,
        routes: Collection[str] = (),
        customers: Collection[str] = (),
        models: Collection[str] = (),
        *,
        default_route: str = "default",
        paths: Collection[str] = PATHS,
        max_prompt_versions: int = 50,
        max_customers: int = 50,
        max_models: int = 50,
        max_workers: int = 200,
        promote_after: int = 20,
    ) -> None:
        self.routes = Admitted({default_route, *routes}, fallback=default_route)
        self.customers = Admitted(customers) if customers else Admitted((ANONYMOUS,), room=max_customers)
        self.models = Admitted(models)
        self.paths = Admitted(paths, fallback=UNMATCHED)
        self.workers = Admitted(room=max_workers)
        self.outcomes = Admitted(("ok",), room=15)
        self.errors = Admitted(("",), room=32, fallback="_OTHER")
        self.statuses = Admitted(room=32)
        self.policies = Admitted(room=16)
        self.reasons = Admitted(("",), room=32)
        self._max_models = max(max_models, len(self.models))
        self._versions = {route: Versions(max_prompt_versions, promote_after) for route in self.routes}

    def prompt_version(self, route: str, raw: str | None, *, declared: bool) -> str:
        """The label of a request's prompt version; `route` is a label that `routes` gave."""
        return self._versions[route].label(raw, declared=declared)

    def learn_models(self, models: Iterable[str]) -> None:
        """Makes models that an engine serves labels too, up to `max_models`."""
        for model in models:
            if len(self.models) < self._max_models and model.isprintable() and len(model) <= 128:
                self.models[model] = model
