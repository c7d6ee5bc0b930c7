"""Is the target there, does it know the model, does it take the kind of request: asked before any load is made.

One idea: what a run of ten minutes would fail with is found in its first second, and told in one line with what to
do. The probe is one request of one word and one token, which is none of the run's.
"""

from collections.abc import Collection, Sequence

import aiohttp

from engine_adapter.kinds import ENGINES
from gateway.bench.client import Target, read_up_to
from gateway.bench.outcome import REJECTED
from gateway.config import check_engine_url
from prefix.errors import ConfigError, EngineError

_LONGEST_LIST = 1 << 20
_CLOSED = "give a key: --key-env NAME (the environment variable that holds it) or --header"


async def known_models(target: Target) -> list[str]:
    """What it lists at /v1/models; [] where there is no such list. Raises EngineError when it cannot be reached."""
    try:
        async with target.http.get(f"{target.url}/v1/models", allow_redirects=False) as response:
            status, raw = response.status, await read_up_to(response, _LONGEST_LIST)
    except (aiohttp.ClientError, OSError) as error:
        raise EngineError(f"{target.url}: cannot be reached ({_reason(error)}); is it running there?") from None
    if status in (401, 403):
        raise EngineError(f"{target.url}: refuses us (HTTP {status}): {_CLOSED}")
    if status != 200:
        return []
    for engine in ENGINES:
        try:
            return list(engine.parse_models(raw))
        except EngineError:
            continue
    return []


def choose_model(wanted: str | None, recorded: Collection[str], known: Sequence[str], url: str) -> str | None:
    """The model to ask for: the wanted one, None to keep what recorded bodies say, else the only one there is.

    Raises ConfigError for one that the target does not list.
    """
    asked = {wanted} if wanted is not None else set(recorded)
    if known and (strange := sorted(asked.difference(known))):
        raise ConfigError(f"{url}: has no model {strange[0]!r}, but {', '.join(map(repr, known))}: set --model")
    if wanted is not None or recorded:
        return wanted
    if len(known) == 1:
        return known[0]
    listed = f"lists {len(known)} models ({', '.join(known)})" if known else "does not say which models it has"
    raise ConfigError(f"{url}: {listed}: choose one with --model")


async def probe(target: Target, path: str, body: bytes) -> str | None:
    """Send one short request. What to warn of, or None. Raises EngineError when the run would be in vain."""
    answer = await target.ask(path, body, {}, lambda: 0.0)
    if answer.error is None:
        return None
    where, detail = f"{target.url}{path}", answer.detail or answer.error
    if answer.error in ("http_401", "http_403"):
        raise EngineError(f"{where}: refuses us ({detail}): {_CLOSED}")
    if answer.error == "http_400" and b'"ignore_eos"' in body:
        raise EngineError(f"{where}: {detail}; where a server knows no `ignore_eos`: --no-ignore-eos")
    if answer.error == REJECTED and detail.startswith("HTTP 429"):
        return f"{where}: rejected the probe ({detail})"
    raise EngineError(f"{where}: does not answer a short request: {detail}")


def url_of(text: str) -> str:
    """A target's URL without a slash at its end or /v1. Raises ConfigError for anything but http(s)://host."""
    return check_engine_url(text.rstrip("/").removesuffix("/v1"))


def header_of(text: str) -> tuple[str, str]:
    """A header given as `Name: value`. Raises ConfigError."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not (name.strip() + value).isprintable():
        raise ConfigError(f"--header {name!r}: must look like 'Name: value'")
    return name.strip(), value.strip()


def _reason(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
