"""One request, read: what it asks, where its prompt's blocks end, and the bytes to send to an engine."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine_adapter.engine import Engine
from gateway.apis import Api
from gateway.errors import Refusal
from gateway.identity import Identity
from gateway.isolation import Salt
from gateway.models import ModelGroup
from prefix.body import Body
from prefix.hoist import HoistReport
from prefix.members import member_edits
from prefix.scan import Span, splice
from prefix.tools import Change
from prefix.view import View


class Prepared(NamedTuple):
    """One request, ready to be placed. Token counts are estimates unless the prompt came as token ids.

    prompt_version: the declared one, else a hash of tools and leading system text (docs/prompt-versions.md).
    body: what the lossy levels left of the client's, `replacements` still to be spliced into it.
    stable_tokens: of tools, leading system text, and behind them what the route's traffic shares.
    hoist: what moving volatile spans out of the system text saves, where the route asks and some were found.
    salt: the cache namespace the engine must keep this request in, None: any.
    choices: answers per prompt, where the engine reports usage for each of them (/generate); else 1.
    worker: the only one that can answer, because it keeps the response that is asked for or continued; else None.
    dp_rank: the DP rank that the client chose itself, where an engine of its model has several.
    asked_model: the one that was asked for, where a rule of the route chose another; missed_model: what a rule chose
    and nobody serves.
    cache_key: what requests with its stable prefix share, for endpoints that ask for it and a client that named none.
    pages: the keys of the prompt's pages that a cache can serve (prefix.pages), None: not known (gateway.paging).
    """

    api: Api
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
    salt: Salt | None = None
    worker: str | None = None
    dp_rank: int | None = None
    cache_key: str | None = None
    asked_model: str | None = None
    missed_model: str | None = None
    pages: Sequence[int] | None = None

    @property
    def stored(self) -> tuple[str, ...]:
        """The ids of what an engine keeps and this request continues: a response, a conversation."""
        if not self.api.stored:
            return ()
        named = [self.body.value(key) for key in ("previous_response_id", "conversation")]
        ids = [value.get("id") if type(value) is dict else value for value in named]
        return tuple(value for value in ids if type(value) is str)

    @property
    def teaches(self) -> bool:
        """Its view is all of its prompt, so that its token count tells the bytes per token."""
        return bool(self.view.text) and self.view.tokens is None and self.worker is None and not self.stored

    def for_engine(self, engine: Engine, rank: int | None = None) -> tuple[bytes, bool]:
        """The bytes to send to this kind of engine, and whether its usage chunk must be hidden.

        rank: the DP rank or slot it was placed on; what the client chose itself is in its request already.
        Raises Refusal `isolation_unsupported` when it takes no salt where one is needed.
        """
        if self.salt is not None and self.api.path not in engine.salted_paths:
            where = f" at {self.api.path}" if engine.salted_paths else ""
            message = (
                f"{engine.kind} takes no cache salt{where}: this customer's prompts cannot be cached apart there"
            )
            raise Refusal("isolation_unsupported", message)
        slices = self.body.slice("stream"), self.body.slice("stream_options")
        slotted = self.api.path in engine.slotted_paths
        chosen = "id_slot" in self.body if slotted else self.dp_rank is not None
        added = engine.additions(
            self.api.path,
            stream=slices[0],
            stream_options=slices[1],
            salt=self.salt,
            rank=None if chosen else rank,
            cache_key=self.cache_key if self.api.path in engine.cache_key_paths else None,
        )
        replacements = {**self.replacements, **member_edits(self.body, added.members)}
        raw = self.body.raw
        return (splice(raw, replacements) if replacements else raw), added.hide_usage
