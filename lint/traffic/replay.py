"""A log replayed through the cache model, as it is and as it would be with its causes mended.

One request after the other goes through a radix cache of each worker that the log names (prefix.radix: pages, least
recently used leaves evicted), in several lanes at once: the log as it is, with each of the most costly causes mended
(lint.traffic.mend), with all. Lanes differ in nothing else, so the difference is what mending is worth. A page is a
stretch of the prompt's view (prefix.divergence): as many bytes as its tokens, by the log's own token counts when it
has any.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import xxhash

from lint.costing import Costing
from lint.traffic.form import same_form
from lint.traffic.logged import Logged
from lint.traffic.losses import Loss
from lint.traffic.mend import Body, Mend, mend
from lint.traffic.scope import scope
from lint.traffic.view import view as view_of
from prefix.radix import RadixCache
from prefix.tokens import BYTES_PER_TOKEN

EACH: Final = 3
"""Causes replayed one by one: the most costly ones."""
_WORKERS: Final = 64
_KEY_BYTES: Final = 8


class Replayed(NamedTuple):
    """requests, tokens: replayed. before: cached tokens of the log as it is. each: with one loss mended, by its place
    in the losses. after: with all that can be. unmended: why not, by place. workers: how many caches."""

    requests: int
    tokens: int
    before: int
    each: dict[int, int]
    after: int
    unmended: dict[int, str]
    workers: int


class _Prompt(NamedTuple):
    """A prompt as the cache model takes it."""

    key: bytes
    tokens: int
    namespace: int


class Replay:
    """Takes the requests of a log once more, in order. bytes_per_token: of the log's views."""

    def __init__(self, losses: Sequence[Loss], costing: Costing, bytes_per_token: float | None) -> None:
        mends = {at: mend(loss) for at, loss in enumerate(losses)}
        self._unmended = {at: why for at, why in mends.items() if isinstance(why, str)}
        self._page = max(1, round(costing.page_tokens * (bytes_per_token or BYTES_PER_TOKEN)))
        self._costing = costing
        self._mends: dict[int, list[tuple[int, Mend]]] = {}
        for at, change in mends.items():
            if not isinstance(change, str):
                self._mends.setdefault(losses[at].template, []).append((at, change))
        mended = [at for at in mends if at not in self._unmended]
        self._each = [] if len(mended) == 1 else mended[:EACH]
        self._only = mended[0] if len(mended) == 1 else None
        self._caches: dict[str | None, list[RadixCache]] = {}
        self._cached = [0] * (2 + len(self._each))
        self._requests = self._tokens = 0

    def add(self, logged: Logged, template: int) -> None:
        """Serve one request in every lane."""
        body = same_form(logged.body)
        changes = self._mends.get(template, [])
        plain = self._prompt(body)
        all_mended = self._mended(body, [change for _, change in changes]) if changes else plain
        prompts = [plain, all_mended]
        for each in self._each:
            mine = [change for at, change in changes if at == each]
            prompts.append(all_mended if len(mine) == len(changes) else self._mended(body, mine) if mine else plain)
        for lane, (cache, prompt) in enumerate(zip(self._worker(logged.worker), prompts, strict=True)):
            self._cached[lane] += cache.serve(prompt.key, prompt.tokens, prompt.namespace)
        self._requests += 1
        self._tokens += plain.tokens

    def result(self) -> Replayed:
        """What was cached in each lane."""
        each = dict(zip(self._each, self._cached[2:], strict=True))
        if self._only is not None:
            each[self._only] = self._cached[1]
        return Replayed(
            self._requests, self._tokens, self._cached[0], each, self._cached[1], self._unmended, len(self._caches)
        )

    def _worker(self, name: str | None) -> list[RadixCache]:
        if name not in self._caches and len(self._caches) >= _WORKERS:
            name = next(iter(self._caches))
        if name not in self._caches:
            shape = self._costing.kv_capacity, self._costing.page_tokens
            self._caches[name] = [RadixCache(*shape, page_bytes=_KEY_BYTES) for _ in self._cached]
        return self._caches[name]

    def _mended(self, body: Body, changes: Sequence[Mend]) -> _Prompt:
        for change in changes:
            body = change(body)
        return self._prompt(body)

    def _prompt(self, body: Body) -> _Prompt:
        view, page = view_of(body), self._page
        digest: Any = xxhash.xxh3_64_digest
        key = b"".join([digest(view[at : at + page]) for at in range(0, len(view) - page + 1, page)])
        return _Prompt(key, len(view) * self._costing.page_tokens // page, scope(body))
