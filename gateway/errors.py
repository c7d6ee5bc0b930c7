"""Every error the gateway answers by itself, as one table: code -> status, type, what to say.

Bodies are OpenAI-shaped, {"error": {"message", "type", "param", "code"}}, and on Anthropic's paths Anthropic-shaped,
{"type": "error", "error": {"type", "message", "code"}}. `code` is stable. What an engine answers passes through
unchanged and is not in this table.
"""

from typing import NamedTuple

import msgspec

from prefix.errors import BodyError


class Kind(NamedTuple):
    """How one code is answered. retry_after: seconds for the Retry-After header, None: no header."""

    status: int
    type: str
    message: str
    retry_after: int | None = None


_CLIENT = "invalid_request_error"
_SERVER = "api_error"

TABLE: dict[str, Kind] = {
    "invalid_json": Kind(400, _CLIENT, "the body is not JSON"),
    "invalid_utf8": Kind(400, _CLIENT, "the body is not UTF-8"),
    "not_an_object": Kind(400, _CLIENT, "the body must be a JSON object"),
    "too_deep": Kind(400, _CLIENT, "arrays and objects nest too deep"),
    "duplicate_key": Kind(400, _CLIENT, "a key occurs twice"),
    "invalid_type": Kind(400, _CLIENT, "a field has the wrong type"),
    "missing_field": Kind(400, _CLIENT, "a required field is missing"),
    "invalid_query": Kind(400, _CLIENT, "a query parameter cannot be used"),
    "empty_messages": Kind(400, _CLIENT, "messages must hold at least one message"),
    "invalid_api_key": Kind(401, "authentication_error", "no valid API key: send Authorization: Bearer <key>"),
    "field_not_allowed": Kind(403, "permission_error", "this API key may not set an engine's control fields"),
    "admin_refused": Kind(403, "permission_error", "the admin surface is not open to this request"),
    "not_found": Kind(404, _CLIENT, "no such path"),
    "worker_not_found": Kind(404, _CLIENT, "no such worker"),
    "prompt_not_found": Kind(404, _CLIENT, "no request had this prompt version"),
    "request_not_found": Kind(404, _CLIENT, "no recent request has this id"),
    "response_not_found": Kind(404, _CLIENT, "no such response"),
    "model_not_found": Kind(404, _CLIENT, "no engine serves this model"),
    "method_not_allowed": Kind(405, _CLIENT, "use another method"),
    "request_timeout": Kind(408, _CLIENT, "the request did not arrive in time"),
    "worker_exists": Kind(409, _CLIENT, "this worker is there already"),
    "body_too_large": Kind(413, _CLIENT, "the body is over the limit"),
    "unsupported_encoding": Kind(415, _CLIENT, "send the body without Content-Encoding"),
    "invalid_worker": Kind(422, _CLIENT, "the worker's URL cannot be used"),
    "headers_too_large": Kind(431, _CLIENT, "the request's headers are over the limit"),
    "rate_limited": Kind(429, "rate_limit_error", "over a limit of this customer"),
    "internal_error": Kind(500, _SERVER, "the gateway failed; its log says why"),
    "isolation_unsupported": Kind(501, _SERVER, "the engine cannot keep this customer's cache apart on this path"),
    "engine_disconnected": Kind(502, _SERVER, "the engine closed the connection before it answered"),
    "engine_error": Kind(502, _SERVER, "the engine answered with an error"),
    "engine_answer_invalid": Kind(502, _SERVER, "the engine's answer is not HTTP"),
    "no_engine": Kind(503, _SERVER, "no engine is up: try again soon", 5),
    "shutting_down": Kind(503, _SERVER, "the gateway is shutting down", 1),
    "overloaded": Kind(503, _SERVER, "every engine is busy: try again soon", 2),
    "not_applied": Kind(504, _SERVER, "it was changed, but not in every process yet"),
    "total_timeout": Kind(504, _SERVER, "the answer was not complete in time"),
    "engine_timeout": Kind(504, _SERVER, "the engine did not answer in time"),
    "stream_broken": Kind(502, _SERVER, "the engine closed the stream before its end"),
}

_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
"""docs.anthropic.com/en/api/errors; other statuses: invalid_request_error below 500, api_error from there on."""


_LAST = frozenset(("request_timeout", "shutting_down"))
"""After these nothing more is read from the connection."""


class Refusal(Exception):
    """A request the gateway answers by itself.

    code: a key of TABLE. param: the field at fault (JSON pointer). allow: methods the path has, for 405.
    retry_after: seconds, in place of the table's.
    """

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        param: str | None = None,
        allow: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        self.kind = TABLE[code]
        self.code = code
        self.message = message or self.kind.message
        self.param = param
        self.allow = allow
        self.retry_after = self.kind.retry_after if retry_after is None else retry_after
        super().__init__(self.message)

    @classmethod
    def of_body(cls, error: BodyError) -> "Refusal":
        """The refusal of a body no engine can accept, with pointer and byte offset in the message."""
        at = "" if error.offset is None or "byte" in str(error) else f" (byte {error.offset})"
        return cls(error.code, f"{error}{at}", param=error.pointer or None)

    def body(self, dialect: str = "openai") -> bytes:
        """The error object as JSON bytes, in the shape of the API that is spoken."""
        kind = self.kind
        if dialect == "anthropic":
            named = _ANTHROPIC_TYPES.get(kind.status) or (_CLIENT if kind.status < 500 else _SERVER)
            error = {"type": named, "message": self.message, "code": self.code}
            return msgspec.json.encode({"type": "error", "error": error})
        return msgspec.json.encode({"error": self._openai()})

    def _openai(self) -> dict[str, str | None]:
        return {"message": self.message, "type": self.kind.type, "param": self.param, "code": self.code}

    def headers(self, dialect: str = "openai") -> list[tuple[bytes, bytes]]:
        """Response headers for `body()`."""
        length = str(len(self.body(dialect))).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        if self.retry_after is not None:
            headers.append((b"retry-after", str(self.retry_after).encode()))
        if self.allow is not None:
            headers.append((b"allow", self.allow.encode()))
        if self.code in _LAST:
            headers.append((b"connection", b"close"))
        if self.kind.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        return headers

    def event(self, dialect: str = "openai") -> bytes:
        """The error as a server-sent event, for a stream that has begun.

        For Responses both in the shape of its error event and in the one by which the openai SDK raises.
        """
        if dialect == "anthropic":
            return b"event: error\ndata: " + self.body(dialect) + b"\n\n"
        if dialect == "responses":
            fields = {"type": "error", "code": self.code, "message": self.message, "param": self.param}
            return b"event: error\ndata: " + msgspec.json.encode({**fields, "error": self._openai()}) + b"\n\n"
        return b"data: " + self.body(dialect) + b"\n\n"
