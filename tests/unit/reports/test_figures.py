"""The strongest and the most frequent pairs: what stands in them, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from audit._reports.chapters import tables
from audit._reports.chapters.report import build
from audit._reports.charts import charts, pair_figures
from audit._reports.charts.pair_figures import frequent_figure, pairs_figure
from audit._reports.words.parts import Code, Drawing
from fixtures import results


def test_the_strongest_pairs_come_first() -> None:
    drawn = build(results.rich_result().shared()).figures

    assert [figure.id for figure in drawn] == ["pairs", "frequent-pairs", "hierarchy", "residuals"]


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
    assert (second["observed"], second["expected"], second["times"]) == (50, None, "")
    assert [row[-1] for row in figure.table.rows] == ["×3.24 (2.40 to 4.30)", "–"]


def test_without_a_reported_pair_there_is_no_such_picture() -> None:
    assert pairs_figure([]) is None
    assert frequent_figure([]) is None


FREQUENT = {
    "depth": 2, "a": "x", "b": "y", "title_a": None, "title_b": "Why", "relation": "sibling",
    "instances": 50, "share": 0.25, "expected": 10.0, "lift": 5.0,
    "expected_length": 40.0, "shrunk_ratio": 1.2, "ratio_low": 0.9, "ratio_high": 1.6,
}  # fmt: skip


def test_a_frequent_pair_is_drawn_as_a_share_beside_that_of_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(charts, "pairs_spec", lambda rows, *a, **k: drawn.extend(rows) or {})
    monkeypatch.setattr(pair_figures, "draw", lambda specification: Drawing(1, 1, ""))
    hidden = dict.fromkeys(("share", "expected_length", "shrunk_ratio", "ratio_low", "ratio_high"))
    figure = frequent_figure([FREQUENT, *[FREQUENT] * 20, FREQUENT | hidden | {"depth": 3}])
    assert figure is not None
    first, last = drawn[0], drawn[-1]

    assert len(drawn) == 7 + 1
    assert (first["observed"], first["expected"]) == (0.25, 0.2)
    assert (first["low"], first["high"]) == (None, None)
    assert last["observed"] is None
    assert figure.table.rows[-1][4] == "–"
    assert "Of 21 pairs with an expectation, 21 are no more frequent" in figure.caption


def test_what_the_policy_expects_stands_with_its_source_and_count() -> None:
    policy = results.judged_result().exact()["policy"]
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
