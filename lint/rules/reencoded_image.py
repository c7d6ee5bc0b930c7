"""The same picture is sent with other bytes."""

import base64
import struct
import zlib
from typing import Any

from lint.examples import HANDBOOK, log, message
from lint.rule import Rule
from lint.traffic.checks import losses

_ROWS = b"".join(bytes([0, *(7 * x * y % 251 for x in range(64))]) for y in range(32))


def _png(level: int, comment: str = "", rows: bytes = _ROWS, height: int = 32) -> str:
    head = struct.pack(">IIBBBBB", 64, height, 8, 0, 0, 0, 0)
    text = [(b"tEXt", f"Comment\0{comment}".encode())] if comment else []
    raw = b"\x89PNG\r\n\x1a\n"
    for name, data in [(b"IHDR", head), *text, (b"IDAT", zlib.compress(rows, level)), (b"IEND", b"")]:
        raw += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return base64.b64encode(raw).decode()


def _chat(picture: str, *more: str, shape: str = "chat") -> dict[str, Any]:
    """A picture, a long text, and further questions."""
    if shape == "chat":
        part: dict[str, Any] = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    else:
        source = {"type": "base64", "media_type": "image/png", "data": picture}
        part = {"type": "image", "source": source}
    said = [message("user", [part, {"type": "text", "text": HANDBOOK}]), message("assistant", "A pattern.")]
    return {"model": "m", "messages": [*said, *(message("user", text) for text in ("Why?", *more))]}


RULE = Rule(
    code="PC702",
    name="reencoded-image",
    severity="warning",
    summary="The same picture is sent with other bytes.",
    why=(
        "An engine knows an image by a hash of its bytes. A picture that is compressed anew for each turn, or "
        "that carries the time in its metadata, is another image each time: it is computed again, with all "
        "behind it. Said of files whose pixels are equal, and of files of one format and size at the same "
        "place of one conversation."
    ),
    instead="Encode once, keep the bytes with the conversation, and send those again.",
    since="0.1.0",
    checks=(losses("reencoded_image", severity="warning"),),
    bad=(
        log(_chat(_png(1)), _chat(_png(9), "And?")),
        log(*(_chat(_png(6, f"made at {at}"), *["And?"] * at) for at in range(3))),
        log(_chat(_png(1), shape="anthropic"), _chat(_png(9), "And?", shape="anthropic")),
    ),
    good=(
        log(_chat(_png(6)), _chat(_png(6), "And?")),
        log(_chat(_png(6)), _chat(_png(6, rows=_ROWS[:65] * 8, height=8))),
        log(*(_chat(_png(6, "one comment"), *["And?"] * at) for at in range(3))),
    ),
)
