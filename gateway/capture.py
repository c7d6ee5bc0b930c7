"""Captures of traffic: chosen on the request path, written by a thread, bounded everywhere, never waited for.

The event loop decides whether a request is captured and appends it to a queue; redaction, JSON and files are the
thread's. It lets go of the interpreter every few lines of text, and leaves the loop the better part of the time.
When it cannot keep up, or the disk is full, captures are dropped and counted.

A conversation is captured whole or not at all, on all replicas that share a key: half a conversation would look like
one that lost its beginning, and its second turn like a miss. It is known by its session, where the client names one,
else by its first message that is no system text; a share of all hashes of these, keyed, is the sample.
"""

import logging
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import xxhash

from gateway.capture_files import CaptureFiles
from gateway.capture_settings import CaptureConfig
from gateway.model_routes import SEPARATOR
from gateway.prepared import Prepared
from prefix.capture import line_of
from prefix.errors import TraceError
from prefix.masked import Masked
from prefix.obscure import Hashed
from prefix.record import RequestRecord
from prefix.redaction import Form
from prefix.system import SYSTEM_ROLES

MOST_WAITING: Final = 4096
MOST_WAITING_BYTES: Final = 32 << 20
RETRY_S: Final = 5.0
"""For so long nothing is written after the disk failed."""
_EVERY_S: Final = 0.1
_END_S: Final = 5.0
_SAMPLED: Final = 1024
"""Characters of a first message that tell conversations apart."""
_ALL: Final = 1 << 64
_log = logging.getLogger("prefixgate")


class _Setup(NamedTuple):
    """One configuration of captures, in use from its first request to the last one that is still queued."""

    config: CaptureConfig
    key: bytes
    files: CaptureFiles
    form: Form
    seed: int

    def takes(self, record: RequestRecord, prepared: Prepared) -> bool:
        """Whether a request is one of the sample."""
        share = self.config.routes.get(record.route.partition(SEPARATOR)[0], self.config.sample)
        if share <= 0 or record.customer in self.config.skip_customers:
            return False
        return share >= 1 or self.place(record, prepared) < share * _ALL

    def place(self, record: RequestRecord, prepared: Prepared) -> int:
        """Where among all hashes its conversation is."""
        spoken = prepared.identity.session or _first_turn(prepared) or record.request_id
        return xxhash.xxh3_64_intdigest(f"{record.customer}\0{spoken}".encode("utf-8", "replace"), self.seed)


class _Waiting(NamedTuple):
    setup: _Setup
    record: RequestRecord
    session: str | None
    raw: bytes


class Captures:
    """Use as a context manager. counts: captures by what became of them. key: of redaction and of the sample, as
    replicas share it; None: fresh, which is random.

    Raises ConfigError when the folder cannot be used.
    """

    def __init__(self, config: CaptureConfig, key: bytes | None, fresh: bytes) -> None:
        self.counts = {"written": 0, "too_large": 0, "queue_full": 0, "failed": 0}
        self._waiting: deque[_Waiting] = deque()
        self._taken_bytes = self._done_bytes = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._writing: _Setup | None = None
        self._mute_until = 0.0
        self._complaint = ""
        self._fresh = fresh
        self._setup: _Setup | None = None
        self.configure(config, key)

    def configure(self, config: CaptureConfig, key: bytes | None) -> None:
        """Capture as another configuration says, from the next request on. Raises ConfigError and changes nothing."""
        key = key or self._fresh
        if self._setup is None or (self._setup.config, self._setup.key) != (config, key):
            self._setup = _set_up(config, key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_END_S)

    def offer(self, record: RequestRecord, prepared: Prepared | None, raw: bytes) -> None:
        """Have a finished request captured, if it is to be: it reached an engine, and has a prompt."""
        setup = self._setup
        if setup is None or prepared is None or record.worker is None or not prepared.api.keyed:
            return
        if not setup.takes(record, prepared):
            return
        if len(raw) > setup.config.max_body_bytes:
            self.counts["too_large"] += 1
        elif (
            len(self._waiting) >= MOST_WAITING or self._taken_bytes - self._done_bytes + len(raw) > MOST_WAITING_BYTES
        ):
            self.counts["queue_full"] += 1
        else:
            self._taken_bytes += len(raw)
            self._waiting.append(_Waiting(setup, record, prepared.identity.session, raw))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="captures", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        ended = False
        while not ended:
            ended = self._ended.wait(_EVERY_S)
            while self._waiting:
                self._write(self._waiting.popleft())
        if self._writing is not None:
            self._writing.files.close()

    def _write(self, waiting: _Waiting) -> None:
        outcome = "failed"
        try:
            if time.monotonic() >= self._mute_until:
                self._append(waiting)
                outcome = "written"
        except OSError as error:
            self._mute_until = time.monotonic() + RETRY_S
            self._complain(str(error))
        except TraceError as error:
            self._complain(str(error))
        finally:
            self._done_bytes += len(waiting.raw)
            self.counts[outcome] += 1

    def _append(self, waiting: _Waiting) -> None:
        setup, record = waiting.setup, waiting.record
        if self._writing is not None and self._writing is not setup:
            self._writing.files.close()
        self._writing = setup
        line = line_of(record, waiting.session, waiting.raw, setup.config.redact, setup.form)
        setup.files.write(line, record.started)

    def _complain(self, complaint: str) -> None:
        """Say it once, until something else is wrong."""
        if complaint != self._complaint:
            self._complaint = complaint
            _log.error("captures are lost: %s", complaint)


def _set_up(config: CaptureConfig, key: bytes) -> _Setup | None:
    if config.folder is None:
        return None
    files = CaptureFiles(Path(config.folder), config.max_file_bytes, config.max_files)
    form: Form = Masked(key) if config.redact == "mask" else Hashed(key, _breathe)
    return _Setup(config, key, files, form, xxhash.xxh3_64_intdigest(key))


def _breathe() -> None:
    """Let the event loop have the interpreter."""
    time.sleep(0)


def _first_turn(prepared: Prepared) -> str | None:
    """What a conversation began with; None when the body has no messages that say it."""
    turns = prepared.body.value("messages") or prepared.body.value("input")
    if not isinstance(turns, list):
        return None
    first = next((turn for turn in turns if isinstance(turn, dict) and turn.get("role") not in SYSTEM_ROLES), None)
    return None if first is None else _beginning(first.get("content"))


def _beginning(content: Any) -> str | None:
    """The text of a message, the beginning of it; of parts the first that has one."""
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return next((text[:_SAMPLED] for text in texts if isinstance(text, str) and text), None)
