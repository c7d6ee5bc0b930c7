"""From the client's bytes to what is sent and where it may go: parsed once, rewritten by splice, hashed.

Everything here is synchronous and touches no socket; the caches only save time.
"""

from collections.abc import Mapping
from typing import NamedTuple

from engine_adapter.engine import Engine
from gateway.config import Config
from gateway.errors import Refusal
from gateway.identity import Caller, Identity, identify
from gateway.models import ModelGroup, Models
from prefix.blocks import BLOCK_BYTES, HeadHashes
from prefix.body import Body, BodyCache, parse_body
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

    def for_engine(self, engine: Engine) -> tuple[bytes, bool]:
        """The bytes to send to this kind of engine, and whether its usage chunk must be hidden."""
        slices = self.body.slice("stream"), self.body.slice("stream_options")
        added = engine.additions(self.path, stream=slices[0], stream_options=slices[1])
        replacements = {**self.replacements, **member_edits(self.body, added.members)}
        raw = self.body.raw
        return (splice(raw, replacements) if replacements else raw), added.hide_usage


class Preparer:
    """Prepares requests; holds the caches of canonical tools, their views and the prompts' versions."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._bodies = BodyCache()
        self._tools = ToolCache()
        self._views = ToolViews()
        self._heads = HeadHashes()
        self._versions = PromptVersions()
        self._popular: dict[str, Popularity] = {}

    def prepare(
        self, path: str, raw: bytes, caller: Caller, own: Mapping[bytes, bytes], config: Config, now: float
    ) -> Prepared:
        """now: seconds, any monotonic origin.

        Raises Refusal for a body no engine can accept, a missing field, or an unknown model.
        """
        try:
            body = parse_body(raw, self._bodies)
            _check_fields(path, body)
            identity = identify(caller, own, body, config)
            route = config.routes.get(identity.route)
            level = (route.level if route else None) or config.level
            made = rewrite(body, self._tools, level, route.rules if route else RULES)
            body = made.body
            tools = _tools(body, made.replacements)
            view = prompt_view(body, tools, self._views)
            version = identity.prompt_version or self._version(body, tools)
        except BodyError as error:
            raise Refusal.of_body(error) from None
        group = self._models.group(body.value("model"))
        blocks = self._heads.hashes(view.text, view.seed, view.stable)
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
        )

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
        if key in body:
            return (replacements and replacements.get(body.spans[key])) or body.slice(key)
    return None


def _check_fields(path: str, body: Body) -> None:
    if path == GENERATE:
        return
    field = PROMPT_FIELDS[path]
    for name in ("model", field):
        if name is not None and (name not in body or body.value(name) is None):
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
