"""gateway.svg: axes with round marks around every value, and drawings that need nothing else."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Series, across, colour, plot, upwards

numbers = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=8)


@settings(max_examples=60)
@given(numbers, st.booleans())
def test_every_value_has_a_place_in_order(values: list[float], log: bool) -> None:
    """Inside of the drawing, larger ones further right and higher up; the marks lie around them."""
    horizontal, vertical = across(values, log=log), upwards(values, log=log)
    ordered = sorted(values)
    placed = [horizontal.place(value) for value in ordered]
    assert placed == sorted(placed)
    assert all(LEFT <= x <= WIDTH - RIGHT for x in placed)
    heights = [vertical.place(value) for value in ordered]
    assert heights == sorted(heights, reverse=True)
    assert all(TOP <= y <= HEIGHT - BOTTOM for y in heights)
    for axis in (horizontal, vertical):
        marks = [mark for mark, _ in axis.marks]
        assert marks[0] <= ordered[0] * (1 + 1e-9)
        assert marks[-1] >= ordered[-1] * (1 - 1e-9)
        assert 2 <= len(marks) <= 10


@pytest.mark.parametrize(
    ("values", "log", "labels"),
    [
        ([0.0, 0.83], False, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([12.0, 900.0], True, ["10", "100", "1,000"]),
        ([5.0], True, ["1", "10"]),
        ([], False, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([0.0], True, ["1", "10"]),
    ],
)
def test_marks_are_round(values: list[float], log: bool, labels: list[str]) -> None:
    """Ones, twos or fives; decades on a logarithmic axis; something where there is nothing."""
    assert [label for _, label in upwards(values, log=log).marks] == labels


def test_a_plot_is_one_element_that_parses() -> None:
    """Lines, dots and names, with nothing of a name taken for markup."""
    series = [
        Series("<a&b>", colour(0), [(0.0, 1.0), (1.0, 2.0)]),
        Series("dots", colour(1), [(0.5, 1.5), (0.7, 1.0)], dots=True),
        Series("dashed", colour(9), [(0.0, 0.0)], dashed=True),
    ]
    svg = ElementTree.fromstring(plot(series, "x & y", top=5.0))
    titles = [title.text for title in svg.iter("title")]
    assert titles == ["<a&b>", "dots", "dashed"]
    assert [text.text for text in svg.iter("text")][-1] == "x & y"
    assert colour(9) == colour(1)
