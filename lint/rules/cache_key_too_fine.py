"""A cache key, a salt or an adapter of its own for nearly every request parts what could be shared."""

from lint.examples import HANDBOOK, QUESTIONS, chat, log
from lint.rule import Rule
from lint.sources.examples import app
from lint.sources.flow import uses
from lint.traffic.checks import notes

RULE = Rule(
    code="PC604",
    name="cache-key-too-fine",
    severity="warning",
    summary="A cache key, a salt or an adapter of its own for nearly every request parts what could be shared.",
    why=(
        "`prompt_cache_key` says which machine may have the prefix; `cache_salt` and `extra_key` keep whole caches "
        "apart, as adapters do. With a value per request the same system text is computed for each of them. A salt "
        "per tenant is a design, and costs its tenants one cold prefix each: that is not reported."
    ),
    instead=(
        "Use one value for all requests that begin alike: per route, per prompt version, or per tenant where tenants "
        "must not share. Adapters are a hint only: they are seldom a choice."
    ),
    since="0.1.0",
    checks=(
        uses("cache_key"),
        notes("key_too_fine", "warning"),
    ),
    bad=(
        app("POLICY", more="prompt_cache_key=str(uuid.uuid4()),", imports="import uuid"),
        app("POLICY", more="extra_body={'cache_salt': uuid.uuid4().hex},", imports="import uuid"),
        app("POLICY", more="prompt_cache_key=key,", imports="import time", setup="key = f'shop-{time.time()}'"),
        log(*(chat(HANDBOOK, QUESTIONS[at % 4], prompt_cache_key=f"request-{at}") for at in range(8))),
        log(*(chat(HANDBOOK, QUESTIONS[at % 4], cache_salt=f"{at * 7919:x}") for at in range(8))),
        log(*(chat(HANDBOOK, QUESTIONS[at % 4], lora_path=f"adapters/user-{at}") for at in range(8))),
    ),
    good=(
        app("POLICY", more="prompt_cache_key='shop',"),
        app("POLICY", more="prompt_cache_key=f'shop-{user}',"),
        app("POLICY", more="extra_body={'request_id': str(uuid.uuid4())},", imports="import uuid"),
        log(*(chat(HANDBOOK, QUESTIONS[at % 4], prompt_cache_key="support-v3") for at in range(8))),
        log(*(chat(HANDBOOK, QUESTIONS[at % 4], cache_salt=f"tenant-{at % 2}") for at in range(8))),
        log(*(chat(HANDBOOK, QUESTIONS[at % 4]) for at in range(8))),
    ),
)
