"""What is captured of the traffic, and what of it stays: the section `capture` of the configuration."""

from typing import Annotated

import msgspec

from prefix.errors import ConfigError
from prefix.redaction import Redact

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class CaptureConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Captures are written when a folder is named. Sizes are bytes. folder: made when it is not there.

    sample: of 1 that many conversations. routes: other shares for these. skip_customers: never captured. redact: what
    becomes of the prompts. key_file: secret of redaction and sampling that replicas share; without one it is made
    anew at every start. max_file_bytes, max_files: a full file is compressed and a new one begun, the oldest deleted.
    max_body_bytes: larger requests are not captured.
    """

    folder: str | None = None
    sample: Share = 1.0
    routes: dict[str, Share] = {}
    skip_customers: tuple[str, ...] = ()
    redact: Redact = "hash"
    key_file: str | None = None
    max_file_bytes: Annotated[int, msgspec.Meta(ge=4096)] = 64 << 20
    max_files: Annotated[int, msgspec.Meta(ge=1)] = 16
    max_body_bytes: Annotated[int, msgspec.Meta(ge=1)] = 1 << 20

    def check(self) -> None:
        """Raises ConfigError for settings that contradict each other."""
        if self.folder is None and self != CaptureConfig():
            raise ConfigError("capture: name a folder, or leave the section out: nothing is captured without one")
        if self.max_body_bytes > self.max_file_bytes:
            raise ConfigError("capture: max_body_bytes is more than max_file_bytes: such a request fits no file")
