"""A request body as its top-level members: names, and the bytes of each value as the client wrote them.

The messages of a chat body are its longest member. Where they lie is guessed (prefix.ahead), so they are read once:
parsed, and cut out of what is split (prefix.frame). Any other body is split whole, and whatever is wrong with a body
is found there. What Python's `json` accepts and msgspec does not (NaN, Infinity, lone surrogates) some engine may
accept too: such a body is `opaque`, it can be read and forwarded but is never rewritten.
"""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from prefix.ahead import messages_span
from prefix.errors import BodyError
from prefix.frame import Frame, check_depth, split_members
from prefix.opening import LONG, Opening, opening_span, read_opening
from prefix.pieces import Kept
from prefix.scan import Span, members, too_deep, value_end

CONTROL_KEYS = frozenset(
    "model messages prompt text input_ids input instructions system tools functions tool_choice function_call "
    "stream stream_options n max_tokens max_completion_tokens max_output_tokens sampling_params user metadata "
    "safety_identifier prompt_cache_key cache_salt extra_key lora_path chat_template_kwargs reasoning_effort rid "
    "priority routed_dp_rank custom_logit_processor session_id session_params previous_response_id "
    "conversation reasoning thinking "
    "bootstrap_host bootstrap_port bootstrap_room bootstrap_pair_key data_parallel_rank disagg_prefill_dp_rank "
    "routing_key conversation_id request_id kv_hints kv_transfer_params vllm_xargs logits_processors nvext "
    "lora_id lora_request lora custom_labels encoder_urls id_slot extra_body decode_tp_size disaggregated_params "
    "need_wait_for_mm_inputs num_items_assigned http_worker_ipc ec_transfer_params positional_embed_overrides "
    "no_logs log_metrics external_trace_header received_time".split()
)
"""Top-level keys the gateway reads or writes: a duplicate of one of these is refused (two readers, two truths)."""

T = TypeVar("T")
_MESSAGES = msgspec.json.Decoder()


class BodyCache:
    """What is known of former bodies: their frames, and the long messages they opened with."""

    __slots__ = ("frames", "openings")

    def __init__(self, limit_bytes: int = 32 << 20) -> None:
        self.frames: Kept[Frame] = Kept(split_members, limit_bytes // 2)
        self.openings: Kept[Opening] = Kept(read_opening, limit_bytes // 2)


_NOTHING_KEPT = BodyCache(limit_bytes=0)


class Body:
    """A JSON object as raw top-level slices.

    raw: the client's bytes. frame: its members; with `messages` cut out, all but those, and other bodies may share
    it. opening: the first message, when other bodies may share it.
    """

    __slots__ = ("_cut", "_messages", "_spans", "frame", "opening", "raw")

    def __init__(
        self,
        raw: bytes,
        frame: Frame,
        cut: Span | None = None,
        messages: Any = None,
        opening: Opening | None = None,
    ) -> None:
        self.raw = raw
        self.frame = frame
        self.opening = opening
        self._cut = cut
        self._messages = messages
        self._spans: dict[str, Span] | None = None if cut else frame.spans

    @property
    def opaque(self) -> str | None:
        """Why the body must not be rewritten ("not_strict_json"), or None."""
        return self.frame.opaque

    @property
    def spans(self) -> dict[str, Span]:
        """Member name (unescaped) -> Span of its value in `raw`; of duplicates the last."""
        if self._spans is None:
            self._spans = {
                name: Span(start + self._behind(start), end + self._behind(end))
                for name, (start, end) in self.frame.spans.items()
            }
        return self._spans

    def __contains__(self, name: str) -> bool:
        return name in self.frame.spans

    def slice(self, name: str) -> bytes | None:
        """The raw bytes of a member's value, or None when there is no such member."""
        if name == "messages" and self._cut is not None:
            return self.raw[self._cut.start : self._cut.end]
        return self.frame.slice(name)

    def value(self, name: str) -> Any:
        """The parsed value of a member (None when absent), as `Frame.value` has it. Raises BodyError."""
        if name == "messages" and self._cut is not None:
            return self._messages
        try:
            return self.frame.value(name)
        except BodyError as error:
            raise self._placed(error) from None

    def once(self, read: Callable[[Frame], T]) -> T:
        """What `read` makes of the frame, made once for all bodies that share it. Raises what `read` raises."""
        try:
            return self.frame.once(read)
        except BodyError as error:
            raise self._placed(error) from None

    def _behind(self, offset: int) -> int:
        """How far a place of the frame lies further back in the body."""
        cut = self._cut
        return 0 if cut is None or offset <= cut.start else cut.end - cut.start - 1

    def _placed(self, error: BodyError) -> BodyError:
        if error.offset is not None:
            error.offset += self._behind(error.offset)
        return error


def parse_body(raw: bytes, cache: BodyCache = _NOTHING_KEPT) -> Body:
    """Split a request body into its top-level members. A cache changes speed only, never a result.

    Raises BodyError: `invalid_utf8`, `invalid_json`, `not_an_object`, `too_deep`, `duplicate_key` (of a control
    key), each with the byte offset where it is known.
    """
    body = _read_ahead(raw, cache)
    if body is not None:
        return body
    try:
        frame = split_members(raw)
    except UnicodeDecodeError as error:
        raise BodyError("invalid_utf8", f"the body is not UTF-8 at byte {error.start}", offset=error.start) from None
    except msgspec.ValidationError:
        raise _not_an_object() from None
    except RecursionError:
        value_end(raw, len(raw) - len(raw.lstrip(b" \t\n\r")))
        raise too_deep(0) from None
    except msgspec.DecodeError:
        return _lenient(raw)
    return _with_duplicates(raw, None) if frame is None else Body(raw, frame)


def _read_ahead(raw: bytes, cache: BodyCache) -> Body | None:
    """A chat body with the place of its messages guessed; None when that fails or anything else is out of order."""
    cut = messages_span(raw)
    if cut is None:
        return None
    rest = b"%b0%b" % (raw[: cut.start], raw[cut.end :])
    try:
        frame = cache.frames.piece(rest)
        opening, messages = _conversation(raw, cut, cache)
    except (ValueError, RecursionError, BodyError):
        return None
    if frame is None or frame.spans.get("messages") != (cut.start, cut.start + 1):
        return None
    return Body(raw, frame, cut, messages, opening)


def _conversation(raw: bytes, cut: Span, cache: BodyCache) -> tuple[Opening | None, list[Any]]:
    """The messages at `cut`, which the parser proves to be an array: it also refuses bytes that are not UTF-8."""
    found = opening_span(raw, cut) if cut.end - cut.start > LONG else None
    opening = cache.openings.piece(raw[found[0].start : found[0].end]) if found else None
    if found is None or opening is None:
        messages = _MESSAGES.decode(memoryview(raw)[cut.start : cut.end])
        check_depth(messages, cut.start)
        return None, messages
    rest = _MESSAGES.decode(b"[" + raw[found[1] : cut.end])
    check_depth(rest, cut.start)
    return opening, [opening.message, *rest]


def _with_duplicates(raw: bytes, opaque: str | None) -> Body:
    spans: dict[str, Span] = {}
    for member in members(raw, raw.index(b"{")):
        if member.name in spans and member.name in CONTROL_KEYS:
            raise BodyError(
                "duplicate_key",
                f"the key {member.name!r} occurs twice: send it once",
                pointer=f"/{member.name}",
                offset=member.key_start,
            )
        spans[member.name] = member.value
    return Body(raw, Frame(raw, spans, opaque))


def _lenient(raw: bytes) -> Body:
    """A body msgspec refused: opaque if `json` takes it, else the refusal with its offset."""
    text = raw.decode()
    try:
        accepted = json.loads(text)
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode())
        raise BodyError(
            "invalid_json", f"the body is not JSON: {error.msg} at byte {offset}", offset=offset
        ) from None
    except RecursionError:
        raise too_deep(0) from None
    except ValueError:
        raise BodyError("invalid_json", "a number has more digits than can be read") from None
    if not isinstance(accepted, dict):
        raise _not_an_object()
    check_depth(accepted, 0)
    return _with_duplicates(raw, "not_strict_json")


def _not_an_object() -> BodyError:
    return BodyError("not_an_object", "the body must be a JSON object", offset=0)
