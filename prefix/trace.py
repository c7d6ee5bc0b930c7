"""A trace: who asked what when, without a word of text; and text that has exactly the trace's prefixes.

One request a line, as JSON, in the form of Mooncake's traces (FAST25-release, Apache-2.0):

    {"timestamp": ms, "input_length": tokens, "output_length": tokens, "hash_ids": [...]}

`hash_ids` name consecutive blocks of the prompt, and each id stands for *everything up to its block*: equal
ids mean equal whole prefixes. Sources with sessions add `session`, `turn` and `out_ids` (the ids that exist
once the response has been generated). The block size is not in the file; sources differ in whether a partial
last block has an id.

`prompt_blocks` turns ids back into text: the text of a block is a function of its id alone, so two prompts
share a leading text exactly where they share leading ids. Pseudo-words, not copied passages: two different
blocks never align by accident for more than a few bytes.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Annotated, Final

import msgspec

from prefix.errors import TraceError

BYTES_PER_TOKEN: Final = 4
"""Length of a token of made-up text, in bytes: what English text costs on common tokenizers, about."""

_WORDS: Final = tuple(
    head + tail
    for head in "b br d dr f g k l m n p qu s st t v".split()
    for tail in "a an ar e el en er i in is o on or u um us".split()
)

_Natural = Annotated[int, msgspec.Meta(ge=0)]


class TraceRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a trace. Lengths in tokens, `timestamp` in milliseconds since the trace began."""

    timestamp: _Natural | Annotated[float, msgspec.Meta(ge=0)]
    input_length: Annotated[int, msgspec.Meta(ge=1)]
    output_length: _Natural
    hash_ids: tuple[_Natural, ...]
    session: int | str | None = None
    turn: int | None = None
    out_ids: tuple[_Natural, ...] = ()


_DECODER: Final = msgspec.json.Decoder(TraceRequest)


def parse_trace(lines: Iterable[bytes | str], source: str) -> Iterator[TraceRequest]:
    """The requests of `lines`, in their order; blank lines are passed over.

    Raises TraceError, naming `source` and the line, at the first line that is not a request.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _parse_line(line, f"{source}:{number}")


def sift_trace(lines: Iterable[bytes | str], source: str) -> tuple[list[TraceRequest], list[TraceError]]:
    """The requests of `lines`, and for each line that is none an error that names `source` and the line."""
    requests, errors = [], []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                requests.append(_parse_line(line, f"{source}:{number}"))
            except TraceError as error:
                errors.append(error)
    return requests, errors


def _parse_line(line: bytes | str, where: str) -> TraceRequest:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"{where}: not a trace request: {error}") from None


def format_request(request: TraceRequest) -> str:
    """The line (without its end) that parses to `request` again."""
    return msgspec.json.encode(request).decode()


def arrival_seconds(requests: Sequence[TraceRequest]) -> list[float]:
    """When each request arrives, in seconds after the first.

    Sources record coarse stamps (Mooncake: 3 s): requests of one stamp are spread evenly up to the next stamp,
    those of the last stamp over the gap before it. Raises TraceError when the stamps go back.
    """
    if not requests:
        return []
    groups = [(stamp, len(list(same))) for stamp, same in groupby(request.timestamp for request in requests)]
    stamps = [stamp for stamp, _ in groups]
    gaps = [after - before for before, after in pairwise(stamps)]
    for stamp, gap in zip(stamps, gaps, strict=False):
        if gap < 0:
            raise TraceError(f"timestamps go back after {stamp} ms")
    gaps.append(gaps[-1] if gaps else 0)
    return [
        (stamp - stamps[0] + gap * nth / count) / 1000
        for (stamp, count), gap in zip(groups, gaps, strict=True)
        for nth in range(count)
    ]


def infer_block_tokens(requests: Iterable[TraceRequest]) -> int:
    """The block size of a trace: the one power of two that fits every number of ids, partial last block or not.

    Raises TraceError when none or several do.
    """
    least, most = 0.0, math.inf
    for request in requests:
        ids = len(request.hash_ids)
        least = max(least, request.input_length / (ids + 1))
        most = min(most, request.input_length / (ids - 1) if ids > 1 else math.inf)
    fitting = [size for size in (1 << power for power in range(21)) if least < size < most]
    if len(fitting) != 1:
        raise TraceError(
            f"tokens of a block: {'several sizes fit' if fitting else 'no size fits'} the hash_ids; say which"
        )
    return fitting[0]


def whole_blocks(request: TraceRequest, block_tokens: int) -> int:
    """How many whole blocks the prompt has; a partial last one may have an id or not.

    Raises TraceError when the number of ids does not fit the prompt's length and `block_tokens`.
    """
    full, tail = divmod(request.input_length, block_tokens)
    ids = len(request.hash_ids)
    if ids not in (full, full + bool(tail)):
        raise TraceError(f"{ids} hash_ids do not fit {request.input_length} tokens in blocks of {block_tokens}")
    return full


def block_text(key: str, size: int) -> str:
    """`size` bytes of made-up ASCII words, always the same for one `key`, different from the first words on."""
    stream = hashlib.shake_128(key.encode()).digest(size // 2 + 1)
    return " ".join(map(_WORDS.__getitem__, stream))[:size]


def prompt_blocks(request: TraceRequest, *, block_tokens: int, unique: str, shrink: int = 1) -> tuple[str, ...]:
    """The prompt's text, block by block: BYTES_PER_TOKEN bytes for each token, or for every `shrink` tokens.

    A tail that the trace gives no id is text of its own, made from `unique` (pass what no other request has).
    Raises TraceError when the number of ids does not fit the prompt's length and `block_tokens`.
    """
    full = whole_blocks(request, block_tokens)
    tail = request.input_length - full * block_tokens
    keys = [f"block {block}" for block in request.hash_ids]
    if len(keys) == full and tail:
        keys.append(f"tail {unique}")
    sizes = [block_tokens] * full + [tail] * bool(tail)
    return tuple(
        block_text(key, max(1, size // shrink) * BYTES_PER_TOKEN) for key, size in zip(keys, sizes, strict=True)
    )
