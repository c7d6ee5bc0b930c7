"""gateway.paging: a request's pages are those that its engine would make, or it has none."""

from array import array
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from gateway.apis import CHAT, COMPLETIONS, GENERATE
from gateway.config import Config, check
from gateway.kv_settings import KvEventsConfig, KvSource, PromptFiles
from gateway.models import Models
from gateway.paging import INLINE_CHARS, Paging
from gateway.prepare import Preparer
from gateway.prepared import Prepared
from prefix.errors import ConfigError
from prefix.pages import namespace_seed, page_keys
from tests.gateway.test_prepare import prepare

WORDS = ("<|>", *"abcdefghij")
CHAT_TEMPLATE = "{% for m in messages %}| {{ m.content }} {% endfor %}{{ tools | length if tools else '' }}"


@pytest.fixture
def paging(tmp_path: Path) -> Paging:
    """A model `m` whose tokens are letters."""
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    return Paging(KvEventsConfig(enabled=True, models={"m": PromptFiles(str(tmp_path))}))


@pytest.fixture
def preparer() -> Preparer:
    """One engine that serves `m` in pages of two tokens."""
    known = Models("expected-ttft")
    known.join("w", ("m", "lora"), None, 0.0)
    next(iter(known)).page_tokens = 2
    return Preparer(known)


def keys(ids: list[int], salt: str | None = None) -> list[int]:
    """Of the pages that a cache can serve: never the last token's."""
    return page_keys(array("I", ids[:-1]).tobytes(), 2, namespace_seed(salt))


async def paged(paging: Paging, preparer: Preparer, path: str, **body: Any) -> Prepared:
    """The request with its pages."""
    return await paging.paged(prepare(preparer, {"model": "m"} | body, path))


@pytest.mark.parametrize(
    ("path", "body", "ids"),
    [
        (COMPLETIONS, {"prompt": "a b c d e"}, [1, 2, 3, 4, 5]),
        (COMPLETIONS, {"prompt": [1, 2, 3]}, [1, 2, 3]),
        (GENERATE, {"text": "a b c"}, [1, 2, 3]),
        (GENERATE, {"input_ids": [7, 8, 9]}, [7, 8, 9]),
        (CHAT, {"messages": [{"role": "user", "content": "a b"}, {"role": "user", "content": "c"}]}, [0, 1, 2, 0, 3]),
    ],
)
async def test_prompts_have_pages(
    paging: Paging, preparer: Preparer, path: str, body: dict[str, Any], ids: list[int]
) -> None:
    """Texts, token ids and chats; the prompt's length is exact from then on; a salt is its own namespace."""
    plain = await paged(paging, preparer, path, **body)
    assert (plain.pages, plain.prompt_tokens) == (keys(ids), len(ids))
    salted = await paged(paging, preparer, path, **body, cache_salt="s")
    assert salted.pages == keys(ids, "s")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (COMPLETIONS, {"prompt": ["a", "b"]}),
        (COMPLETIONS, {"prompt": [[1], [2]]}),
        (GENERATE, {"text": ["a"]}),
        (COMPLETIONS, {"prompt": "a", "model": "lora"}),
        (COMPLETIONS, {"prompt": "a", "extra_key": "k"}),
        (COMPLETIONS, {"prompt": "a", "cache_salt": ["k"]}),
        (CHAT, {"messages": [{"role": "user", "content": "a"}], "continue_final_message": True}),
    ],
)
async def test_others_have_none(paging: Paging, preparer: Preparer, path: str, body: dict[str, Any]) -> None:
    """They keep their estimate, and why is counted."""
    given = await paged(paging, preparer, path, **body)
    assert given.pages is None
    assert paging.unrendered.total() == 1


async def test_long_prompts_go_to_a_thread_and_come_out_the_same(paging: Paging, preparer: Preparer) -> None:
    """The first time; the second time nothing of them is new."""
    text = "a b c " * INLINE_CHARS
    first = await paged(paging, preparer, COMPLETIONS, prompt=text)
    again = await paged(paging, preparer, COMPLETIONS, prompt=text)
    assert first.pages == again.pages == keys([1, 2, 3] * INLINE_CHARS)


async def test_without_events_nothing_is_done(paging: Paging) -> None:
    """No page size, no pages: what is not used costs nothing."""
    known = Models("expected-ttft")
    known.join("w", ("m",), None, 0.0)
    assert (await paged(paging, Preparer(known), COMPLETIONS, prompt="a b c")).pages is None


def test_settings_are_checked(tmp_path: Path) -> None:
    """Files that are not there, endpoints that cannot be, with the place in the configuration."""
    for wrong, words in (
        (KvEventsConfig(models={"m": PromptFiles("/nowhere")}), "kv_events: models: m: /nowhere is not there"),
        (KvEventsConfig(engines={"http://e": KvSource("e:5557")}), "must look like tcp://host:port"),
    ):
        with pytest.raises(ConfigError, match=words):
            check(Config(kv_events=wrong), "here")
    with pytest.raises(ConfigError, match="kv_events: models: m: "):
        Paging(KvEventsConfig(enabled=True, models={"m": PromptFiles(str(tmp_path))}))
    assert KvSource("tcp://e:1", "tcp://e:11").of_rank(3) == ("tcp://e:4", "tcp://e:14")
