"""Where requests come from: a trace (lengths and shared blocks), captures of a gateway, or a file of bodies.

One idea: all become a list of `Recorded` requests in the order of their times, each knowing which turn of its session
must have ended before it. Captures without a session name are turns of one conversation when one's messages begin
with all of the other's and the other had ended: that is how they were asked, so that is how they are asked again.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from gateway.apis import CHAT, COMPLETIONS, GENERATE, RESPONSES
from gateway.bench.requests import PATHS, TraceText, is_measurable, recorded_body, trace_body
from gateway.trace_file import read_packed
from prefix.capture import Capture, parse_line
from prefix.envelope import unwrap
from prefix.errors import TraceError
from prefix.trace import TraceRequest, arrival_seconds, infer_block_tokens, parse_trace

_BY_MEMBER: Final = {
    "messages": CHAT,
    "input": RESPONSES,
    "prompt": COMPLETIONS,
    "text": GENERATE,
    "input_ids": GENERATE,
}


class Recorded(msgspec.Struct, frozen=True):
    """One request of a source. at_s: seconds after the first one. after: the request that must have ended before.

    what: the trace's line, or a raw body. where: file and line.
    """

    at_s: float
    path: str
    what: TraceRequest | bytes
    where: str
    route: str | None = None
    session: str | None = None
    after: int | None = None
    prompt_tokens: int | None = None


class Source(msgspec.Struct, frozen=True):
    """kind: "trace", "capture" or "bodies". notes: what a reader of the results has to know about it.
    block_tokens: of a trace."""

    name: str
    kind: str
    requests: Sequence[Recorded]
    notes: tuple[str, ...] = ()
    block_tokens: int | None = None

    @property
    def afters(self) -> list[int | None]:
        """For each request the one that must have ended before."""
        return [request.after for request in self.requests]

    def models(self) -> set[str]:
        """The models that recorded bodies name."""
        named = (
            msgspec.json.decode(each.what).get("model") for each in self.requests if isinstance(each.what, bytes)
        )
        return {model for model in named if isinstance(model, str)}

    def bodies(self, text: TraceText, *, key: str, model: str | None, salt: str | None) -> list[bytes]:
        """What to send. key: of a trace's text; model, salt: for recorded bodies, None: as they are."""
        stream = self.kind == "bodies"
        return [
            _made(each.what, number, text, key, each.where)
            if isinstance(each.what, TraceRequest)
            else recorded_body(each.what, each.path, model=model, salt=salt, stream=stream, where=each.where)
            for number, each in enumerate(self.requests)
        ]


def read_source(path: Path, *, api: str, block_tokens: int | None, most: int | None) -> Source:
    """A trace or captures, told by the first line; a folder is one of captures. Raises TraceError with file and line.

    most: only so many requests from the beginning.
    """
    if path.is_dir():
        return _captures(str(path), _folder(path), most)
    lines = read_packed(path).splitlines()
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise TraceError(f"{path}: holds no request")
    if b'"hash_ids"' not in first and b'"redact"' in first:
        return _captures(str(path), [(path, lines)], most)
    trace = list(parse_trace(lines, str(path)))
    try:
        size = block_tokens or infer_block_tokens(trace)
        turns = _turns(trace[:most], PATHS[api], path)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None
    return Source(path.name, "trace", turns, block_tokens=size)


def read_bodies(path: Path, *, api: str | None, most: int | None) -> Source:
    """JSON lines: bodies, bare or in an envelope (`body`, `request` with `path` or `url`, `route`, `session`)."""
    found = [_body_of(line, where, api) for where, line in _numbered(path, read_packed(path).splitlines())]
    if not found:
        raise TraceError(f"{path}: holds no request")
    return Source(path.name, "bodies", _in_sessions(found[:most]))


def _made(turn: TraceRequest, number: int, text: TraceText, key: str, where: str) -> bytes:
    try:
        return trace_body(turn, number, text, key)
    except TraceError as error:
        raise TraceError(f"{where}: {error}") from None


def _numbered(path: Path, lines: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    return ((f"{path}:{number}", line) for number, line in enumerate(lines, start=1) if line.strip())


def _folder(folder: Path) -> list[tuple[Path, list[bytes]]]:
    files = sorted(file for file in folder.iterdir() if file.name.endswith((".jsonl", ".jsonl.gz")))
    if not files:
        raise TraceError(f"{folder}: holds no .jsonl or .jsonl.gz file")
    return [(file, read_packed(file).splitlines()) for file in files]


def _turns(trace: Sequence[TraceRequest], path: str, file: Path) -> list[Recorded]:
    found = [
        Recorded(
            at_s,
            path,
            turn,
            f"{file}: request {number}",
            session=None if turn.session is None else str(turn.session),
            prompt_tokens=turn.input_length,
        )
        for number, (turn, at_s) in enumerate(zip(trace, arrival_seconds(trace), strict=True), start=1)
    ]
    return _in_sessions(found)


def _in_sessions(requests: Sequence[Recorded]) -> list[Recorded]:
    last: dict[str, int] = {}
    ordered = []
    for number, request in enumerate(requests):
        session = request.session
        ordered.append(request if session is None else msgspec.structs.replace(request, after=last.get(session)))
        if session is not None:
            last[session] = number
    return ordered


def _body_of(line: bytes, where: str, api: str | None) -> Recorded:
    try:
        outer = msgspec.json.decode(line, type=dict[str, Any])
        inner = unwrap(outer, lambda raw: msgspec.json.decode(raw, type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"{where}: not a request body: {error}") from None
    told = outer.get("path") or outer.get("url") if inner is not outer else None
    path = PATHS[api] if api else told or next((_BY_MEMBER[name] for name in _BY_MEMBER if name in inner), "")
    if not is_measurable(path):
        raise TraceError(f"{where}: no prompt that any of {', '.join(PATHS.values())} takes; a trace? (--trace)")
    named = {name: value for name in ("route", "session") if isinstance(value := outer.get(name), str)}
    raw = line.strip() if inner is outer else msgspec.json.encode(inner)
    return Recorded(0.0, path, raw, where, route=named.get("route"), session=named.get("session"))


def _captures(name: str, files: Sequence[tuple[Path, list[bytes]]], most: int | None) -> Source:
    """A gateway that was killed leaves a last line that breaks off: counted, and passed over (docs/captures.md)."""
    cut = 0
    for _, lines in files:
        if lines and not lines[-1].rstrip().endswith(b"}"):
            cut += 1
            lines.pop()
    numbered = chain.from_iterable(_numbered(path, lines) for path, lines in files)
    read = [(where, parse_line(line, where)) for where, line in numbered]
    usable = [(where, capture) for where, capture in read if is_measurable(capture.path)]
    usable = sorted(usable, key=lambda each: each[1].started)[:most]
    if not usable:
        raise TraceError(f"{name}: holds no request that generates text")
    captures = [capture for _, capture in usable]
    begin = captures[0].started
    requests = [
        Recorded(
            capture.started - begin,
            capture.path,
            bytes(capture.request),
            where,
            capture.route,
            capture.session,
            after,
            capture.input_tokens,
        )
        for (where, capture), after in zip(usable, _turns_before(captures), strict=True)
    ]
    notes = _notes(captures, len(read) - len(usable) if most is None else 0, cut)
    return Source(name, "capture", requests, notes)


def _notes(captures: Sequence[Capture], left_out: int, cut: int) -> tuple[str, ...]:
    redacted = sum(capture.redact != "none" for capture in captures)
    notes = []
    if redacted:
        notes.append(
            f"{redacted:,} of {len(captures):,} captured bodies are redacted and replayed so: lengths and shared "
            "prefixes stay, words and therefore answers and token counts differ"
        )
    if left_out:
        notes.append(f"{left_out:,} captured requests generate no text and are left out")
    if cut:
        notes.append(f"{cut:,} files end with a line that breaks off, which is left out")
    return tuple(notes)


def _turns_before(captures: Sequence[Capture]) -> list[int | None]:
    """For each capture the one whose next turn it is: the latest of its conversation that had ended."""
    talks: dict[object, list[int]] = {}
    found: list[int | None] = []
    for number, capture in enumerate(captures):
        *begun, whole = _beginnings(capture)
        earlier = next((talks[talk] for talk in reversed(begun) if talk in talks), ())
        ended = (at for at in reversed(earlier) if _end_s(captures[at]) <= capture.started)
        found.append(next(ended, None))
        talks.setdefault(whole, []).append(number)
    return found


def _end_s(capture: Capture) -> float:
    return capture.started + capture.duration_s


def _beginnings(capture: Capture) -> list[object]:
    """What turns before this one may be known by, shortest first, and then what this one is known by."""
    if capture.session is not None:
        return [(capture.customer, capture.session)] * 2
    body = capture.body()
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages:
        return [object()]
    digest = hashlib.blake2b(capture.customer.encode(), digest_size=16)
    begun: list[object] = []
    for message in messages:
        digest.update(msgspec.json.encode(message) + b"\n")
        begun.append(digest.digest())
    return begun
