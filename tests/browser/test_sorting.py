"""Tables sorted by a heading, held against Python's own sort of what the cells say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import audit
import reports

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.pages import Runs, Visit

pytestmark = pytest.mark.slow

SEVEREST_FIRST = (
    ("Crashed", "Fail", "Error"),
    ("Warning", "New", "Worse"),
    ("Note", "Differs"),
    ("Pass", "Gone", "Better"),
)

SORT_ALL = """() => [...document.querySelectorAll("table")].map((table) => {
  const rows = [...table.tBodies[0].rows];
  const said = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".badge ~ br ~ *").forEach((below) => below.remove());
    copy.querySelectorAll("br").forEach((end) => end.replaceWith("\\n"));
    return copy.textContent;
  };
  const order = () => [...table.tBodies[0].rows].map((row) => rows.indexOf(row));
  return {
    caption: table.caption.textContent,
    columns: [...table.tHead.rows[0].cells].map((heading, place) => {
      const cells = rows.map((row) => row.cells[place]);
      const button = heading.querySelector("button");
      return {
        number: heading.classList.contains("number"),
        texts: cells.map(said),
        badges: cells.some((cell) => cell.querySelector(".badge")),
        codes: cells.some((cell) => cell.querySelector("code")),
        clicked: button ? [1, 2, 3].map(() => {
          button.click();
          return [heading.getAttribute("aria-sort"), order()];
        }) : null,
      };
    }),
  };
})"""


@dataclass(frozen=True)
class Column:
    """What a reader sees of a column before it is sorted."""

    number: bool
    texts: list[str]
    badges: bool
    codes: bool

    def keys(self) -> list[Any]:
        if self.badges:
            return [severity(text) for text in self.texts]
        numbers = [magnitude(text) for text in self.texts]
        known = [number for number in numbers if number is not None]
        all_numbers = len(known) == len(numbers) and not self.codes
        if known and (self.number or all_numbers):
            return numbers
        return [" ".join(text.split()).lower().encode("utf-16-be") for text in self.texts]


def magnitude(text: str) -> tuple[float, int] | None:
    """The number that a cell begins with; what is below or above a bound lies beside it."""
    word = (text.strip().removeprefix("×").split() or [""])[0]
    side = -1 if word.startswith("<") else int(word.startswith((">", "≥")))
    try:
        return float(word.strip("<>≥%,").replace(",", "").replace("−", "-")), side
    except ValueError:
        return None


def severity(text: str) -> int:
    word, _, said = text.strip().partition(", ")
    ranks = [rank for rank, equal in enumerate(SEVEREST_FIRST) if word in equal]
    return ranks[0] if ranks and said != "waived" else len(SEVEREST_FIRST)


def expected(keys: list[Any], *, down: bool) -> list[int]:
    known = [place for place, key in enumerate(keys) if key is not None]
    unknown = [place for place, key in enumerate(keys) if key is None]
    return sorted(known, key=lambda place: keys[place], reverse=down) + unknown


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison in which a leaf of each of eight branches is used three times as often."""
    leaves = [f"{branch}{leaf}" for branch in "abcdefgh" for leaf in range(4)]
    hierarchy = audit.load_hierarchy({leaf: leaf[0] for leaf in leaves})
    rng = np.random.default_rng(0)
    releases = []
    for rate in (0.1, 0.3):
        rates = [rate if leaf.endswith("0") else 0.1 for leaf in leaves]
        drawn = rng.random((600, len(leaves))) < rates
        labels = pl.Series([[leaves[n] for n in np.flatnonzero(one)] for one in drawn])
        frame = pl.DataFrame({"id": map(str, range(len(drawn))), "labels": labels})
        releases.append(audit.run_audit(audit.load_labels(frame, hierarchy)))
    path = tmp_path_factory.mktemp("changed") / "comparison.html"
    reports.write_comparison(audit.compare_runs(*releases), path)
    return path


@pytest.mark.parametrize("name", ["report", "comparison"])
def test_each_column_sorts_up_down_and_back(
    runs: Runs, changed: Path, visit: Visit, name: str
) -> None:
    pages = {"report": [runs.report], "comparison": [runs.comparison, changed]}[name]
    tables = [table for page in pages for table in visit(page).evaluate(SORT_ALL)]

    sorted_columns = 0
    for table in tables:
        for column in table["columns"]:
            clicked = column.pop("clicked")
            if clicked is None:
                continue
            keys = Column(**column).keys()
            assert clicked == [
                ["ascending", expected(keys, down=False)],
                ["descending", expected(keys, down=True)],
                [None, list(range(len(keys)))],
            ], (table["caption"], column)
            sorted_columns += 1
    assert sorted_columns > 20


def test_small_counts_and_numbers_that_are_not_told_have_their_place(
    made: Path, visit: Visit
) -> None:
    column = [
        column
        for table in visit(made / "rich.html").evaluate(SORT_ALL)
        for column in table["columns"]
        if column["clicked"] and {"<11", "–"} & {text.strip() for text in column["texts"]}
    ]
    assert column
    for one in column:
        keys = Column(one["number"], one["texts"], one["badges"], one["codes"]).keys()
        assert one["clicked"][0][1] == expected(keys, down=False)
        assert one["clicked"][1][1] == expected(keys, down=True)


def test_a_reader_sees_and_hears_the_order(runs: Runs, visit: Visit) -> None:
    page = visit(runs.report)
    table = page.locator("table:has(#check-table)")
    status = table.get_by_role("columnheader", name="Result")
    told = table.get_by_role("status")

    status.get_by_role("button").click()
    assert words(table)[0] == "Warning"
    assert status.get_attribute("aria-sort") == "ascending"
    assert told.inner_text() == "Sorted by Result, the most severe first"

    looked_at = table.get_by_role("columnheader", name="Looked at").get_by_role("button")
    looked_at.press("Enter")
    assert status.get_attribute("aria-sort") is None
    assert table.locator("[aria-sort]").count() == 1
    looked_at.press("Space")
    looked_at.press("Space")
    assert told.inner_text() == "In the order of the report"


def test_a_table_whose_order_decides_is_not_sorted(runs: Runs, visit: Visit) -> None:
    rules = visit(runs.report).locator("table:has(#rule-table)")

    assert rules.locator("tbody tr").count() > 3
    assert rules.get_by_role("button").count() == 0


def words(table: Locator) -> list[str]:
    """The first badge of each row."""
    return [text.strip() for text in table.locator("tbody td .badge").all_text_contents()]
