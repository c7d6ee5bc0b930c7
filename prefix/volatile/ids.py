"""Machine-made values that look random wherever they stand: UUIDs, hex ids, ULIDs, epochs, addresses, signed URLs,
and the accounting line that a client's transport puts first.

Each pattern begins with a character that text has few of, so a long text costs one fast scan per kind. Values that
documentation copies from document to document (the nil UUID, RFC 4122's and Wikipedia's examples) are not certain.
Prefixed ids: Stripe's and OpenAI's style (`req_...`), ULID (github.com/ulid/spec), W3C trace context.
"""

import re
from collections.abc import Iterator

from prefix.volatile.cues import moves
from prefix.volatile.span import Kind, VolatileSpan

_HEX = "[0-9a-fA-F]"
_UUID = re.compile(
    rf"-(?<={_HEX}{{8}}-)(?<![0-9A-Za-z]{_HEX}{{8}}-){_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}(?![0-9A-Za-z])"
)
_EXAMPLE_UUIDS = frozenset(
    "123e4567-e89b-12d3-a456-426614174000 123e4567-e89b-12d3-a456-426655440000 "
    "550e8400-e29b-41d4-a716-446655440000 f81d4fae-7dec-11d0-a765-00a0c91e6bf6".split()
)
_LONG_HEX = re.compile(rf"{_HEX}(?<![0-9A-Za-z+=%]{_HEX}){_HEX}{{15,127}}+(?![0-9A-Za-z+=])")
_ULID = re.compile(r"01(?<![0-9A-Za-z]01)(?:[0-9A-HJKMNP-TV-Z]{24}|[0-9a-hjkmnp-tv-z]{24})(?![0-9A-Za-z])")
_ADDRESS = re.compile(rf"object at (?P<id>0x{_HEX}{{6,16}})")
_TEMP_NAME = re.compile(r"/(?P<id>tmp(?:\.[A-Za-z0-9]{6,12}|[a-z0-9_]{8})|pytest-[0-9]{1,6})(?![A-Za-z0-9_])")
_TEMP_SUFFIX = re.compile(
    r"/(?:tmp)/[A-Za-z._-]{0,40}[-_.](?P<id>(?=[a-z]*[0-9])(?=[0-9]*[a-z])[0-9a-z]{6,32})(?![0-9A-Za-z])"
)
_OWNERS = (
    "req request sess session trace span run thread conv conversation chat msg message resp chatcmpl cmpl call job "
    "txn evt event inv invocation exec corr op nonce tmp agent toolu gen batch".split()
)
_PREFIXED = re.compile(
    "[_-](?:"
    + "|".join(f"(?<=(?<![A-Za-z]){owner}.)" for owner in _OWNERS)
    + ")(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])(?P<id>[A-Za-z0-9]{8,64})(?![A-Za-z0-9-])"
)
_EPOCH = re.compile(
    r"1(?<![0-9A-Za-z.,]1)[6-9][0-9]{8}(?P<finer>(?:[0-9]{3}){1,3})?(?P<part>\.[0-9]{1,9})?(?![0-9A-Za-z]|,[0-9])"
)
_QUERY = re.compile(r"://[^\s\"'<>?]*(?:\?(?P<query>[^\s\"'<>)\]}\\`|]*))?")
_SIGNATURE = re.compile(
    r"(?i:x-(?:amz|goog|oss|cos|obs|ms|sig)[\w-]*|q-sign[\w-]*|q-[au]k?|[\w-]*signature|sig|hmac|token|[a-z]+[_-]token|auth_key"
    r"|hdnts|hdnea|wssecret|jwt|verify)"
)
_COMPANION = re.compile(
    r"(?i:x-[\w-]*|q-[\w-]*|expires?(?:[_-]?(?:at|in))?|exp|policy|key-pair-id|\w*accesskeyid|googleaccessid|s[etvrpk]|spr"
    r"|sk\w{1,3}|nonce|ts|timestamp|wstime|response-[\w-]*)"
)
_ATTRIBUTION = re.compile(
    r"\s{0,16}x-[a-z-]{0,40}(?:billing|attribution)[a-z-]{0,40}:[ \t]*(?P<value>\S[^\n]*)", re.IGNORECASE
)


def find_ids(text: str) -> Iterator[VolatileSpan]:
    """Spans of the kinds uuid, hex_id and epoch, in no order; of two that overlap the one found first counts."""
    yield from _uuids(text)
    yield from _epochs(text)
    for pattern in (_ADDRESS, _TEMP_NAME, _TEMP_SUFFIX, _PREFIXED):
        for found in pattern.finditer(text):
            yield _span(text, *found.span("id"), "hex_id")
    for found in _ULID.finditer(text):
        yield _span(text, *found.span(), "hex_id")
    for found in _LONG_HEX.finditer(text):
        if not found[0].isdigit() and not found[0].isalpha():
            yield _span(text, *found.span(), "hex_id")


def find_signed_urls(text: str) -> Iterator[VolatileSpan]:
    """Spans of kind signed_url: runs of the parameters that change with every signature."""
    for url in _QUERY.finditer(text):
        query = url["query"]
        if query:
            yield from _signed_runs(query.rstrip(".,;:!"), url.start("query"))


def find_attribution(text: str) -> Iterator[VolatileSpan]:
    """The values of an accounting line, only where it stands first: anywhere else somebody quotes it.

    https://github.com/ggml-org/llama.cpp/pull/21793
    """
    found = _ATTRIBUTION.match(text)
    if found is not None:
        start, end = found.span("value")
        yield VolatileSpan(start, start + len(text[start:end].rstrip()), "attribution", True)


def _uuids(text: str) -> Iterator[VolatileSpan]:
    for found in _UUID.finditer(text):
        start, end = found.start() - 8, found.end()
        value = text[start:end].lower()
        known = value in _EXAMPLE_UUIDS or len(set(value)) <= 2
        yield VolatileSpan(start, end, "uuid", not known and moves(text, start) is not False)


def _epochs(text: str) -> Iterator[VolatileSpan]:
    for found in _EPOCH.finditer(text):
        cue = moves(text, found.start())
        fine = found["finer"] is not None or found["part"] is not None
        yield VolatileSpan(*found.span(), "epoch", cue is True or (fine and cue is None))


def _signed_runs(query: str, offset: int) -> Iterator[VolatileSpan]:
    pieces = query.replace("&amp;", "&&&&&").split("&")  # of the same length
    names = [piece.partition("=")[0] for piece in pieces]
    if not any(_SIGNATURE.fullmatch(name) for name in names):
        return
    start: int | None = None
    at = end = offset
    for piece, name in zip(pieces, names, strict=True):
        if _SIGNATURE.fullmatch(name) or _COMPANION.fullmatch(name):
            start = at if start is None else start
            end = at + len(piece)
        elif start is not None and piece:
            yield VolatileSpan(start, end, "signed_url", True)
            start = None
        at += len(piece) + 1
    if start is not None:
        yield VolatileSpan(start, end, "signed_url", True)


def _span(text: str, start: int, end: int, kind: Kind) -> VolatileSpan:
    return VolatileSpan(start, end, kind, moves(text, start) is not False)
