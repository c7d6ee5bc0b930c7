"""The proxied APIs as one table: what each path is to the gateway.

One idea: a path is a row, and everything that differs between the APIs is a column of it: how a prompt is placed,
the dialect of its streams and errors, what its usage proves. Paths of the configuration's allow-list are rows without
a prompt. What manages an engine has no row, and no pattern can give it one (gateway/management.py).
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from gateway.management import may_be_proxied

CHAT, COMPLETIONS, GENERATE = "/v1/chat/completions", "/v1/completions", "/generate"
RESPONSES, MESSAGES, EMBEDDINGS = "/v1/responses", "/v1/messages", "/v1/embeddings"
COUNT_TOKENS = f"{MESSAGES}/count_tokens"

_POST = ("POST",)
_SEGMENT = re.compile(r"[A-Za-z0-9._~@:+,=-]+")


class Api(NamedTuple):
    """One row. path: as records and labels name it. required: members the body cannot do without.

    body: "json" is parsed (and refused when it is none), "any" passes as it is, and its answer unread. rewritten:
    canonical tools and the route's level apply. keyed: placed by its prompt; else by load. stream: the StreamTap
    dialect of its event streams, None: they pass unread. cached: when its usage tells cached tokens, "reporting"
    engines only, "always" or "never". everywhere: every engine kind has the path. stored: answers have ids that later
    requests may name.
    """

    path: str
    required: tuple[str, ...] = ()
    methods: tuple[str, ...] = _POST
    body: Literal["json", "any"] = "json"
    rewritten: bool = True
    keyed: bool = True
    stream: str | None = "openai"
    cached: Literal["reporting", "always", "never"] = "reporting"
    everywhere: bool = False
    stored: bool = False

    @property
    def errors(self) -> str:
        """The dialect of the gateway's own errors on this path."""
        return self.stream or "openai"

    @property
    def counted(self) -> bool:
        """Its answers tell what they cost. A stored response tells it again, which would count it twice."""
        return self.body == "json"

    @property
    def allow(self) -> str:
        """The value of the Allow header."""
        methods = (*self.methods, "HEAD") if "GET" in self.methods else self.methods
        return ", ".join((*methods, "OPTIONS"))


_API = (
    Api(CHAT, ("model", "messages"), everywhere=True),
    Api(COMPLETIONS, ("model", "prompt"), everywhere=True),
    Api(GENERATE, stream="sglang", cached="always"),
    Api(RESPONSES, stream="responses", cached="always", stored=True),
    Api(MESSAGES, stream="anthropic"),
    Api(COUNT_TOKENS, keyed=False, stream="anthropic", cached="never"),
    Api(EMBEDDINGS, rewritten=False, keyed=False, stream=None, cached="never"),
)
APIS = {api.path: api for api in _API}

_STORED = Api(
    f"{RESPONSES}/{{id}}",
    methods=("GET", "DELETE"),
    body="any",
    rewritten=False,
    keyed=False,
    stream="responses",
    cached="never",
)
_BELOW = {  # what stands behind /v1/responses/{id}
    "": _STORED,
    "/cancel": _STORED._replace(path=f"{_STORED.path}/cancel", methods=_POST),
    "/input_items": _STORED._replace(path=f"{_STORED.path}/input_items", methods=("GET",)),
}
_RESPONSE = re.compile(rf"{RESPONSES}/([A-Za-z0-9_][A-Za-z0-9_.:-]{{0,127}})(/[a-z_]+)?")


class Apis:
    """The rows that one configuration has: the table, stored responses, and the allow-list."""

    __slots__ = ("_exact", "_prefixes")

    def __init__(self, allow_paths: Iterable[str] = ()) -> None:
        rows = {path: _allowed(path) for path in allow_paths}
        self._exact = {path: row for path, row in rows.items() if not path.endswith("/*")} | APIS
        self._prefixes = {path[:-1]: row for path, row in rows.items() if path.endswith("/*")}

    def find(self, path: str) -> Api | None:
        """The row of a decoded path, None when it is not proxied."""
        found = self._exact.get(path)
        if found is not None:
            return found
        stored = _RESPONSE.fullmatch(path)
        if stored is not None and (below := _BELOW.get(stored[2] or "")) is not None:
            return below
        if self._prefixes and is_plain(path) and may_be_proxied(path):
            return next((row for prefix, row in self._prefixes.items() if path.startswith(prefix)), None)
        return None


def response_id(path: str) -> tuple[str, ...]:
    """The id in a path of a stored response, nothing for any other path."""
    stored = _RESPONSE.fullmatch(path)
    return (stored[1],) if stored is not None else ()


def is_plain(path: str) -> bool:
    """Whether a path means the same to everybody: no escapes, no empty, `.` or `..` segments."""
    segments = path.split("/")[1:]
    return path.startswith("/") and all(_SEGMENT.fullmatch(each) and each.strip(".") for each in segments)


def _allowed(path: str) -> Api:
    return Api(path, (), ("GET", "POST"), body="any", rewritten=False, keyed=False, stream=None, cached="never")
