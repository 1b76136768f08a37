"""Places of the nodes in the hierarchy's picture."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from audit._reports.charts.icicle import bar_words, icicle, icicle_drawing
from audit.results.printed import Count


def _row(node: str, parent: str | None, instances: int) -> dict[str, Any]:
    return {"node": node, "parent": parent, "instances": instances}


def test_children_share_their_parents_extent_by_instances() -> None:
    rows = [_row("root", None, 10), _row("a", "root", 9), _row("b", "root", 3), _row("c", "a", 3)]
    places = {cell.row["node"]: (cell.column, cell.top, cell.bottom) for cell in icicle(rows)}
    assert places == {
        "a": (0, 0.0, pytest.approx(0.75)),
        "b": (0, pytest.approx(0.75), pytest.approx(1.0)),
        "c": (1, 0.0, pytest.approx(0.25)),
    }


def test_a_row_whose_parent_is_not_shown_stands_at_the_left() -> None:
    columns = {
        cell.row["node"]: cell.column for cell in icicle([_row("a", "x", 2), _row("b", None, 1)])
    }
    assert columns == {"a": 0, "b": 0}


def test_every_bar_tells_its_name_and_counts() -> None:
    rows = [
        {**_row("root", None, 10), "title": "All", "residual_share": None},
        {**_row("a&b", "root", 9), "title": "<b>Heart</b>", "residual_share": 0.5},
        {**_row("b", "root", Count(5, {"bin": 10})), "title": None, "residual_share": None},
    ]
    cells = icicle(rows)
    markup = icicle_drawing(cells, dict.fromkeys(("a&b", "b"), "scale-1")).markup
    bars = ElementTree.fromstring(f"<svg>{markup}</svg>")

    assert {bar.get("data-node"): bar.findtext("title") for bar in bars} == {
        "a&b": "<b>Heart</b> (a&b): 9 instances, residual share 50.0%",
        "b": "b: fewer than 11 instances",
    }


def test_one_instance_reads_in_the_singular() -> None:
    row = {"node": "b", "title": None, "residual_share": None}
    assert bar_words({**row, "instances": 1}) == "b: 1 instance"
    assert bar_words({**row, "instances": 0}) == "b: 0 instances"


def test_nothing_gives_nothing() -> None:
    assert icicle([]) == []
    assert icicle([_row("root", None, 0)]) == []
