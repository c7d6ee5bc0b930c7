"""lint.traffic.generations: a table that forgets."""

from lint.traffic.generations import Generations


def test_what_is_used_stays() -> None:
    """Between one and two sizes are remembered; what is set again stays on."""
    table: Generations[int, str] = Generations(3)
    for key in range(10):
        table.set(0, "kept")
        table.set(key + 1, str(key))
    assert table.get(0) == "kept"
    assert table.get(10) == "9"
    assert table.get(2) is None
    assert len(table._young) + len(table._old) <= 6
