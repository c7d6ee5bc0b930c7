"""llama.cpp's own server, as build 10434 of upstream really behaves (tests/data/llamacpp was recorded from it).

- /health says 503 while the model loads, 200 after; it and /v1/models need no key, everything else does.
- A *slot* is one sequence with its KV; so many requests run at a time. A request whose `id_slot` names one waits for
  that one, busy or not (a number too large wraps round); without it the server takes the idle slot whose tokens
  share the longest prefix, if that is over --slot-prompt-similarity of the prompt (0.1), else the least recently
  used. So the next conversation of a shared system prompt takes over a slot with a long history: gateway.slots.
- What a slot loses is kept in RAM (--cache-ram, 8 GiB) when less than half of it stays, and comes back from there.
  Whether slots share their KV (`kv_unified`) is not told, so how much is cached at most is unknown.
- /slots (off with --no-slots: 501) says which slots are busy and with how many tokens; only /metrics (on with
  --metrics, else 501) counts what is deferred and how many prompt tokens were computed. With --sleep-idle-seconds
  both wake the server, so a server that is asked for its load does not fall asleep; /health and /props do not wake.
- `usage` always has `prompt_tokens_details.cached_tokens`, 0 included; `timings` has it as `cache_n`. All but the
  last prompt token can be cached: there are no pages. /v1/messages and /v1/responses tell it too.
- Any model name is answered, and `cache_salt` is taken and ignored: isolation cannot be had here.
- /props has a `media_marker` drawn anew at each start of the model.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from engine_adapter.answers import decode, listed, sample, whole
from engine_adapter.engine import NO_PAGES, EngineInfo, EngineLoad, Pages
from engine_adapter.openai import CHAT, COMPLETIONS, EMBEDDINGS, MESSAGES, RESPONSES, OpenAI
from prefix.errors import EngineError

SLOTTED_PATHS: Final = frozenset((CHAT, COMPLETIONS))
_NOT_FOUND: Final = b'"not_found_error"'
_NOT_SUPPORTED: Final = b'"not_supported_error"'


class _Settings(msgspec.Struct):
    n_ctx: int | None = None


class _Props(msgspec.Struct):
    total_slots: int
    model_path: str
    build_info: str | None = None
    model_alias: str | None = None
    media_marker: str | None = None
    default_generation_settings: _Settings = msgspec.field(default_factory=_Settings)


class _Token(msgspec.Struct):
    n_decoded: int = 0


class _Slot(msgspec.Struct):
    is_processing: bool
    n_prompt_tokens: int | None = None
    n_prompt_tokens_processed: int | None = None
    n_prompt_tokens_cache: int | None = None
    next_token: tuple[_Token, ...] | _Token = ()


_PROPS: Final = msgspec.json.Decoder(_Props)
_SLOTS: Final = msgspec.json.Decoder(tuple[_Slot, ...])


class LlamaCpp(OpenAI):
    """The adapter; see `engine_adapter.engine.Engine` for what each name means."""

    kind = "llamacpp"
    health_path = "/health"
    health_every_s = 0.0
    info_paths = ("/props",)
    load_paths = ("/slots", "/metrics")
    load_also = ("/metrics",)
    cache_key_paths: Collection[str] = ()
    api_paths = frozenset((CHAT, COMPLETIONS, RESPONSES, MESSAGES, f"{MESSAGES}/count_tokens", EMBEDDINGS))

    def lacks(self, status: int, answer: bytes) -> bool:
        return (status == 404 and _NOT_FOUND in answer) or (status == 501 and _NOT_SUPPORTED in answer)

    def detects(self, info: bytes) -> bool:
        try:
            self.parse_info(info)
        except EngineError:
            return False
        return True

    def parse_info(self, info: bytes, also: Pages = NO_PAGES) -> EngineInfo:
        props = decode(info, _PROPS, "llamacpp /props")
        return self._info(
            (props.model_alias or props.model_path,),
            version=props.build_info,
            page_size=1,
            max_model_len=props.default_generation_settings.n_ctx,
            cache_report=True,
            boot_id=props.media_marker,
            slots=max(1, props.total_slots),
        )

    def parse_models(self, models: bytes) -> dict[str, int | None]:
        return {model.id: model.meta.n_ctx if model.meta else None for model in listed(models, self.kind)}

    def parse_load(self, load: bytes, also: Pages = NO_PAGES) -> EngineLoad:
        page = also.get("/metrics", b"") if load.startswith(b"[") else load
        waiting = whole(sample(page, b"llamacpp:requests_deferred"))
        prefilled = whole(sample(page, b"llamacpp:prompt_tokens_total"))
        if load is page:
            running = whole(sample(page, b"llamacpp:requests_processing"))
            if running is None:
                raise EngineError("llamacpp /metrics: no llamacpp:requests_processing")
            return EngineLoad(running, waiting, None, None, prefilled)
        busy = [slot for slot in decode(load, _SLOTS, "llamacpp /slots") if slot.is_processing]
        return EngineLoad(len(busy), waiting, _waiting_tokens(busy, waiting), sum(map(_held, busy)), prefilled)

    def own_members(self, path: str, rank: int | None) -> dict[str, bytes]:
        return {"id_slot": b"%d" % rank} if rank is not None and path in SLOTTED_PATHS else {}


def _held(slot: _Slot) -> int:
    """Tokens in a busy slot: its prompt's, and what it generated."""
    token = slot.next_token if isinstance(slot.next_token, _Token) else next(iter(slot.next_token), _Token())
    return (slot.n_prompt_tokens or 0) + token.n_decoded


def _waiting_tokens(busy: list[_Slot], waiting: int | None) -> int | None:
    """Prompt tokens still to be computed: what is left of those in the slots, and for each deferred request as many
    as those have on average."""
    if waiting is None:
        return None
    prompts = sum(slot.n_prompt_tokens or 0 for slot in busy)
    done = sum((slot.n_prompt_tokens_processed or 0) + (slot.n_prompt_tokens_cache or 0) for slot in busy)
    return max(0, prompts - done) + waiting * (prompts // max(1, len(busy)))
