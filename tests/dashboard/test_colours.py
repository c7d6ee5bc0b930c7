"""The colours of the reasons can be told apart, by people who see few colours too, in light and in dark.

Simulated as in Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB; apart: CIE 1976 colour difference.
"""

import math
import re
from itertools import combinations, pairwise

import pytest

from gateway.dashboard import load_assets
from telemetry.attribution import REASONS

Triple = tuple[float, float, float]

LEAST_APART = 18.0
LEAST_CONTRAST = 3.0
"""Of a part of a drawing with what is behind it: WCAG 2.2, 1.4.11."""
SIGHT: dict[str, tuple[Triple, Triple, Triple]] = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
_XYZ: tuple[Triple, Triple, Triple] = (
    (0.4124 / 0.95047, 0.3576 / 0.95047, 0.1805 / 0.95047),
    (0.2126, 0.7152, 0.0722),
    (0.0193 / 1.08883, 0.1192 / 1.08883, 0.9505 / 1.08883),
)
SHOWN = ("cached", *(reason for reason in REASONS if reason != "unknown"))
"""Unknown is hatched, not a colour of its own."""
PALE = ("page", "stale")
"""Drawn on white or beside the dark ground these have less contrast; their numbers stand beside them in text."""


def _palette(scheme: str) -> dict[str, Triple]:
    css = load_assets()["style.css"].body.decode()
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", css)
    return {name: _linear(light if scheme == "light" else dark) for name, light, dark in pairs}


def _linear(color: str) -> Triple:
    red, green, blue = (int(color[at:end], 16) / 255 for at, end in pairwise((1, 3, 5, 7)))
    return _decoded(red), _decoded(green), _decoded(blue)


def _decoded(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _times(matrix: tuple[Triple, Triple, Triple], color: Triple) -> Triple:
    x, y, z = (sum(a * b for a, b in zip(row, color, strict=True)) for row in matrix)
    return max(0.0, min(1.0, x)), max(0.0, min(1.0, y)), max(0.0, min(1.0, z))


def _lab(color: Triple) -> Triple:
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in _times(_XYZ, color))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_any_two_are_apart(scheme: str, sight: str) -> None:
    """Whoever looks, whatever the scheme."""
    palette = {name: _lab(_times(SIGHT[sight], color)) for name, color in _palette(scheme).items() if name in SHOWN}
    assert len(palette) == len(SHOWN)
    near = [(a, b) for a, b in combinations(SHOWN, 2) if math.dist(palette[a], palette[b]) < LEAST_APART]
    assert not near


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_stand_out_from_the_card(scheme: str) -> None:
    """But for those whose text says it."""
    palette = _palette(scheme)
    light = {name: sum(a * b for a, b in zip(_XYZ[1], color, strict=True)) + 0.05 for name, color in palette.items()}
    for name in SHOWN:
        low, high = sorted((light[name], light["card"]))
        assert high / low >= LEAST_CONTRAST or name in PALE, name
