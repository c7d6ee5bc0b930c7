"""gateway.simulate.plot: one page that needs nothing else, and whose picture is the study's."""

import re
from html.parser import HTMLParser

import pytest

from gateway.simulate.plot import HEIGHT, WIDTH, study_html
from gateway.simulate.study import Study
from tests.gateway.simulate.studies import row, study


class Page(HTMLParser):
    """Collects tags and text, and that every tag is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


STUDIES = [
    study(),
    study(row("random", 1.0, 0.0, 0.0)),
    study(row("random", 1.0, 0.0, 5.0), infinite=0.0, pooled=0.0),
    study(*(row(f"p{nth}", rate, 0.1 * nth, 10.0**nth) for nth in range(9) for rate in (1.0, 0.5, 2.0))),
]


@pytest.mark.parametrize("one", STUDIES)
def test_the_page_is_whole_and_all_points_are_inside(one: Study) -> None:
    """Well-formed; a line a policy and panel, a point a row and panel, none beside the picture, none not a number."""
    html = study_html(one)
    page = Page(html)
    assert page.open == []
    policies = {row.policy for row in one.rows}
    assert len(page.all("polyline")) == 2 * len(policies)
    circles = page.all("circle")
    assert len(circles) == 2 * len(one.rows)
    for circle in circles:
        assert 0 <= float(circle["cx"] or "nan") <= WIDTH
        assert 0 <= float(circle["cy"] or "nan") <= HEIGHT
    assert "nan" not in html
    assert len(page.all("tr")) == len(one.rows) + 1


def test_nothing_is_fetched_and_names_are_escaped() -> None:
    """No script, no link, no address; the trace's name is text."""
    html = study_html(study())
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", html)
    assert "trace &lt;b&gt;.jsonl" in html
    assert "trace <b>" in Page(html).text


def test_more_hits_are_higher_and_more_load_is_further_right() -> None:
    """Both axes grow as they should; the bounds are drawn."""
    page = Page(study_html(study(row("p", 1.3, 0.7, 9.0), row("p", 0.7, 0.2, 1.0))))
    few, many = page.all("circle")[:2]
    assert float(few["cx"] or 0) < float(many["cx"] or 0)
    assert float(few["cy"] or 0) > float(many["cy"] or 0)
    assert "infinite cache" in page.text
    assert "pooled LRU" in page.text
    assert "p at 0.7x: 20.0%" in page.text
