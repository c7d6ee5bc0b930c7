"""What of a prompt comes again behind the place where it parts from another, at the price of a few searches.

prefix.realign finds every run and reads both texts byte by byte, which is for reports. A gateway asks the same of
each prompt that missed, so it takes samples: a window here and there is searched in the other text (C speed), and a
hit is extended both ways to all of the run that it lies in. A run ends where the next one may begin, so reordered
pieces are followed from one to the next. Where the last run would go on is looked at first, so text that repeats
itself is not taken for another part of it, and what was found is not searched again: it stands there once, so it
could be shared once. Only so many searches may fail: what is shorter than WINDOW is never found, and of runs shorter
than the distance between two samples some are missed. Nothing is counted that does not recur.
"""

from collections.abc import Iterator

WINDOW = 128
"""Bytes of a sample. Python searches needles of 100 bytes and more in less time than shorter ones."""

MISSES = 6
"""Searches in a row that may find nothing, each twice as far on as the one before; twice as many in all."""

_STRIDE = 64
_STRETCHES = 64
"""So many stretches are searched one by one; further ones are not told apart."""


def recurring(a: bytes, b: bytes, start: int) -> tuple[tuple[int, int], ...]:
    """(start, end) of stretches of `b` behind `start` that stand in `a` behind it, too: in order, disjoint.

    start: length of the common prefix of the two.
    """
    runs: list[tuple[int, int]] = []
    at = done = start
    first = max(0, start - WINDOW)  # they may part inside of what both have, a few bytes into it
    left = [(first, len(a))]
    missed = failed = shift = 0
    while missed < MISSES and failed < 2 * MISSES and at + WINDOW <= len(b):
        sample = b[at : at + WINDOW]
        place = at + shift if a.startswith(sample, at + shift) else _find(a, sample, left)
        if place < 0:
            at += max(WINDOW, (len(b) - done) >> MISSES) << missed
            missed += 1
            failed += 1
            continue
        back = common_suffix(a, b, place, at, min(place - first, at - done))
        done = at + common_prefix(a, b, place, at)
        runs.append((at - back, done))
        if len(left) < _STRETCHES:
            left = list(_without(left, place - back, place + done - at))
        shift, at, missed = place - at, done, 0
    return tuple(runs)


def _find(a: bytes, sample: bytes, left: list[tuple[int, int]]) -> int:
    """Where a sample stands in these stretches of `a`, -1 for nowhere."""
    for low, high in left:
        place = a.find(sample, low, high)
        if place >= 0:
            return place
    return -1


def _without(left: list[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches without what stands in [start, end) but for a window's width at its ends: they may be chance."""
    for low, high in left:
        if high <= start or end <= low:
            yield low, high
            continue
        for piece in ((low, min(high, start + WINDOW)), (max(low, end - WINDOW), high)):
            if piece[1] - piece[0] > WINDOW:
                yield piece


def common_prefix(a: bytes, b: bytes, start_a: int = 0, start_b: int = 0) -> int:
    """How many bytes of `a` from `start_a` on equal those of `b` from `start_b` on.

    As prefix.realign's, for bytes, and in fewer steps: the last one subtracts the two as numbers.
    """
    same, step = 0, _STRIDE
    while True:
        x, y = a[start_a + same : start_a + same + step], b[start_b + same : start_b + same + step]
        if x == y:
            same += len(x)
            if len(x) < step:
                return same
            step *= 4
        elif step > _STRIDE:
            step //= 4
        else:
            size = min(len(x), len(y))
            differ = int.from_bytes(x[:size], "little") ^ int.from_bytes(y[:size], "little")
            return same + ((differ & -differ).bit_length() - 1 >> 3 if differ else size)


def common_suffix(a: bytes, b: bytes, end_a: int, end_b: int, most: int) -> int:
    """How many bytes of `a` before `end_a` equal those of `b` before `end_b`, at most `most`."""
    low, high = 0, most + 1  # the suffix of `low` bytes agrees, that of `high` does not
    while high - low > 1:
        size = (low + high) // 2
        if a[end_a - size : end_a - low] == b[end_b - size : end_b - low]:
            low = size
        else:
            high = size
    return low
