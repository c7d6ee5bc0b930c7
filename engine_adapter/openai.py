"""Any endpoint that speaks OpenAI's API, hosted or not, of which nothing more is known. Only where it is configured.

What it does not tell stays unknown: no load, no KV capacity, no page size. Requests are placed by what was sent there
before. The adapters of engines whose API is OpenAI's begin here and say what more their engine tells.

- It is asked for /v1/models, with the credential of `engine_credentials`, twice a minute: hosted endpoints count
  requests, so nothing here is asked for twice a second.
- `prompt_cache_key` (opt-in) goes with requests that have a stable prefix and no key of the client's: a hosted
  endpoint sends requests with one key to machines that hold one prefix, and 15 requests a minute per key and prefix
  are what one machine takes. Source: platform.openai.com/docs/guides/prompt-caching (read 2026-11); prompts under
  1,024 tokens are not cached there.
- There is no cache salt: an organisation's cache is its own, and customers of one gateway cannot be told apart in it.
"""

from collections.abc import Collection
from typing import Final

import msgspec

from engine_adapter.answers import listed, usage_additions
from engine_adapter.engine import NO_PAGES, Additions, EngineInfo, EngineLoad, Pages
from prefix.errors import EngineError

CHAT, COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
EMBEDDINGS, MESSAGES = "/v1/embeddings", "/v1/messages"
NO_SUCH_PATH: Final = b'{"detail":"Not Found"}'
"""What servers made with FastAPI say."""


class OpenAI:
    """The adapter; see `engine_adapter.engine.Engine` for what each name means."""

    kind: str = "openai"
    health_path: str = "/v1/models"
    health_every_s: float = 30.0
    info_paths: tuple[str, ...] = ("/v1/models",)
    info_also: tuple[str, ...] = ()
    load_paths: tuple[str, ...] = ()
    load_also: tuple[str, ...] = ()
    metrics_path: str | None = None
    asleep_path: str | None = None
    flush_path: str | None = None
    keep_alive_s: float = 5.0
    report_flag: str | None = None
    salt_member: str | None = None
    salted_paths: Collection[str] = ()
    cache_key_paths: Collection[str] = frozenset((CHAT, RESPONSES))
    api_paths: Collection[str] = frozenset((CHAT, COMPLETIONS, RESPONSES, EMBEDDINGS))

    def speaks(self, path: str) -> bool:
        return path in self.api_paths

    def lacks(self, status: int, answer: bytes) -> bool:
        return status == 404 and (answer == NO_SUCH_PATH or b"Invalid URL" in answer)

    def detects(self, info: bytes) -> bool:
        return False  # everybody lists models: this kind is told, not found

    def parse_info(self, info: bytes, also: Pages = NO_PAGES) -> EngineInfo:
        return self._info(tuple(sorted(self.parse_models(info))))  # hosted lists come in any order

    def parse_models(self, models: bytes) -> dict[str, int | None]:
        return {model.id: model.max_model_len for model in listed(models, self.kind)}

    def parse_load(self, load: bytes, also: Pages = NO_PAGES) -> EngineLoad | None:
        raise EngineError(f"{self.kind}: tells no load")

    def parse_clearings(self, metrics: bytes) -> int | None:
        return None

    def parse_asleep(self, answer: bytes) -> bool:
        return False

    def rank_headers(self, path: str, rank: int) -> tuple[tuple[bytes, bytes], ...]:
        return ()

    def additions(
        self,
        path: str,
        *,
        stream: bytes | None,
        stream_options: bytes | None,
        salt: str | list[str] | None = None,
        rank: int | None = None,
        cache_key: str | None = None,
    ) -> Additions:
        asked = usage_additions(path, stream, stream_options)
        members = {**asked.members, **self.own_members(path, rank)}
        if salt is not None and self.salt_member is not None:
            members[self.salt_member] = msgspec.json.encode(salt)
        if cache_key is not None:
            members["prompt_cache_key"] = msgspec.json.encode(cache_key)
        return Additions(members, hide_usage=asked.hide_usage)

    def own_members(self, path: str, rank: int | None) -> dict[str, bytes]:
        """What only this kind takes: the member that names the rank or the slot."""
        return {}

    def _info(
        self,
        models: tuple[str, ...],
        *,
        version: str | None = None,
        page_size: int | None = None,
        kv_capacity_tokens: int | None = None,
        max_model_len: int | None = None,
        cache_report: bool | None = None,
        boot_id: str | None = None,
        slots: int = 1,
    ) -> EngineInfo:
        """What this kind said; everything else is unknown."""
        return EngineInfo(
            kind=self.kind,
            version=version,
            models=models,
            page_size=page_size,
            kv_capacity_tokens=kv_capacity_tokens,
            max_model_len=max_model_len,
            cache_report=cache_report,
            boot_id=boot_id,
            dp_size=1,
            kv_events=None,
            disaggregation=None,
            slots=slots,
        )
