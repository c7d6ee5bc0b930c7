"""Where answers come from: one OpenAI-compatible server, asked with a bounded number of requests at once."""

import asyncio
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec

from gateway.quality.answer import Answer, parse_answer
from prefix.errors import EngineError

_SECONDS: Final = 300.0
_CHANGES: Final = "x-prefixgate-changes"


class Target:
    """url: as clients have it, with or without /v1. key: sent as a bearer token. model: None for its first one."""

    def __init__(self, url: str, *, model: str | None, key: str | None, at_once: int) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self._model = model
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._room = asyncio.Semaphore(at_once)

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=_SECONDS, sock_connect=10),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def model(self) -> str:
        """The model that is asked. Raises EngineError when the server cannot be reached or has none."""
        if self._model is None:
            self._model = await self._first_model()
        return self._model

    async def ask(self, body: dict[str, Any]) -> Answer:
        """The answer to one chat completion; what goes wrong is its `error`."""
        data = msgspec.json.encode({**body, "model": await self.model()})
        headers = {"content-type": "application/json"}
        try:
            async with (
                self._room,
                self._http.post(f"{self.url}/v1/chat/completions", data=data, headers=headers) as response,
            ):
                content = await response.read()
                if response.status != 200:
                    return Answer(error=f"HTTP {response.status}: {content[:200].decode(errors='replace')}")
                return parse_answer(content, rewritten=_CHANGES in response.headers)
        except TimeoutError:
            return Answer(error=f"no answer within {_SECONDS:.0f} s")
        except aiohttp.ClientError as error:
            return Answer(error=f"{type(error).__name__}: {error}")

    async def _first_model(self) -> str:
        try:
            async with self._http.get(f"{self.url}/v1/models") as response:
                content = await response.read()
                if response.status != 200:
                    raise EngineError(f"{self.url}/v1/models answers {response.status}; is a key needed, or --model?")
        except (aiohttp.ClientError, TimeoutError) as error:
            raise EngineError(f"{self.url} cannot be reached: {error or type(error).__name__}") from None
        try:
            return str(msgspec.json.decode(content)["data"][0]["id"])
        except (msgspec.DecodeError, KeyError, IndexError, TypeError):
            raise EngineError(f"{self.url}/v1/models names no model: give --model") from None
