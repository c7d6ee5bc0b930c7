"""From the client's bytes to what is sent and where it may go: parsed once, rewritten by splice, hashed.

Everything here is synchronous and touches no socket; the caches only save time.
"""

from collections.abc import Mapping
from typing import NamedTuple

from engine_adapter.engine import Engine
from gateway.config import Config, CustomerConfig
from gateway.errors import Refusal
from gateway.guard import check_fields
from gateway.identity import Caller, Identity, identify
from gateway.isolation import CLIENT_SALT, Isolation, Salt
from gateway.models import ModelGroup, Models
from prefix.blocks import BLOCK_BYTES, block_hashes
from prefix.body import Body, parse_body
from prefix.canonical import RULES, TOOL_KEYS, ToolCache, rewrite
from prefix.errors import BodyError
from prefix.hoist import HoistReport
from prefix.members import member_edits
from prefix.popularity import Popularity
from prefix.prompt_version import PromptVersions
from prefix.scan import Span, splice
from prefix.tools import Change
from prefix.view import ToolViews, View, prompt_view

CHAT, COMPLETIONS, GENERATE = "/v1/chat/completions", "/v1/completions", "/generate"
PROMPT_FIELDS = {CHAT: "messages", COMPLETIONS: "prompt", GENERATE: None}
"""The proxied paths, and the field each cannot do without."""


class Prepared(NamedTuple):
    """One request, ready to be placed. Token counts are estimates unless the prompt came as token ids.

    prompt_version: the declared one, else a hash of tools and leading system text (docs/prompt-versions.md).
    body: what the lossy levels left of the client's, `replacements` still to be spliced into it.
    stable_tokens: of tools, leading system text, and behind them what the route's traffic shares.
    hoist: what moving volatile spans out of the system text saves, where the route asks and some were found.
    salt: the cache namespace the engine must keep this request in, None: any.
    choices: answers per prompt, where the engine reports usage for each of them (/generate); else 1.
    """

    path: str
    body: Body
    replacements: Mapping[Span, bytes]
    changes: tuple[Change, ...]
    hoist: HoistReport | None
    identity: Identity
    prompt_version: str | None
    group: ModelGroup
    model: str
    view: View
    blocks: list[int]
    prompt_tokens: int
    stable_tokens: int
    max_output_tokens: int | None
    choices: int
    stream: bool
    salt: Salt | None

    def for_engine(self, engine: Engine) -> tuple[bytes, bool]:
        """The bytes to send to this kind of engine, and whether its usage chunk must be hidden.

        Raises Refusal `isolation_unsupported` when it takes no salt where one is needed.
        """
        if self.salt is not None and self.path not in engine.salted_paths:
            raise Refusal("isolation_unsupported", f"{engine.kind} takes no cache salt at {self.path}")
        slices = self.body.slice("stream"), self.body.slice("stream_options")
        added = engine.additions(self.path, stream=slices[0], stream_options=slices[1], salt=self.salt)
        replacements = {**self.replacements, **member_edits(self.body, added.members)}
        raw = self.body.raw
        return (splice(raw, replacements) if replacements else raw), added.hide_usage


class Preparer:
    """Prepares requests; holds the caches of canonical tools, their views and the prompts' versions.

    isolation: derives the salts of isolated customers; None only while nobody is.
    """

    def __init__(self, models: Models) -> None:
        self._models = models
        self.isolation: Isolation | None = None
        self._tools = ToolCache()
        self._views = ToolViews()
        self._versions = PromptVersions()
        self._popular: dict[str, Popularity] = {}

    def prepare(
        self, path: str, raw: bytes, caller: Caller, own: Mapping[bytes, bytes], config: Config, now: float
    ) -> Prepared:
        """now: seconds, any monotonic origin.

        Raises Refusal for a body no engine can accept, a missing field, a field the caller may not set, or an
        unknown model.
        """
        try:
            body = parse_body(raw)
            _check_fields(path, body)
            if caller.config is not None:
                check_fields(body, caller.config.allow_fields)
            identity = identify(caller, own, body, config)
            salt = self._salt(caller, identity.customer, body, config)
            route = config.routes.get(identity.route)
            level = (route.level if route else None) or config.level
            made = rewrite(body, self._tools, level, route.rules if route else RULES)
            body = made.body
            tools = _tools(body, made.replacements)
            view = prompt_view(body, tools, self._views, salt="".join(salt or ()))
            version = identity.prompt_version or self._version(body, tools)
        except BodyError as error:
            raise Refusal.of_body(error) from None
        group = self._models.group(body.value("model"))
        if caller.config is not None:
            self._check_adapter(body.value("model"), caller.config)
        blocks = block_hashes(view.text, view.seed, BLOCK_BYTES)
        prompt_tokens = view.tokens or max(1, round(len(view.text) / group.bytes_per_token))
        stable = max(view.stable, self._shared_blocks(identity.route, blocks, now) * BLOCK_BYTES)
        return Prepared(
            path=path,
            body=body,
            replacements=made.replacements,
            changes=made.changes,
            hoist=made.hoist,
            identity=identity,
            prompt_version=version,
            group=group,
            model=str(body.value("model") or group.name),
            view=view,
            blocks=blocks,
            prompt_tokens=prompt_tokens,
            stable_tokens=prompt_tokens * stable // max(1, len(view.text)),
            max_output_tokens=_max_output(body),
            choices=_choices(body) if path == GENERATE else 1,
            stream=body.slice("stream") == b"true",
            salt=salt,
        )

    def _check_adapter(self, model: object, customer: CustomerConfig) -> None:
        """`base:adapter` is another spelling of lora_path."""
        if type(model) is str and not self._models.lists(model) and "lora_path" not in customer.allow_fields:
            raise Refusal("field_not_allowed", f"no engine lists the adapter of {model!r}", param="/model")

    def _salt(self, caller: Caller, customer: str, body: Body, config: Config) -> Salt | None:
        own = caller.config.isolate_cache if caller.config is not None else None
        if not (config.isolate_cache if own is None else own):
            return None
        assert self.isolation is not None
        return self.isolation.salt(customer, body.value(CLIENT_SALT))

    def _shared_blocks(self, route: str, blocks: list[int], now: float) -> int:
        """Leading blocks that the route's traffic shares, this prompt counted."""
        popular = self._popular.get(route)
        if popular is None:
            popular = self._popular[route] = Popularity()
        popular.observe(blocks, now)
        return popular.shared_blocks(blocks)

    def _version(self, body: Body, tools: bytes | None) -> str | None:
        """Of the canonical tools whatever the level, so that their order never makes another version."""
        array = tools is not None and tools.startswith(b"[") and body.opaque is None
        return self._versions.version(body, self._tools.array(tools).raw if tools and array else tools)


def _tools(body: Body, replacements: Mapping[Span, bytes]) -> bytes | None:
    for key in TOOL_KEYS:
        span = body.spans.get(key)
        if span is not None:
            return replacements.get(span) or body.raw[span.start : span.end]
    return None


def _check_fields(path: str, body: Body) -> None:
    if path == GENERATE:
        return
    field = PROMPT_FIELDS[path]
    for name in ("model", field):
        if name is not None and body.slice(name) in (None, b"null"):
            raise Refusal("missing_field", f"{name} is required", param=f"/{name}")
    if field == "messages" and body.value(field) == []:
        raise Refusal("empty_messages", param="/messages")
    if body.slice("stream") not in (None, b"true", b"false", b"null"):
        raise Refusal("invalid_type", "stream must be true or false", param="/stream")


def _choices(body: Body) -> int:
    sampling = body.value("sampling_params")
    first = sampling[0] if type(sampling) is list and sampling else sampling
    value = first.get("n") if type(first) is dict else None
    return value if type(value) is int and value > 0 else 1


def _max_output(body: Body) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value = body.value(name)
        if type(value) is int and value > 0:
            return value
    sampling = body.value("sampling_params")
    value = sampling.get("max_new_tokens") if type(sampling) is dict else None
    return value if type(value) is int and value > 0 else None
