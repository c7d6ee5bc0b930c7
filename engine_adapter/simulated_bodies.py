"""Request bodies of the simulated engine, read as SGLang 0.5.23 reads them.

One idea: each API's body is a msgspec shape (unknown fields pass, as with the engine), and all become one `Ask`
(Responses and Anthropic's messages in simulated_apis). Extension field: `simulated_output_ids`, a list of token ids
(with several prompts: a list of such lists), forces the output; max_tokens still cuts it.
"""

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from engine_adapter.simulated_asks import Api, Ask, Prompt, Refusal
from engine_adapter.simulated_text import encode, render_chat, render_tools
from prefix.radix import token_key

ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function", "latest_reminder", "root"))


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = False
    continuous_usage_stats: bool | None = False


class _Sampling(msgspec.Struct):
    max_new_tokens: int | None = 128
    n: int | None = 1
    temperature: float | None = None
    ignore_eos: bool | None = False


class Common(msgspec.Struct, kw_only=True):
    """What all bodies have."""

    model: str = "default"
    n: int | None = 1
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    ignore_eos: bool | None = False
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    extra_key: str | list[str | None] | None = None
    cache_salt: str | list[str | None] | None = None
    lora_path: str | list[str | None] | None = None
    routed_dp_rank: int | None = None
    simulated_output_ids: list[Any] | None = None


class _Chat(Common, kw_only=True):
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None


class _Completion(Common, kw_only=True):
    prompt: str | list[Any]
    echo: bool = False


class _Generate(Common, kw_only=True):
    text: str | list[str] | None = None
    input_ids: list[Any] | None = None
    sampling_params: _Sampling | list[_Sampling] | None = None


_Body = TypeVar("_Body", bound=msgspec.Struct)


def read_ask(api: Api, body: bytes) -> Ask:
    """Read a body of the first three APIs; raises Refusal where the engine would refuse it."""
    if api == "chat":
        return _chat(decode(api, body, _Chat))
    if api == "completion":
        return _completion(decode(api, body, _Completion))
    return _generate(decode(api, body, _Generate))


def decode(api: Api, body: bytes, shape: type[_Body]) -> _Body:
    """The body in this shape; raises Refusal."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(api, f"1 validation error:\n  {error}", kind="Bad Request") from error


def _chat(body: _Chat) -> Ask:
    if not body.messages:
        raise Refusal("chat", "Messages cannot be empty.")
    for message in body.messages:
        role, content = message.get("role"), message.get("content")
        if not isinstance(role, str) or role.lower() not in ROLES:
            raise Refusal("chat", f"1 validation error:\n  'role' must be one of {sorted(ROLES)}", kind="Bad Request")
        if not isinstance(content, str | list | None):
            raise Refusal("chat", "1 validation error:\n  'content' is no text", kind="Bad Request")
    tools = render_tools(body.tools or [], body.tool_choice)
    return make_ask("chat", body, [render_chat(body.messages, tools)], [_limit(body)])


def _completion(body: _Completion) -> Ask:
    if not body.prompt:
        raise Refusal("completion", "Prompt cannot be empty")
    prompts = [body.prompt] if _single(body.prompt) else body.prompt
    echoes = [prompt if body.echo and isinstance(prompt, str) else "" for prompt in prompts]
    keys = [_prompt_key("completion", prompt) for prompt in prompts]
    limit = _limit(body)
    return make_ask("completion", body, keys, [16 if limit is None else limit] * len(keys), echoes)


def _generate(body: _Generate) -> Ask:
    given = body.text if body.input_ids is None else body.input_ids
    if given is None:
        raise Refusal("generate", "Either text, input_ids or input_embeds should be provided.")
    if not given:
        raise Refusal("generate", "Prompt cannot be empty")
    prompts = [given] if _single(given) else given
    sampling = body.sampling_params or _Sampling()
    each = sampling if isinstance(sampling, list) else [sampling] * len(prompts)
    if len(each) != len(prompts):
        raise Refusal("generate", "sampling_params is a list of another length than the prompts")
    body.n, body.temperature, body.ignore_eos = each[0].n, each[0].temperature, each[0].ignore_eos
    keys = [_prompt_key("generate", prompt) for prompt in prompts]
    batch = not _single(given) or (body.n or 1) > 1
    return make_ask("generate", body, keys, [sampling.max_new_tokens for sampling in each], batch=batch)


def _single(given: str | Sequence[object]) -> bool:
    return isinstance(given, str) or isinstance(given[0], int)


def _limit(body: Common) -> int | None:
    return body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens


def _prompt_key(api: Api, prompt: object) -> bytes:
    if isinstance(prompt, str) and prompt:
        return encode(prompt)
    if isinstance(prompt, list) and prompt and _are_tokens(prompt):
        return token_key(prompt)
    raise Refusal(api, "A prompt is a non-empty text or a list of token ids")


def _are_tokens(ids: list[object]) -> bool:
    return all(isinstance(token, int) and 0 <= token < 2**31 for token in ids)


def make_ask(
    api: Api,
    body: Common,
    keys: Sequence[bytes],
    limits: Sequence[int | None],
    echoes: Sequence[str] = (),
    *,
    batch: bool = False,
    request: Mapping[str, Any] = MappingProxyType({}),
    history: Sequence[Any] = (),
) -> Ask:
    """What is asked, from the body, the prompts' tokens and their limits; raises Refusal."""
    options = body.stream_options or _StreamOptions()
    n = 1 if body.n is None else body.n
    if n < 1:
        raise Refusal(api, f"n must be at least 1, got {n}.")
    if body.temperature is not None and body.temperature < 0:
        raise Refusal(api, f"temperature must be a non-negative finite number, got {body.temperature}.")
    for limit in limits:
        if limit is not None and limit < 0:
            raise Refusal(api, f"max_new_tokens must be at least 0, got {limit}.")
    return Ask(
        api=api,
        model=body.model,
        prompts=[
            Prompt(
                key=key,
                namespace=_namespace(body, index),
                max_tokens=limits[index],
                ignore_eos=bool(body.ignore_eos),
                forced=_forced(api, body.simulated_output_ids, index, len(keys)),
                echo=echoes[index] if echoes else "",
            )
            for index, key in enumerate(keys)
        ],
        batch=batch,
        n=n,
        stream=bool(body.stream),
        include_usage=bool(options.include_usage),
        continuous_usage=bool(options.continuous_usage_stats),
        request=request,
        history=history,
        dp_rank=body.routed_dp_rank,
    )


def _forced(api: Api, ids: list[Any] | None, index: int, prompts: int) -> Sequence[int] | None:
    if ids is None:
        return None
    own = ids[index] if len(ids) == prompts and all(isinstance(each, list) for each in ids) else ids
    if not _are_tokens(own):
        raise Refusal(api, "simulated_output_ids is a list of token ids, or one list for each prompt")
    return own


def _namespace(body: Common, index: int) -> Hashable:
    """Adapter, extra key and salt, each in a place of its own; None when there is none of them."""
    space = (_nth(body.lora_path, index), _nth(body.extra_key, index), _nth(body.cache_salt, index) or None)
    return None if space == (None, None, None) else space


def _nth(value: str | list[str | None] | None, index: int) -> str | None:
    if isinstance(value, list):
        return value[index] if index < len(value) else None
    return value
