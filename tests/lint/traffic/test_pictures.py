"""lint.traffic.pictures: the same picture in other bytes."""

import base64

import pytest

from lint.rules.reencoded_image import _ROWS, _png
from lint.traffic.pictures import same_picture

OTHER = _ROWS[:-1] + b"\xff"


def jpeg(comment: bytes, scan: bytes = b"\xff\xda\x00\x02scan", width: int = 64) -> str:
    frame = b"\xff\xc0\x00\x0b\x08\x00\x20" + width.to_bytes(2, "big") + b"\x01\x01\x11\x00"
    text = b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment
    return base64.b64encode(b"\xff\xd8" + text + frame + scan + b"\xff\xd9").decode()


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (_png(1), _png(9), "pixels"),
        (_png(6), _png(6, "a comment"), "pixels"),
        (f"data:image/png;base64,{_png(1)}", f"data:image/png;base64,{_png(9)}", "pixels"),
        (_png(6), _png(6, rows=OTHER), "size"),
        (_png(6), _png(6, rows=_ROWS[:65], height=1), None),
        (jpeg(b"one"), jpeg(b"two or more"), "pixels"),
        (jpeg(b"one"), jpeg(b"one", b"\xff\xda\x00\x02other"), "size"),
        (jpeg(b"one"), jpeg(b"one", b"\xff\xda\x00\x02other", 65), None),
        (_png(6), jpeg(b"one"), None),
        ("https://x/a.png", "https://x/b.png", None),
        (base64.b64encode(b"GIF89a").decode(), base64.b64encode(b"GIF89b").decode(), None),
        (base64.b64encode(b"\x89PNG\r\n\x1a\n\x00").decode(), base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(), None),
        (base64.b64encode(b"\xff\xd8\xff").decode(), base64.b64encode(b"\xff\xd8\xff\xe0").decode(), None),
    ],
)
def test_same_picture(a: str, b: str, same: str | None) -> None:
    """By pixels, by format and size, or not at all; broken files are no pictures."""
    assert same_picture(a, b) == same


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more pixels are unpacked than the bound."""
    monkeypatch.setattr("lint.traffic.pictures._LONGEST", 2048)
    bomb = _png(9, rows=b"\0" * 1_000_000)
    assert same_picture(bomb, _png(1, rows=b"\0" * 1_000_000)) in ("pixels", "size", None)
