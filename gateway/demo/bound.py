"""The most that any placement could hit: one cache for all engines, without limit, each prompt computed at once."""

from collections.abc import Iterable
from typing import Final

from engine_adapter.simulated_bodies import read_ask
from gateway.demo.tally import Labels, Tokens, TokensByLabels
from gateway.demo.workload import DemoRequest
from prefix.canonical import canonicalize
from prefix.radix import RadixCache

_NO_LIMIT: Final = 2**62


def infinite_cache(requests: Iterable[DemoRequest], page_tokens: int) -> TokensByLabels:
    """Prompt and cached tokens of `requests`, one after the other, with the level `safe`."""
    cache = RadixCache(_NO_LIMIT, page_tokens)
    sums: dict[Labels, Tokens] = {}
    for request in requests:
        (prompt,) = read_ask("chat", canonicalize(request.body, level="safe").body).prompts
        tokens = Tokens(prompt.tokens, cache.serve(prompt.key, prompt.tokens))
        sums[request.labels] = sums.get(request.labels, Tokens()) + tokens
    return sums
