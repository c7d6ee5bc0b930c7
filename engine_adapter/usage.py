"""What one request cost, whatever dialect the engine reports it in.

One idea: every dialect is a set of names for the same few counts (input, read from the cache, written to it,
output), so parsing is one pass with a table of names. Where names disagree the larger count is taken and the
disagreement is flagged; nothing is clamped; what nobody reported stays unknown (None), which is not zero.

- OpenAI chat and completions, SGLang, TensorRT-LLM: `prompt_tokens` includes `prompt_tokens_details.cached_tokens`.
  vLLM adds `created_cache_tokens` there, OpenRouter `cache_write_tokens` (vllm PromptTokenUsageInfo).
- OpenAI Responses: `input_tokens` with `input_tokens_details`, inclusive as well.
- Anthropic: `input_tokens` leaves out `cache_read_input_tokens` and `cache_creation_input_tokens`.
- DeepSeek: `prompt_tokens` = `prompt_cache_hit_tokens` + `prompt_cache_miss_tokens`; a miss is no cache write.
- SGLang /generate: `meta_info`, one per choice; choices of one prompt share it (sglang usage_processor.py).
- Gemini: `usageMetadata`; thoughts are counted apart from candidates unless the total says otherwise.

SGLang and vLLM leave the cached count out (or null) both for "nothing was cached" and for "reporting is off";
`cache_report=True` is the caller's knowledge that reporting is on, learned from an earlier answer of that engine.
"""

from collections.abc import Iterable, Mapping

import msgspec

from prefix.errors import UsageError

ANOMALIES = (
    NOT_AN_INTEGER := "not_an_integer",
    NEGATIVE := "negative_count",
    CONFLICTING_CACHE := "conflicting_cache_fields",
    CONFLICTING_INPUT := "conflicting_input_fields",
    CACHED_EXCEEDS_INPUT := "cached_exceeds_input",
    WRITE_EXCEEDS_UNCACHED := "cache_write_exceeds_uncached",
)

_OBJECT = (dict, Mapping)  # dict first: the test against an ABC is slow
_ENVELOPES = ("usage", "usageMetadata", "meta_info")
_NESTED = ("response", "message")
_NAMES = {  # what a top-level name counts; "prompt" includes cached tokens, "input" may not
    "prompt_tokens": "prompt",
    "input_tokens": "input",
    "completion_tokens": "output",
    "output_tokens": "output",
    "cached_tokens": "cached",
    "prompt_cache_hit_tokens": "cached",
    "prompt_cache_miss_tokens": "missed",
    "cache_read_input_tokens": "cached",
    "cache_creation_input_tokens": "written",
    "promptTokenCount": "prompt",
    "toolUsePromptTokenCount": "tool_prompt",
    "cachedContentTokenCount": "cached",
    "candidatesTokenCount": "answer",
    "thoughtsTokenCount": "thoughts",
    "totalTokenCount": "total",
}
_DETAILS = {
    "cached_tokens": "cached",
    "cache_write_tokens": "written",
    "created_cache_tokens": "written",
    "cache_creation_tokens": "written",
}
_INSIDE = {  # the same for names inside an object
    "prompt_tokens_details": _DETAILS,
    "input_tokens_details": _DETAILS,
    "cache_creation": {"ephemeral_5m_input_tokens": "lifetimes", "ephemeral_1h_input_tokens": "lifetimes"},
}
_EXCLUSIVE_MARKS = ("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation")


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one request, normalised. None = unknown, 0 = known zero.

    input_total includes cached_read; uncached = input_total - cached_read and holds cache_write, the part of it
    that was newly stored. hit_ratio = cached_read / input_total, six places. anomaly names the first odd thing
    about the report, one of ANOMALIES; counts that are no token count (negative, not an integer) are unknown,
    and so are uncached and hit_ratio when more was cached than sent.
    """

    input_total: int | None = None
    cached_read: int | None = None
    cache_write: int | None = None
    uncached: int | None = None
    output: int | None = None
    hit_ratio: float | None = None
    anomaly: str | None = None


def parse_usage(payload: Mapping[str, object], *, cache_report: bool | None = None) -> Usage:
    """Normalise a usage object, or the usage of a whole response, of any supported API.

    cache_report: True when this engine is known to report cached tokens, so that an absent count is zero.
    Raises UsageError when the payload or the usage in it is not an object.
    """
    counts = _Counts(_usage_object(payload))
    total = counts.input_total()
    cached = counts.cached(total)
    if cached is None and total is not None and cache_report and counts.anomaly is None:
        cached = 0
    return _usage(total, cached, counts.written(), counts.output(), counts.anomaly)


def sum_choices(usages: Mapping[int, Usage], *, choices: int = 1) -> Usage:
    """One usage for several answers of one request, as SGLang's /generate reports them.

    usages: by the index of the answer. choices: answers per prompt (`sampling_params.n`); they share the prompt,
    so its counts are taken from the first of each prompt, output from all.
    """
    prompts = [usage for index, usage in usages.items() if index % max(choices, 1) == 0]
    return _usage(
        _sum(usage.input_total for usage in prompts),
        _sum(usage.cached_read for usage in prompts),
        _sum(usage.cache_write for usage in prompts),
        _sum(usage.output for usage in usages.values()),
        next((usage.anomaly for usage in usages.values() if usage.anomaly), None),
    )


def _usage(
    total: int | None, cached: int | None, written: int | None, output: int | None, anomaly: str | None
) -> Usage:
    if total is None or cached is None:
        return Usage(total, cached, written, None, output, None, anomaly)
    if cached > total:
        return Usage(total, cached, written, None, output, None, anomaly or CACHED_EXCEEDS_INPUT)
    uncached = total - cached
    if written is not None and written > uncached:
        anomaly = anomaly or WRITE_EXCEEDS_UNCACHED
    ratio = round(cached / total, 6) if total else None
    return Usage(total, cached, written, uncached, output, ratio, anomaly)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if not known or None in known else sum(count or 0 for count in known)


def _usage_object(payload: object) -> Mapping[str, object]:
    """The usage inside a response, an event or nothing at all; {} when it is there and null."""
    while isinstance(payload, _OBJECT):
        for key in _ENVELOPES:
            if key in payload:
                return _checked({} if payload[key] is None else payload[key])
        for key in _NESTED:
            if isinstance(payload.get(key), _OBJECT):
                payload = payload[key]
                break
        else:
            return payload
    return _checked(payload)


def _checked(usage: object) -> Mapping[str, object]:
    if isinstance(usage, _OBJECT):
        return usage
    raise UsageError(f"usage must be a JSON object, not {type(usage).__name__}")


class _Counts:
    """The counts of one usage object by what they count, and the first thing that was odd about them."""

    __slots__ = ("_found", "_usage", "anomaly")

    def __init__(self, usage: Mapping[str, object]) -> None:
        self.anomaly: str | None = None
        self._usage = usage
        self._found: dict[str, list[int]] = {}
        for key, value in usage.items():
            if value is None:
                continue
            if (name := _NAMES.get(key)) is not None:
                self._add(name, value)
            elif (names := _INSIDE.get(key)) is not None:
                self._add_details(names, value)

    def _add(self, name: str, value: object) -> None:
        if type(value) is not int:  # a bool is an int to isinstance
            self._note(NOT_AN_INTEGER)
        elif value < 0:
            self._note(NEGATIVE)
        else:
            self._found.setdefault(name, []).append(value)

    def _add_details(self, names: Mapping[str, str], details: object) -> None:
        if not isinstance(details, _OBJECT):
            self._note(NOT_AN_INTEGER)
            return
        for key, value in details.items():
            if value is not None and (name := names.get(key)) is not None:
                self._add(name, value)

    def _note(self, anomaly: str) -> None:
        self.anomaly = self.anomaly or anomaly

    def _get(self, name: str) -> int | None:
        return max(self._found.get(name, ()), default=None)

    def _agreed(self, name: str) -> int | None:
        """The largest of several names for one cache count; they ought to agree."""
        found = self._found.get(name)
        if found is None:
            return None
        if min(found) != max(found):
            self._note(CONFLICTING_CACHE)
        return max(found)

    def input_total(self) -> int | None:
        """Prompt tokens with the cached ones, in whichever way this dialect counts them."""
        prompt, stated = self._get("prompt"), self._get("input")
        if stated is not None:
            whole = stated + ((self._get("cached") or 0) + (self.written() or 0)) * self._is_exclusive()
            if prompt is not None and prompt not in (stated, whole):
                self._note(CONFLICTING_INPUT)
            return whole if prompt is None else prompt
        if prompt is None:
            hit, missed = self._get("cached"), self._get("missed")
            return None if hit is None or missed is None else hit + missed
        return prompt + (self._get("tool_prompt") or 0)

    def _is_exclusive(self) -> bool:
        """Anthropic's `input_tokens`; the Responses API carries its details in an object of its own."""
        if self._usage.get("input_tokens_details") is not None:
            return False
        return any(self._usage.get(mark) is not None for mark in _EXCLUSIVE_MARKS)

    def cached(self, total: int | None) -> int | None:
        """The cached count, checked against or derived from a count of misses where there is one."""
        cached, missed = self._agreed("cached"), self._get("missed")
        if missed is None or total is None:
            return cached
        if missed > total or (cached is not None and cached + missed != total):
            self._note(CONFLICTING_CACHE)
            return cached
        return total - missed

    def written(self) -> int | None:
        stated, lifetimes = self._agreed("written"), self._found.get("lifetimes")
        if lifetimes is None:
            return stated
        if stated is not None and stated != sum(lifetimes):
            self._note(CONFLICTING_CACHE)
        return max(stated or 0, sum(lifetimes))

    def output(self) -> int | None:
        """Generated tokens, reasoning included."""
        output, answer, thoughts = self._get("output"), self._get("answer"), self._get("thoughts")
        if output is not None or thoughts is None:
            return answer if output is None else output
        inclusive = (self._get("prompt") or 0) + (answer or 0) == self._get("total")
        return answer if inclusive else (answer or 0) + thoughts
