"""axe-core, on every document: in light, in dark, and as wide as a phone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pages.browser.looks import MANNERS, NO_CONTRAST, assert_accessible, unfold

if TYPE_CHECKING:
    from tests.pages.browser.pages import Runs, Visit

pytestmark = pytest.mark.slow


NARROW = {**MANNERS, "phone": ({"width": 390}, NO_CONTRAST)}


@pytest.mark.parametrize("manner", NARROW)
@pytest.mark.parametrize(
    "document", ["sample", "comparison", "rich", "hostile", "empty"], indirect=True
)
def test_no_violation_of_wcag_2_2_aa(document: Path, visit: Visit, manner: str) -> None:
    opened, rules = NARROW[manner]
    page = visit(document, **opened)
    unfold(page)
    assert_accessible(page, rules)


BROKEN = r"""() => {
    const broken = [];
    for (const table of document.querySelectorAll("table")) {
        const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const text = texts.currentNode;
            if (text.parentNode.closest(".id, summary")) continue;
            for (const word of text.data.matchAll(/(?<![\w.\/-])[a-z]{2,20}(?![\w.\/-])/gi)) {
                const place = document.createRange();
                place.setStart(text, word.index);
                place.setEnd(text, word.index + word[0].length);
                if (place.getClientRects().length > 1) broken.push(word[0]);
            }
        }
    }
    return broken;
}"""
"""Words of tables, without those of ids and digests, that stand on two lines."""


def test_on_a_phone_words_stay_whole_and_a_wide_table_shows_that_it_scrolls(
    runs: Runs, visit: Visit
) -> None:
    page = visit(runs.report, width=420)
    unfold(page)
    pairs = page.locator("table").filter(has=page.get_by_text("Most frequent pairs of a depth"))
    widths = pairs.locator("thead th").evaluate_all("all => all.map(one => one.offsetWidth)")
    edge = "getComputedStyle(document.querySelector('.scroll')).backgroundAttachment"

    assert page.evaluate(BROKEN) == []
    assert widths[0] == min(widths) > 0
    assert page.evaluate(edge) == "local, scroll"
