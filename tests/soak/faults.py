"""A simulated engine that fails where a request asks it to, so that the client knows which errors are intended.

`x-soak-fault` is passed on by the gateway like any header it does not know. `status=N`: answer so; `die=N`: cut the
connection after N stream events (0: before the first byte); `hang`: never answer; `lie`: report more cached tokens
than the prompt had. Everything else is the simulated engine as it is.
"""

import logging
import sys
from dataclasses import fields, replace

import uvloop
from aiohttp import web

from engine_adapter.simulated import SimulatedEngine, serve
from engine_adapter.simulated_asks import Api
from engine_adapter.simulated_generation import Faults, Generation, json_response
from engine_adapter.simulated_options import read_options

FAULT = "x-soak-fault"
_LIE = {
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 20}},
}


class _OnDemand(Generation):
    async def respond(self, http: web.Request, api: Api, body: bytes) -> web.StreamResponse:
        kind, _, value = http.headers.get(FAULT, "").partition("=")
        if not kind:
            return await super().respond(http, api, body)
        if kind == "lie":
            return json_response(_LIE)
        return await Generation.respond(replace(self, faults=_faults(kind, value)), http, api, body)


def _faults(kind: str, value: str) -> Faults:
    if kind == "hang":
        return Faults(hang=True)
    return Faults(status=int(value)) if kind == "status" else Faults(die_after_events=int(value))


class FailingEngine(SimulatedEngine):
    """The engine; see the module's text."""

    def _renew(self) -> None:
        super()._renew()
        plain = self._generation
        self._generation = _OnDemand(**{field.name: getattr(plain, field.name) for field in fields(plain)})


if __name__ == "__main__":
    logging.getLogger("aiohttp.server").disabled = True  # connections cut on purpose are no news
    sys.exit(uvloop.run(serve(FailingEngine(read_options(None)))))
