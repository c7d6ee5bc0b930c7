"""PNG pictures of a page, small enough for a repository: 256 colours, packed well. The browser counts the pixels.

The colours kept: the most frequent one of each of 512 kinds, so that a small green dot stays green, then by number.
"""

import base64
import struct
import zlib
from typing import Final

from playwright.async_api import Browser

_INDEXED: Final = """async (data) => {
    const blob = await (await fetch('data:image/png;base64,' + data)).blob();
    const picture = await createImageBitmap(blob);
    const { width, height } = picture;
    const canvas = new OffscreenCanvas(width, height).getContext('2d');
    canvas.drawImage(picture, 0, 0);
    const pixels = new Uint32Array(canvas.getImageData(0, 0, width, height).data.buffer);
    const counts = new Map();
    for (const each of pixels) counts.set(each, (counts.get(each) ?? 0) + 1);
    const parts = (each) => [each & 255, (each >> 8) & 255, (each >> 16) & 255];
    const byCount = [...counts].sort((a, b) => b[1] - a[1]).map(([each]) => each);
    const kinds = Map.groupBy(byCount, (each) => parts(each).map((value) => value >> 5).join());
    const kept = [...new Set([...[...kinds.values()].map(([first]) => first), ...byCount])].slice(0, 256);
    const apart = (a, b) => parts(a).reduce((sum, value, i) => sum + (value - parts(b)[i]) ** 2, 0);
    const closer = (each) => (best, other, i) => (apart(each, other) < apart(each, kept[best]) ? i : best);
    const nearest = (each) => kept.reduce(closer(each), 0);
    const place = new Map([...byCount.map((each) => [each, nearest(each)]), ...kept.map((each, i) => [each, i])]);
    let indexes = '';
    for (const each of pixels) indexes += String.fromCharCode(place.get(each));
    return { width, height, palette: kept.flatMap(parts), indexes: btoa(indexes) };
}"""


async def smaller(browser: Browser, png: bytes) -> bytes:
    """The same picture in 256 of its colours; the others become the nearest of them."""
    page = await browser.new_page()
    made = await page.evaluate(_INDEXED, base64.b64encode(png).decode())
    await page.close()
    width, pixels = made["width"], base64.b64decode(made["indexes"])
    lines = (b"\0" + pixels[start : start + width] for start in range(0, len(pixels), width))
    head = struct.pack(">IIBBBBB", width, made["height"], 8, 3, 0, 0, 0)
    packed = zlib.compress(b"".join(lines), 9)
    chunks = ((b"IHDR", head), (b"PLTE", bytes(made["palette"])), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))


def _chunk(named: tuple[bytes, bytes]) -> bytes:
    data = b"".join(named)
    return struct.pack(">I", len(named[1])) + data + struct.pack(">I", zlib.crc32(data))
