"""Whether two images in data URLs show the same picture though their bytes differ.

Engines hash the bytes (or the decoded pixels) of an image; a picture that is encoded anew for each turn is another
one. No image library decodes here: of PNG the compressed pixels are inflated (any compression level gives the same
bytes while the row filters are the same), of JPEG everything but comments and metadata is compared; and two files of
one format and size at the same place of one conversation are taken for the same picture, which the message says.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

_MARK: Final = ";base64,"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8"
_LONGEST: Final = 8 << 20
"""Bytes of a file, and of its pixels, that are looked at."""
_SIZES: Final = frozenset((*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)))


class _Picture(NamedTuple):
    """kind: of the file. size: width and height, or b"". pixels: what decides how it looks, as far as it is known."""

    kind: str
    size: bytes
    pixels: bytes


def same_picture(a: str, b: str) -> str | None:
    """`pixels` when they are equal for certain, `size` when two files of one format have the same width and height;
    None for anything else. a, b: values as they stand in a body."""
    one, other = _picture(a), _picture(b)
    if one is None or other is None or one.kind != other.kind:
        return None
    if one.pixels and one.pixels == other.pixels:
        return "pixels"
    return "size" if one.size and one.size == other.size else None


def _picture(value: str) -> _Picture | None:
    data = value.partition(_MARK)[2] if value.startswith("data:") else value
    if len(data) > _LONGEST:
        return None
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    if raw.startswith(_PNG):
        return _png(raw)
    return _jpeg(raw) if raw.startswith(_JPEG) else None


def _png(raw: bytes) -> _Picture:
    chunks = list(_chunks(raw))
    head = b"".join(data for name, data in chunks if name in (b"IHDR", b"PLTE", b"tRNS"))
    packed = b"".join(data for name, data in chunks if name == b"IDAT")
    try:
        pixels = zlib.decompressobj().decompress(packed, _LONGEST)
    except zlib.error:
        pixels = b""
    return _Picture("png", head[:8], head + pixels if pixels else b"")


def _chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_PNG)
    while at + 8 <= len(raw):
        (size,) = struct.unpack_from(">I", raw, at)
        yield raw[at + 4 : at + 8], raw[at + 8 : at + 8 + size]
        at += size + 12


def _jpeg(raw: bytes) -> _Picture:
    """Segments up to the scan, without comments (FE) and application data (E0 to EF); the scan as it is."""
    at, size, kept = 2, b"", []
    while at + 4 <= len(raw) and raw[at] == 0xFF and raw[at + 1] != 0xDA:
        (length,) = struct.unpack_from(">H", raw, at + 2)
        marker = raw[at + 1]
        if marker in _SIZES:
            size = raw[at + 5 : at + 9]
        if marker != 0xFE and not 0xE0 <= marker <= 0xEF:
            kept.append(raw[at : at + 2 + length])
        at += 2 + length
    return _Picture("jpeg", size, b"".join(kept) + raw[at:])
