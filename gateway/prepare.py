"""From the client's bytes to what is sent and where it may go: parsed once, rewritten by splice, hashed.

Everything here is synchronous and touches no socket; the caches only save time.
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qs

from gateway.apis import COUNT_TOKENS, GENERATE, Api, response_id
from gateway.config import Config, CustomerConfig
from gateway.errors import Refusal
from gateway.guard import check_fields
from gateway.identity import Caller, identify
from gateway.incoming import Incoming
from gateway.isolation import CLIENT_SALT, Isolation, Salt
from gateway.model_routes import CHANGE, Turned, asked, turn
from gateway.models import Models
from gateway.prepared import Prepared
from gateway.ranks import chosen_rank
from prefix.blocks import BLOCK_BYTES, HeadHashes
from prefix.body import Body, BodyCache, parse_body
from prefix.canonical import RULES, TOOL_KEYS, ToolCache, rewrite
from prefix.errors import BodyError
from prefix.frame import Frame
from prefix.popularity import Popularity
from prefix.prompt_version import PromptVersions
from prefix.scan import Span
from prefix.tool_view import ToolViews
from prefix.view import View, prompt_view

_NO_PROMPT = View(0, b"", 0, None)
_FORM_MODEL = re.compile(rb'name="?model"?\r\n(?:[^\r\n]+\r\n)*\r\n([^\r\n]{1,256})\r\n')
_FORM_SEARCHED = 64 * 1024
"""Bytes at either end of a multipart form in which its model is looked for."""


class Preparer:
    """Prepares requests; holds the caches of canonical tools, their views and the prompts' versions.

    isolation: derives the salts of isolated customers; None only while nobody is.
    """

    def __init__(self, models: Models) -> None:
        self._models = models
        self._bodies = BodyCache()
        self.isolation: Isolation | None = None
        self._tools = ToolCache()
        self._views = ToolViews()
        self._heads = HeadHashes()
        self._versions = PromptVersions()
        self._popular: dict[str, Popularity] = {}

    def prepare(self, api: Api, incoming: Incoming, caller: Caller, config: Config, now: float) -> Prepared:
        """now: seconds, any monotonic origin.

        Raises Refusal for a body no engine can accept, a missing field, a field the caller may not set, or an
        unknown model.
        """
        if api.body == "any":
            return self._unread(api, incoming, caller, config)
        try:
            return self._read(api, parse_body(incoming.body, self._bodies), incoming, caller, config, now)
        except BodyError as error:
            raise Refusal.of_body(error) from None

    def _read(self, api: Api, body: Body, incoming: Incoming, caller: Caller, config: Config, now: float) -> Prepared:
        _check_fields(api, body)
        if caller.config is not None:
            check_fields(body, caller.config.allow_fields)
        identity = identify(caller, incoming.own, body, config)
        salt = self._salt(caller, identity.customer, body, config) if api.path != COUNT_TOKENS else None
        route = config.routes.get(identity.route)
        turned = Turned(body, identity.route)
        if route is not None and route.models and api.rewritten:
            request = asked(
                body, identity.customer, self._models.bytes_per_token, _max_output(body), incoming.headers
            )
            turned = turn(body, identity.route, route.models, request, self._models.serves)
            body, identity = turned.body, identity._replace(route=turned.route)
        level = ((route.level if route else None) or config.level) if api.rewritten else "off"
        made = rewrite(body, self._tools, level, route.rules if route else RULES)
        body = made.body
        tools = _tools(body, made.replacements)
        view = prompt_view(body, tools, self._views, salt="".join(salt or ())) if api.keyed else _NO_PROMPT
        version = identity.prompt_version or (self._version(body, tools) if api.keyed else None)
        group = self._models.group(body.value("model"))
        if caller.config is not None:
            self._check_adapter(body.value("model"), caller.config)
        blocks = self._heads.hashes(view.text, view.seed, view.stable)
        size = len(view.text) if api.keyed else len(body.raw)
        prompt_tokens = view.tokens or max(1, round(size / group.bytes_per_token))
        stable = max(view.stable, self._shared_blocks(identity.route, blocks, now) * BLOCK_BYTES) if blocks else 0
        return Prepared(
            api=api,
            body=body,
            replacements=made.replacements,
            changes=(CHANGE, *made.changes) if turned.asked is not None else made.changes,
            hoist=made.hoist,
            identity=identity,
            prompt_version=version,
            group=group,
            model=str(body.value("model") or group.name),
            view=view,
            blocks=blocks,
            prompt_tokens=prompt_tokens,
            stable_tokens=prompt_tokens * stable // max(1, len(view.text)),
            max_output_tokens=_max_output(body) if api.keyed else None,
            choices=_choices(body) if api.path == GENERATE else 1,
            stream=body.slice("stream") == b"true",
            salt=salt,
            dp_rank=chosen_rank(body, incoming.headers) if group.several else None,
            asked_model=turned.asked,
            missed_model=turned.missed,
            cache_key=_cache_key(body, view, blocks) if config.prompt_cache_key else None,
        )

    def _unread(self, api: Api, incoming: Incoming, caller: Caller, config: Config) -> Prepared:
        """A request whose body, if it has any, is the engine's business."""
        body = _any_body(incoming.body, strict=caller.config is not None)
        if caller.config is not None:
            check_fields(body, caller.config.allow_fields)
        model = body.value("model") or _named_model(incoming)
        group = self._models.any() if response_id(incoming.path) else self._models.group(model)
        return Prepared(
            api=api,
            body=body,
            replacements={},
            changes=(),
            hoist=None,
            identity=identify(caller, incoming.own, body, config),
            prompt_version=None,
            group=group,
            model=str(model or group.name),
            view=_NO_PROMPT,
            blocks=[],
            prompt_tokens=1,
            stable_tokens=0,
            max_output_tokens=None,
            choices=1,
            stream=False,
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
        if key in body:
            return (replacements and replacements.get(body.spans[key])) or body.slice(key)
    return None


def _any_body(raw: bytes, *, strict: bool) -> Body:
    """The members of a JSON object, none of anything else.

    strict: what begins like an object must be one, so that nothing in it goes unseen. Raises Refusal.
    """
    if raw.lstrip(b" \t\r\n")[:1] == b"{":
        try:
            return parse_body(raw)
        except BodyError as error:
            if strict:
                raise Refusal.of_body(error) from None
    return Body(raw, Frame(raw, {}, "not_json"))


def _named_model(incoming: Incoming) -> str | None:
    """The model that a query or a multipart form names."""
    named = parse_qs(incoming.query.decode("latin-1")).get("model")
    if named:
        return named[0]
    raw = incoming.body
    found = _FORM_MODEL.search(raw[:_FORM_SEARCHED]) or _FORM_MODEL.search(raw[-_FORM_SEARCHED:])
    return found[1].decode("utf-8", "replace") if found is not None else None


def _check_fields(api: Api, body: Body) -> None:
    for name in api.required:
        if body.slice(name) in (None, b"null"):
            raise Refusal("missing_field", f"{name} is required", param=f"/{name}")
    if "messages" in api.required and body.value("messages") == []:
        raise Refusal("empty_messages", param="/messages")
    if api.required and body.slice("stream") not in (None, b"true", b"false", b"null"):
        raise Refusal("invalid_type", "stream must be true or false", param="/stream")


def _cache_key(body: Body, view: View, blocks: list[int]) -> str | None:
    """A name for the stable prefix, the same on every replica; None where it is short or the client has its own."""
    whole = view.stable // BLOCK_BYTES
    if not whole or "prompt_cache_key" in body:
        return None
    return f"pg-{blocks[whole - 1]:016x}"


def _choices(body: Body) -> int:
    sampling = body.value("sampling_params")
    first = sampling[0] if type(sampling) is list and sampling else sampling
    value = first.get("n") if type(first) is dict else None
    return value if type(value) is int and value > 0 else 1


def _max_output(body: Body) -> int | None:
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        value = body.value(name)
        if type(value) is int and value > 0:
            return value
    sampling = body.value("sampling_params")
    value = sampling.get("max_new_tokens") if type(sampling) is dict else None
    return value if type(value) is int and value > 0 else None
