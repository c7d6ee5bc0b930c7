"""The prompt side of exactness: a request's prompt as the pages that its engine would make of it.

One idea: rendering and tokenizing cost what is new in a prompt (gateway.tokenizing), and where that is much it is
done in a thread, where the tokenizer lets go of the interpreter, so that the event loop is not held up. What cannot
be rendered here (media, Responses, Messages, adapters) has no pages and is placed by the prediction.

Which is cheaper, this or matching rendered bytes against events' tokens as bytes, and why this: docs/kv_events.md.
"""

import asyncio
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from gateway.kv_settings import KvEventsConfig, PromptFiles
from gateway.prepared import Prepared
from prefix.errors import BodyError, ConfigError, PromptError
from prefix.pages import namespace_seed, page_keys
from prefix.radix import TOKEN_BYTES

if TYPE_CHECKING:
    from gateway.prompt_maker import PromptMaker  # and with it jinja2 and tokenizers

INLINE_CHARS: Final = 2048
"""New characters up to which a prompt is tokenized at once: about 1.5 ms. More goes to a thread."""


class Paging:
    """Gives prompts their pages. unrendered: prompts without, by why."""

    def __init__(self, config: KvEventsConfig) -> None:
        self._makers: dict[str, PromptMaker] = {}
        self._files: Mapping[str, PromptFiles] = {}
        self.unrendered: Counter[str] = Counter()
        self.configure(config)

    def configure(self, config: KvEventsConfig) -> None:
        """Use these models' files from now on. Raises ConfigError."""
        files = config.models if config.enabled else {}
        makers: dict[str, PromptMaker] = {}
        for name, each in files.items():
            try:
                kept = self._makers.get(name) if self._files.get(name) == each else None
                makers[name] = kept or _made(each)
            except ConfigError as error:
                raise ConfigError(f"kv_events: models: {name}: {error}") from None
        self._makers, self._files = makers, files

    def __contains__(self, model: str) -> bool:
        return model in self._makers

    async def paged(self, prepared: Prepared) -> Prepared:
        """The request with its pages and the true length of its prompt, where both can be known."""
        page, maker = prepared.group.page_tokens, self._makers.get(prepared.group.name)
        if page is None or maker is None:
            return prepared
        try:
            seed = _seed(prepared)
            tokens = await _tokens(maker, prepared)
        except (PromptError, BodyError) as error:
            self.unrendered[str(error)[:80] if len(self.unrendered) < 64 else "other"] += 1
            return prepared
        count = len(tokens) // TOKEN_BYTES
        keys = page_keys(tokens[: max(0, count - 1) * TOKEN_BYTES], page, seed)
        return prepared._replace(pages=keys, prompt_tokens=max(1, count))


def _made(files: PromptFiles) -> "PromptMaker":
    from gateway.prompt_maker import PromptMaker

    return PromptMaker(files)


async def _tokens(maker: "PromptMaker", prepared: Prepared) -> bytes:
    prompt = maker.prompt(prepared)
    if not isinstance(prompt, tuple):
        return array("I", prompt).tobytes()
    text, whole = prompt
    tokenizing = maker.tokenizing
    if tokenizing.missing(text) > INLINE_CHARS:
        return await asyncio.to_thread(tokenizing.encode, text, whole=whole)
    return tokenizing.encode(text, whole=whole)


def _seed(prepared: Prepared) -> int:
    """Of the namespace that the engine is told."""
    salt = prepared.salt if prepared.salt is not None else prepared.body.value("cache_salt")
    if salt is not None and type(salt) is not str:
        raise PromptError("a salt for each prompt")
    if prepared.model != prepared.group.name:
        raise PromptError("an adapter, or another name of the model")
    return namespace_seed(salt)
