"""Numbers of providers that bill caching by rules of their own: minimums, breakpoints, look-back, lifetimes.

Every number has the date it was looked up and where. Where sources disagree the smaller minimum is taken, so that
"too short to be cached" is only said of what is too short by all of them.

Looked up 2026-11-30, in stored copies of these pages (none was asked live):
* Anthropic, platform.claude.com/docs/en/build-with-claude/prompt-caching, as quoted in
  github.com/anthropics/anthropic-sdk-python/issues/1194 (4096 for Opus 4.6, 4.5 and Haiku 4.5; 1024 for Sonnet 4.6,
  4.5, 4, 3.7 and Opus 4.1, 4; 2048 for Haiku 3.5 and 3; the reporter observes 2048 for Sonnet 4.6, as OpenRouter's
  page says) and, for newer models, platform.claude.com/docs/en/about-claude/models "What's new in Claude Opus 5"
  (512 for Opus 5, 1024 for Opus 4.8). Opus 4.7 is 2048 in one account of the page and 4096 in another: 2048 here.
  Four breakpoints; a look-back of 20 blocks from each, itself the first; 5 minutes, or 1 hour, refreshed by each
  read; an entry can be read once the first answer begins; longer lifetimes must precede shorter ones.
* Amazon Bedrock, docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html: checkpoints (`cachePoint`), at
  most four, five minutes. Its minimum for Nova (1024) was not verified beyond third parties.
* OpenAI, platform.openai.com/docs/guides/prompt-caching: prompts of 1024 tokens and more, by the guide's text.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

LOOKED_UP: Final = "2026-11-30"
BREAKPOINTS: Final = 4
LOOK_BACK: Final = 20
"""Blocks that are looked at from a breakpoint back, itself the first."""
LIFETIMES: Final[dict[str, float]] = {"5m": 300.0, "1h": 3600.0}
"""Seconds, by what `ttl` says."""
DEFAULT_LIFETIME: Final = "5m"


class Minimum(NamedTuple):
    """The shortest prefix that is cached. tokens: of the model. marked: only what carries a breakpoint is."""

    tokens: int
    marked: bool


_MINIMUMS: Final = tuple(
    (re.compile(pattern), Minimum(tokens, marked))
    for pattern, tokens, marked in (
        (r"claude-(?:opus|fable|mythos)-5", 512, True),
        (r"claude-opus-4[-.]8|claude-sonnet-5", 1024, True),
        (r"claude-opus-4[-.]7", 2048, True),
        (r"claude-opus-4[-.][56](?!\d)", 4096, True),
        (r"claude-haiku-4[-.]5", 4096, True),
        (r"claude-3[-.]5-haiku|claude-haiku-3|claude-3-haiku", 2048, True),
        (r"claude", 1024, True),
        (r"amazon\.nova|\bnova-(?:micro|lite|pro|premier)", 1024, True),
        (r"(?:^|/)(?:gpt-(?!oss)|chatgpt|o\d)", 1024, False),
    )
)


@lru_cache(maxsize=256)
def smallest_prefix(model: str) -> Minimum | None:
    """What the provider of a model needs to cache at all; None for models on engines, which cache every page."""
    name = model.lower()
    return next((minimum for pattern, minimum in _MINIMUMS if pattern.search(name)), None)


def bills_by_breakpoint(model: str) -> bool:
    """Whether only marked prefixes of it are cached, at a price."""
    minimum = smallest_prefix(model)
    return minimum is not None and minimum.marked
