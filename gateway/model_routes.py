"""Model routes: which requests of a route go to another, usually smaller, model. Pure.

One idea: a route has rules, the first that matches names the model, and a request is looked at once, so that no rule
is applied to what another made of it. Nothing happens without configuration, and nothing in secret: the change is in
`x-prefixgate-changes`, the model in the access log and the trace, and the tokens are counted under a route of their
own, `route>model`, so that hit rates of two models are never one number.

A rule whose model no engine serves leaves the request as it is: routing saves money, it must not cost an answer.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Final, NamedTuple

import msgspec

from prefix.body import Body, parse_body
from prefix.errors import ConfigError
from prefix.scan import splice
from prefix.tools import Change

SEPARATOR: Final = ">"
CHANGE: Final = Change("/model", "model_route")
_PROMPT: Final = ("messages", "prompt", "input", "system", "instructions", "tools", "functions")
_SCHEMA_MEMBERS: Final = ("response_format", "guided_json", "structured_outputs", "json_schema", "regex", "grammar")
_CONTINUING: Final = ("previous_response_id", "conversation")
"""Members that name what an engine keeps of the model that made it."""
_PLAIN_FORMATS: Final = frozenset((None, "text"))
_SECRET_HEADERS: Final = frozenset(("authorization", "x-api-key", "cookie", "proxy-authorization"))

Count = Annotated[int, msgspec.Meta(ge=1)]


class ModelRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requests that match every condition go to model `use`. What is not said is no condition.

    of: the models that were asked for. max_prompt_tokens: of the prompt, an estimate; max_output_tokens: that the
    request allows itself at most, and it must say so. tools, schema: whether it has tools, an output schema or
    grammar. customers: who asks. headers: header name (lower case) -> its value.
    """

    use: str
    of: tuple[str, ...] = ()
    max_prompt_tokens: Count | None = None
    max_output_tokens: Count | None = None
    tools: bool | None = None
    schema: bool | None = None
    customers: tuple[str, ...] = ()
    headers: dict[str, str] = {}

    @property
    def conditions(self) -> int:
        """How many conditions it has besides the model asked for."""
        named = (self.max_prompt_tokens, self.max_output_tokens, self.tools, self.schema)
        return sum(each is not None for each in named) + bool(self.customers) + bool(self.headers)


class Asked(NamedTuple):
    """What the rules look at."""

    model: str
    customer: str
    prompt_tokens: int
    max_output_tokens: int | None
    tools: bool
    schema: bool
    headers: Mapping[str, str]


class Turned(NamedTuple):
    """A request after the rules of its route: its body, and the route it counts under. asked: the model it named,
    where it has another now; missed: the one that it should have had, and nobody serves."""

    body: Body
    route: str
    asked: str | None = None
    missed: str | None = None


def asked(
    body: Body,
    customer: str,
    bytes_per_token: Callable[[str], float],
    max_output_tokens: int | None,
    headers: Iterable[tuple[bytes, bytes]],
) -> Asked | None:
    """A request as the rules see it; None where it names no model, or continues what an engine keeps.

    bytes_per_token: of a model; the bytes are those of the members that make the prompt.
    """
    model = body.value("model")
    if type(model) is not str or any(name in body for name in _CONTINUING):
        return None
    tools = any(body.value(name) for name in ("tools", "functions"))
    named = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    tokens = round(sum(len(body.slice(name) or b"") for name in _PROMPT) / bytes_per_token(model))
    return Asked(model, customer, tokens, max_output_tokens, tools, _has_schema(body), named)


def choose(rules: Sequence[ModelRule], request: Asked) -> ModelRule | None:
    """The first rule that matches; None, too, where its model is the one asked for."""
    rule = next((rule for rule in rules if _matches(rule, request)), None)
    return rule if rule is not None and rule.use != request.model else None


def turn(
    body: Body, route: str, rules: Sequence[ModelRule], request: Asked | None, serves: Callable[[str], bool]
) -> Turned:
    """The request with the model that the rules choose, spliced into its own bytes; as it was where they choose none.

    serves: whether an engine has a model and may get requests now.
    """
    rule = None if request is None else choose(rules, request)
    if request is None or rule is None:
        return Turned(body, route)
    if not serves(rule.use):
        return Turned(body, route, missed=rule.use)
    raw = splice(body.raw, {body.spans["model"]: msgspec.json.encode(rule.use)})
    return Turned(parse_body(raw), label(route, rule), asked=request.model)


def label(route: str, rule: ModelRule) -> str:
    """The route that such requests are counted under."""
    return f"{route}{SEPARATOR}{rule.use}"


def check_rules(rules: Sequence[ModelRule], customers: Collection[str]) -> None:
    """Raise ConfigError for rules that name nothing, can never match, or send requests round in circles."""
    for place, rule in enumerate(rules, 1):
        where = f"model rule {place}"
        if not rule.use:
            raise ConfigError(f"{where}: use: name the model that requests go to")
        _check_headers(rule, where)
        for customer in rule.customers:
            if customer not in customers:
                raise ConfigError(f"{where}: customers: {customer!r} is not configured, so it can never match")
        if rule.of == (rule.use,):
            raise ConfigError(f"{where}: sends requests for {rule.use!r} to {rule.use!r}: it does nothing")
        before = next((at for at, each in enumerate(rules[: place - 1], 1) if _covers(each, rule)), None)
        if before is not None:
            raise ConfigError(f"{where} can never match: rule {before} takes all of its requests")
    _check_circles(rules)


def _has_schema(body: Body) -> bool:
    for name in _SCHEMA_MEMBERS:
        value = body.value(name)
        if name == "response_format" and type(value) is dict:
            value = value.get("type") not in _PLAIN_FORMATS
        if value:
            return True
    text = body.value("text")  # Responses
    form = text.get("format") if type(text) is dict else None
    return type(form) is dict and form.get("type") not in _PLAIN_FORMATS


def _matches(rule: ModelRule, request: Asked) -> bool:
    most, out = rule.max_prompt_tokens, rule.max_output_tokens
    return (
        (not rule.of or request.model in rule.of)
        and (most is None or request.prompt_tokens <= most)
        and (out is None or (request.max_output_tokens is not None and request.max_output_tokens <= out))
        and rule.tools in (None, request.tools)
        and rule.schema in (None, request.schema)
        and (not rule.customers or request.customer in rule.customers)
        and all(request.headers.get(name) == value for name, value in rule.headers.items())
    )


def _check_headers(rule: ModelRule, where: str) -> None:
    for name in rule.headers:
        if re.fullmatch(r"[a-z0-9-]+", name) is None:
            raise ConfigError(f"{where}: headers: {name!r} can never match: write header names in lower case")
        if name in _SECRET_HEADERS:
            raise ConfigError(f"{where}: headers: {name} is a secret; use customers instead")


def _covers(first: ModelRule, later: ModelRule) -> bool:
    """Whether an earlier rule takes everything that a later one could."""
    models = not first.of or (bool(later.of) and set(later.of) <= set(first.of))
    return models and (not first.conditions or (first.conditions, _asks(first)) == (later.conditions, _asks(later)))


def _asks(rule: ModelRule) -> ModelRule:
    return msgspec.structs.replace(rule, use="", of=())


def _check_circles(rules: Sequence[ModelRule]) -> None:
    """Two rules under one condition that send two models' requests to each other undo each other."""
    for place, rule in enumerate(rules, 1):
        for other in rules[:place]:
            if _asks(rule) == _asks(other) and rule.use in other.of and other.use in rule.of:
                raise ConfigError(f"model rule {place}: {other.use!r} and {rule.use!r} are sent to each other")
