"""The name of a report, its day, and who may read it."""

from __future__ import annotations

from datetime import date

import pytest

from audit._reports.chapters.report import build
from audit._reports.html import html_text
from audit._reports.words.words import EXACT, Imprint
from fixtures import results
from tests.unit.reports.document import Document


@pytest.mark.parametrize(
    ("imprint", "title"),
    [
        (Imprint(), "Release labelled with icd9cm"),
        (Imprint(name="release_2"), "release_2"),
        (Imprint(title="Spring", name="release_2"), "Spring"),
    ],
)
def test_a_release_without_title_has_the_name_of_what_was_read(
    imprint: Imprint, title: str
) -> None:
    html = html_text(results.empty_result().shared(), imprint)
    assert f"<h1><bdi>{title}</bdi></h1>" in html
    assert f"<title>{title}: hierarchy audit</title>" in html


def test_the_day_the_version_and_how_counts_are_rounded_are_told() -> None:
    shared = results.rich_result().shared()
    first, tool, counts = build(shared, Imprint(day=date(2031, 5, 4))).stated

    assert first == "4 May 2031"
    assert tool == f"hierarchy-audit {shared['identity']['tool']['version']}"
    assert counts == "Counts are rounded: they are middles of bins of 10; <11 may be none."
    assert "4May2031" in Document(html_text(shared, Imprint(day=date(2031, 5, 4)))).text


def test_a_report_of_exact_numbers_says_so_on_its_band() -> None:
    exact = results.rich_result().exact()
    assert build(exact).stated[-1] == "Counts are exact"
    assert build(exact).band == ""
    assert build(exact, Imprint(exact=True)).band == EXACT


def test_a_hostile_name_is_inert() -> None:
    html = html_text(results.empty_result().shared(), Imprint(title="<script>\u202e"))
    assert "<h1><bdi>&lt;script&gt;\ufffd</bdi></h1>" in html
