"""What the events of a streamed answer add up to: text, finish reason, usage, error.

One idea: an answer is a fold over whole events, later values over earlier ones, with one small reader per API.

- `openai` (chat and completions): deltas per choice; usage on any event, null on most (cases 45, 47, 51);
  errors as `{"error": …}`, `{"object": "error"}` or `event: error`.
- `responses` and `anthropic`: see answer_events.
- `sglang` (/generate): each event repeats the text so far, or only adds to it with
  --incremental-streaming-output; `output_ids` shorter than `completion_tokens` tells. Counts are in `meta_info`,
  per choice (tokenizer_manager.py, http_server.py of SGLang 0.5.23).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine_adapter import events
from engine_adapter.usage import Usage, parse_usage, sum_choices


@dataclass(slots=True)
class Choice:
    """One of the n parallel answers. adds: text comes in pieces (None: not known yet)."""

    text: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    adds: bool | None = None


@dataclass(slots=True)
class Answer:
    """The fold's state. usages: raw usage objects, by choice where the engine reports them so (`by_choice`).
    id: what the answer can be asked for by later, where the API has that (Responses). name, model: its id, whatever
    that is good for, and the model that it says made it."""

    keep_text: bool
    choices: dict[int, Choice] = field(default_factory=dict)
    usages: dict[int, Mapping[str, object]] = field(default_factory=dict)
    by_choice: bool = False
    error: str | None = None
    done: bool = False
    id: str | None = None
    name: str | None = None
    model: str | None = None

    def choice(self, index: object) -> Choice:
        known = self.choices.get(number := _number(index))
        if known is None:
            known = self.choices[number] = Choice()
        return known

    @property
    def first(self) -> Choice:
        """Choice 0: its text and finish reason stand for the answer."""
        return self.choices.get(0) or Choice()

    @property
    def settled(self) -> bool:
        """Nothing earlier in the stream could change it, but an error."""
        finished = self.first.finish_reason is not None
        return self.done and finished and bool(self.usages) and not self.by_choice

    def usage(self, *, choices: int, cache_report: bool | None) -> Usage | None:
        """Normalised; None when no event carried usage."""
        if not self.by_choice:
            usage = self.usages.get(0)
            return None if usage is None else parse_usage({"usage": usage}, cache_report=cache_report)
        parsed = {
            index: parse_usage({"usage": usage}, cache_report=cache_report) for index, usage in self.usages.items()
        }
        return sum_choices(parsed, choices=choices) if parsed else None


def _number(index: object) -> int:
    return index if isinstance(index, int) else 0


Reader = Callable[[Answer, dict[str, Any]], None]


def read(answer: Answer, event: bytes, reader: Reader) -> None:
    """Fold one event (whole, or the stream's last) into the answer. What does not parse is passed over."""
    if not event:
        return
    name, data = events.parse(event)
    payload = events.decode(data) if data else None
    if name == b"error":
        answer.error = answer.error or message_of(payload) or data.decode(errors="replace") or "error event"
    if isinstance(payload, dict):
        if payload.get("error") or "error" in (payload.get("object"), payload.get("type")):
            answer.error = answer.error or message_of(payload) or "error event"
        if answer.name is None:
            _identify(answer, payload)
        reader(answer, payload)
    elif data.strip() == events.DONE:
        answer.done = True


def _identify(answer: Answer, payload: dict[str, Any]) -> None:
    for told in (payload, payload.get("response"), payload.get("message"), payload.get("meta_info")):
        if isinstance(told, dict):
            if isinstance(name := told.get("id"), str):
                answer.name = name
            if isinstance(model := told.get("model"), str):
                answer.model = model


def message_of(payload: object) -> str | None:
    """What an error object says, in the spellings of OpenAI, Anthropic, SGLang and vLLM."""
    inner = (payload.get("error") or payload) if isinstance(payload, dict) else payload
    text = inner.get("message") if isinstance(inner, dict) else inner
    return text if isinstance(text, str) else None


def read_openai(answer: Answer, payload: dict[str, Any]) -> None:
    """A chat or completions chunk."""
    if isinstance(usage := payload.get("usage"), dict) and usage:
        answer.usages[0] = usage
    parts = payload.get("choices")
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            continue
        choice = answer.choice(part.get("index"))
        if isinstance(reason := part.get("finish_reason"), str):
            choice.finish_reason = reason
        if answer.keep_text:
            delta = part.get("delta")
            text = delta.get("content") if isinstance(delta, dict) else part.get("text")
            if isinstance(text, str):
                choice.text.append(text)


def read_sglang(answer: Answer, payload: dict[str, Any]) -> None:
    """An event of /generate; `index` is there when the request has several prompts or choices.

    SGLang's chat and completions speak OpenAI's dialect: their chunks are read as such.
    """
    if "choices" in payload:
        read_openai(answer, payload)
        return
    index = payload.get("index")
    answer.by_choice = answer.by_choice or index is not None
    meta = payload.get("meta_info")
    if not isinstance(meta, dict):
        return
    choice = answer.choice(index)
    answer.usages[_number(index)] = meta
    _finish(answer, choice, meta.get("finish_reason"))
    if answer.keep_text and isinstance(text := payload.get("text"), str):
        _add_text(choice, text, payload.get("output_ids"), meta.get("completion_tokens"))


def _finish(answer: Answer, choice: Choice, reason: object) -> None:
    """A reason is an object with a type; an abort with a status is the engine's error."""
    if isinstance(reason, dict):
        if reason.get("type") == "abort" and reason.get("status_code") is not None:
            answer.error = answer.error or message_of(reason) or "aborted"
        reason = reason.get("type")
    if isinstance(reason, str):
        choice.finish_reason = reason


def _add_text(choice: Choice, text: str, output_ids: object, completion_tokens: object) -> None:
    if choice.text and choice.adds is None:
        if isinstance(output_ids, list) and isinstance(completion_tokens, int):
            choice.adds = len(output_ids) < completion_tokens
        else:
            choice.adds = not text.startswith(choice.text[0])
    if not choice.adds:
        choice.text.clear()
    choice.text.append(text)
