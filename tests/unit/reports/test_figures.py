"""The map of branches and the strongest pairs: what stands in them, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from audit._reports.chapters import tables
from audit._reports.chapters.report import build
from audit._reports.charts import charts, figures, pair_figures
from audit._reports.charts.figures import branches_figure
from audit._reports.charts.pair_figures import frequent_figure, pairs_figure
from audit._reports.charts.palette import SCALE
from audit._reports.words.parts import Code, Drawing, Figure
from fixtures import results

BRANCHES = [
    {"node": node, "title": None, "instances": 90 - n, "share": 0.5, "found": n,
     "excess": 10 * n, "label_pairs_ratio": 1.0}
    for n, node in enumerate("abc")
]  # fmt: skip


def between(a: str, b: str, found: int, ratio: float | None) -> dict[str, Any]:
    return {
        "a": a, "b": b, "relation": "cross_branch", "instances": 40, "share": 0.2,
        "expected": 20.0, "lift": 2.0, "found": found, "excess": 10 * found,
        "label_pairs_ratio": ratio,
    }  # fmt: skip


PAIRS = [between("a", "b", 7, 2.5), between("a", "c", 0, 0.4), between("b", "c", 0, None)]


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], tuple[str, str]]:
    """Role and text of each cell that was drawn last, by row and column."""
    drawn: dict[tuple[str, str], tuple[str, str]] = {}

    def keep(rows: Any, labels: Any) -> dict[str, Any]:
        drawn.update({(r["row"], r["column"]): (r["role"], r["text"]) for r in rows})
        return {}

    monkeypatch.setattr(charts, "matrix_spec", keep)
    monkeypatch.setattr(figures, "draw", lambda specification: Drawing(1, 1, ""))
    return drawn


def mapped(pairs: list[dict[str, Any]], unjudged: str = "", found: bool = True) -> Figure:
    branches = BRANCHES if found else [{**row, "found": 0, "excess": 0} for row in BRANCHES]
    figure = branches_figure(branches, pairs, unjudged)
    assert figure is not None
    return figure


def test_cells_tell_the_pairs_found_and_how_the_branches_go_together(
    cells: dict[tuple[str, str], tuple[str, str]],
) -> None:
    mapped(PAIRS)

    assert cells == {
        ("1", "1"): (SCALE[1], ""),
        ("2", "1"): (SCALE[3], "7"),
        ("2", "2"): (SCALE[1], "1"),
        ("3", "1"): (SCALE[0], ""),
        ("3", "2"): ("scale-none", ""),
        ("3", "3"): (SCALE[1], "2"),
    }


def test_the_table_holds_every_cell_that_has_instances_most_pairs_first() -> None:
    rows = [[getattr(cell, "id", cell) for cell in row] for row in mapped(PAIRS[:2]).table.rows]

    assert rows == [
        ["a", "b", "7", "70", "×2.5", "40", "20.0%"],
        ["c", "itself", "2", "20", "×1", "88", "50.0%"],
        ["b", "itself", "1", "10", "×1", "89", "50.0%"],
        ["a", "itself", "0", "0", "×1", "90", "50.0%"],
        ["a", "c", "0", "0", "×0.4", "40", "20.0%"],
    ]


def test_the_words_name_the_cell_with_most_pairs() -> None:
    assert "10 pairs of nodes were found in 3 cells; most, 7, between a and b." in mapped(PAIRS).alt


def test_where_nothing_was_found_the_map_stands_and_says_so() -> None:
    figure = mapped(PAIRS[1:], found=False)

    assert "Nothing was found" in figure.caption
    assert "No pair of nodes was found" in figure.alt


def test_where_nothing_could_be_judged_the_map_says_why() -> None:
    figure = mapped(PAIRS[1:], "no record has two labels", found=False)

    assert figure.caption.endswith("No pair was judged: no record has two labels.")
    assert "Nothing was found" not in figure.caption


def test_a_single_branch_has_no_map() -> None:
    assert branches_figure(BRANCHES[:1], []) is None


def test_the_map_comes_first_and_the_strongest_pairs_next() -> None:
    drawn = build(results.rich_result().shared()).figures

    assert [figure.id for figure in drawn] == [
        *("branches", "pairs", "frequent-pairs", "hierarchy", "residuals")
    ]


PAIR = {
    "a": "x", "b": "y", "title_a": None, "title_b": "Why", "relation": "cross_branch",
    "instances": 50, "share": 0.05, "expected": 10.0, "lift": 5.0, "expected_length": 9.9,
    "explained": 12.0, "shrunk_ratio": 40.5 / 12.5, "ratio_low": 2.4, "ratio_high": 4.3,
    "observed": None, "effective": None,
}  # fmt: skip


def test_with_groups_a_pair_is_drawn_by_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(charts, "pairs_spec", lambda rows: drawn.extend(rows) or {})
    monkeypatch.setattr(pair_figures, "draw", lambda specification: Drawing(1, 1, ""))
    figure = pairs_figure([PAIR | {"observed": 36.0, "effective": 18.0}])
    assert figure is not None
    assert "weighted" in figure.caption
    (first,) = drawn

    assert (first["observed"], first["expected"]) == (36.0, 12.0)
    low = 2 * (2.4 * (12.0 / 2 + 0.5) - 0.5)  # an effective instance weighs two
    assert first["low"] == pytest.approx(low)


def test_a_pair_is_drawn_beside_all_that_explains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(charts, "pairs_spec", lambda rows: drawn.extend(rows) or {})
    monkeypatch.setattr(pair_figures, "draw", lambda specification: Drawing(1, 1, ""))
    hidden = dict.fromkeys(("explained", "shrunk_ratio", "ratio_low", "ratio_high"))
    figure = pairs_figure([PAIR, PAIR | hidden])
    assert figure is not None
    first, second = drawn

    # of the 50 instances 40 have two labels: the ratio is of these
    assert (first["observed"], first["expected"]) == (40, 12.0)
    assert (first["low"], first["high"]) == pytest.approx((2.4 * 12.5 - 0.5, 4.3 * 12.5 - 0.5))
    assert first["times"] == "×3.24 (2.40–4.30)"
    assert (second["observed"], second["expected"], second["times"]) == (50, None, "withheld")
    assert [row[-1] for row in figure.table.rows] == ["×3.24 (2.40 to 4.30)", "withheld"]


def test_without_a_reported_pair_there_is_no_such_picture() -> None:
    assert pairs_figure([]) is None
    assert frequent_figure([]) is None


FREQUENT = {
    "depth": 2, "a": "x", "b": "y", "title_a": None, "title_b": "Why", "relation": "sibling",
    "instances": 50, "share": 0.25, "share_least": None, "share_most": None, "expected": 10.0,
    "lift": 5.0, "expected_length": 40.0, "shrunk_ratio": 1.2, "ratio_low": 0.9, "ratio_high": 1.6,
}  # fmt: skip


def test_a_frequent_pair_is_drawn_as_a_share_beside_that_of_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(charts, "pairs_spec", lambda rows, *a, **k: drawn.extend(rows) or {})
    monkeypatch.setattr(pair_figures, "draw", lambda specification: Drawing(1, 1, ""))
    hidden = dict.fromkeys(("share", "expected_length", "shrunk_ratio", "ratio_low", "ratio_high"))
    left = {"instances": ">89", "share_least": 0.841, "share_most": 0.8499, "depth": 3}
    figure = frequent_figure([FREQUENT, *[FREQUENT] * 20, FREQUENT | hidden | left])
    assert figure is not None
    first, last = drawn[0], drawn[-1]

    assert len(drawn) == 7 + 1
    assert (first["observed"], first["expected"]) == (0.25, 0.2)
    assert (first["low"], first["high"]) == (None, None)
    assert (last["observed"], last["low"], last["high"]) == (None, 0.841, 0.8499)
    assert last["times"] == figure.table.rows[-1][4] == "84.1% to 85.0%"
    assert "Of 21 pairs with an expectation, 21 are no more frequent" in figure.caption


def test_what_the_policy_expects_stands_with_its_source_and_count() -> None:
    policy = results.judged_result().shared()["policy"]
    table = tables.expected_table(policy)
    assert table is not None

    assert table.rows == (
        (Code("390-459"), Code("00-99"), "Coding guide of the ward, page 12.", "4"),
    )
    assert tables.expected_table({"expected": []}) is None


def test_rules_for_companions_stand_with_their_days_and_count() -> None:
    rule = {
        "if": ["a", "b", "c", "d", "e"],
        "needs": ["x"],
        "unless": [],
        "position": "before",
        "valid_from": "2002-10-01",
        "valid_to": None,
        "source": "A book.",
        "severity": "warning",
        "pairs": 3,
    }
    always = rule | {"valid_from": None, "unless": ["y", "z"]}
    table = tables.companions_table({"companions": [rule, always]})
    assert table is not None

    assert table.rows == (
        ("a, b, c and 2 others", "x", "", "from 2002-10-01", "A book.", "Warning", "3"),
        ("a, b, c and 2 others", "x", "y, z", "always", "A book.", "Warning", "3"),
    )
    assert tables.companions_table({"companions": []}) is None
