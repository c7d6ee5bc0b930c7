"""lint.traffic.forks: two templates that are nearly one."""

import pytest

from lint.traffic.forks import Forks
from lint.traffic.losses import Loss
from lint.traffic.seen import Request


def requests(order: str) -> tuple[Forks, Loss]:
    """Requests of variants, by letter; the first of each but the first loses."""
    forks, last = Forks(), dict[str, Request]()
    total = Loss("system_text", 0, "/messages/0/content", 5, ("a", "b"), 1, 2)
    for number, variant in enumerate(order):
        request = Request(number, number + 1, {}, b"", 0)
        loss = total if variant not in last and last else None
        total.occurrences += loss is not None
        nearest = last.get(variant) or next(iter(last.values()), None)
        forks.see(request, nearest, loss)
        last[variant] = request
    return forks, total


@pytest.mark.parametrize(
    ("order", "is_fork"),
    [
        ("ababababab", True),
        ("aabbaabbab", True),
        ("abcabcabcabc", True),
        ("aaaaabbbbb", False),
        ("aaaaaaaab", False),
        ("abcdefgabcdefg" * 3, False),
        ("aaaa", False),
    ],
)
def test_forks(order: str, is_fork: bool) -> None:
    """A few variants, each with requests all along; no change of version, no variable."""
    forks, loss = requests(order)
    assert forks.is_fork(loss) == is_fork


def test_a_cause_with_a_name_is_no_fork() -> None:
    """White space that differs is mended, not kept."""
    forks, loss = requests("ababababab")
    loss.kind = "whitespace"
    assert not forks.is_fork(loss)
