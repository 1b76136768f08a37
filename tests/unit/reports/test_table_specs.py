"""A column of a table says a field of its rows, and what is missing there as words say it."""

from __future__ import annotations

from typing import Any

import pytest

from audit._reports.words.parts import Badge, Cell, Code, Column, Named, Node, Ranged
from audit._reports.words.table_specs import (
    Spec,
    across,
    badges,
    chances,
    codes,
    decimals,
    differences,
    interval_below,
    interval_beside,
    intervals,
    named,
    nodes,
    numbers,
    optional_table,
    pivoted,
    shares,
    spans,
    table,
    texts,
    written,
)
from audit._reports.words.words import STATUS, number, percent
from audit.results.printed import Count

ROW: dict[str, Any] = {
    "name": "a_b", "node": "C1", "title": None, "status": "fail", "n": 1200,
    "share": 0.25, "low": 0.125, "high": 0.5, "ratio": -1.5, "q": 0.00001,
}  # fmt: skip
MISSING = dict.fromkeys(ROW)
"""A row of which nothing is told."""

KINDS = [
    (texts("Name", "name"), "a_b", "–"),
    (texts("Name", "name", {"a_b": "A and B"}), "A and B", "–"),
    (texts("Name", "name", {}), "a b", "–"),
    (numbers("Instances", "n"), "1,200", "–"),
    (numbers("Instances", "n", absent="none"), "1,200", "none"),
    (numbers("Share", "share", percent), "25.0%", "–"),
    (decimals("Ratio", "ratio", 2), "−1.50", "–"),
    (decimals("Ratio", "ratio"), "−1.500", "–"),
    (differences("Difference", "share"), "+0.250", "–"),
    (shares("Share"), "25.0%", "–"),
    (chances("q-value", "q"), "below 0.0001", "–"),
    (intervals(), "0.125 to 0.500", "–"),
    (spans("95% interval"), "12.5% to 50.0%", "–"),
    (spans("95% interval", number), "0.12 to 0.5", "–"),
    (texts("Name", lambda row: row["name"]), "a_b", "–"),
    (numbers("Instances", lambda row: row["n"]), "1,200", "–"),
    (interval_below(shares("Share")), Ranged("25.0%", "12.5% to 50.0%"), "–"),
    (interval_beside(decimals("Share", "share")), "0.250 (0.125 to 0.500)", "–"),
    (written("Sum", lambda row: str((row["n"] or 0) + 1)), "1201", "1"),
    (badges("Status", "status", STATUS), Badge(STATUS["fail"], "error"), "–"),
    (badges("Status", "status", STATUS, "not asked"), Badge(STATUS["fail"], "error"), "not asked"),
]


@pytest.mark.parametrize(("column", "cell", "missing"), KINDS)
def test_what_a_column_says(column: Spec, cell: Cell, missing: Cell) -> None:
    made = table("t", "Caption", [ROW, MISSING], column)

    assert made.rows == ((cell,), (missing,))


def test_small_counts_print_as_fewer() -> None:
    few = Count(5, {"bin": 10})
    assert table("t", "Caption", [{"n": few}], numbers("Instances", "n")).rows == (("<11",),)


def test_columns_of_names() -> None:
    row = {**ROW, "title": "Title"}
    made = table(
        "t", "Caption", [row], nodes("Node"), named("Title", "title", "name"), codes("Id", "node")
    )

    assert made.rows == ((Node("C1", "Title"), Named("Title", "a_b"), Code("C1")),)
    assert table("t", "Caption", [ROW], nodes("Node")).rows == ((Node("C1"),),)


def test_headings_and_which_of_them_are_of_numbers() -> None:
    columns = [texts("A", "name"), numbers("B", "n"), None, interval_below(shares("C"))]
    made = table("t", "Caption", [], *columns)

    assert made.columns == (Column("A"), Column("B", True), Column("C", True))
    assert (made.id, made.caption, made.rows, made.total) == ("t", "Caption", (), ())


def test_a_table_without_rows_is_none_where_it_may_be() -> None:
    columns = (texts("A", "name"), numbers("B", "n"))

    assert optional_table("t", "Caption", [], *columns) is None
    assert optional_table("t", "Caption", [ROW], *columns) == table("t", "Caption", [ROW], *columns)


def test_the_total_is_said_by_the_same_columns() -> None:
    columns = (texts("A", "name"), numbers("B", "n"))
    made = table("t", "Caption", [ROW], *columns, total={"name": "all", "n": 3}, left_out=2)

    assert made.total == ("all", "3")
    assert made.left_out == 2


@pytest.mark.parametrize(
    "kind",
    [texts, numbers, decimals, differences, shares, chances, codes,
     lambda heading, field: interval_below(shares(heading), field),
     lambda heading, field: interval_beside(shares(heading), "low", field),
     lambda heading, field: badges(heading, field, STATUS)],
)  # fmt: skip
def test_a_field_that_rows_lack_is_an_error_that_names_column_and_table(kind: Any) -> None:
    with pytest.raises(KeyError, match="lacking") as raised:
        table("some-table", "Caption", [ROW], kind("Heading", "lacking"))

    assert raised.value.__notes__ == ["in the column 'Heading' of the table 'some-table'"]


def test_a_line_of_pivoted_rows_has_a_cell_per_value() -> None:
    rows = [
        {"model": model, "k": k, "n": n}
        for model, k, n in [("a", 1, 5), ("b", 2, 6), ("a", 2, "<11")]
    ]
    columns = [across("k", k, numbers(f"k = {k}", "n")) for k in (1, 2, 3)]
    made = table("t", "Caption", pivoted(rows, ["model"], "k"), texts("Model", "model"), *columns)

    assert made.columns[1:] == tuple(Column(f"k = {k}", True) for k in (1, 2, 3))
    assert made.rows == (("a", "5", "<11", "–"), ("b", "–", "6", "–"))
