"""What the dashboard shows, fed with each finished request: the sums, the causes and the last prompts."""

import time
from collections.abc import Sequence

from gateway.causes import Causes
from gateway.misses import Miss
from gateway.prepared import Prepared
from prefix.record import RequestRecord
from prefix.view import View
from telemetry.board import Board
from telemetry.cells import Key
from telemetry.tree import Recent


class Shown:
    """Since it was made. `now`: Unix seconds that never go backwards."""

    def __init__(self) -> None:
        self._origin = time.time() - time.monotonic()
        self.board = Board(self.now())
        self.causes = Causes()
        self.recent = Recent()

    def now(self) -> float:
        """The time, as all of this is told it."""
        return self._origin + time.monotonic()

    def finished(self, key: Key, record: RequestRecord, prepared: Prepared | None, miss: Miss | None) -> None:
        """Counts one request. key: its labels (route, customer, prompt version). prepared: None when it was refused
        before it was understood."""
        view, blocks = (prepared.view, prepared.blocks) if prepared is not None else (None, ())
        self.count(key, record, view, blocks, 0 if view is None else len(view.text), miss)

    def count(
        self, key: Key, record: RequestRecord, view: View | None, blocks: Sequence[int], size: int, miss: Miss | None
    ) -> None:
        """Counts one request of whose prompt this is known. size: bytes of its view, which need not be here."""
        now, (route, _, version) = self.now(), key
        self.board.record(key, record, now, view)
        if blocks and record.input_tokens:
            self.recent.record(route, version, blocks, size, record.input_tokens)
        if miss is not None:
            self.causes.finished((route, version), miss, now)
