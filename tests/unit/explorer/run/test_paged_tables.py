"""Pages of restricted tables are the rows that a loop over the whole table finds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.explorer.run import paged_tables
from audit.explorer.run.paged_tables import Page, PartTable, Span, TableQuery

SCHEMA = {"node": pl.String, "kind": pl.String, "n": pl.Int64, "value": pl.Float64}
texts = st.sampled_from(["a", "A b", "b", "ß", "", "a.c", None])
rows = st.lists(
    st.tuples(
        texts,
        st.sampled_from(["x", "y", None]),
        st.none() | st.integers(-3, 3),
        st.sampled_from([None, math.nan, -1.0, 0.0, 0.5, 0.5, 2.0]),
    ),
    min_size=4,
    max_size=20,
)
queries = st.builds(
    TableQuery,
    equal=st.just({}) | st.dictionaries(st.sampled_from(["kind", "n", "no such"]), st.just("x")),
    holding=st.sampled_from(["", "", "A", ".", "zz"]),
    order=st.sampled_from(["n", "value", "node", "no such", ""]),
    rising=st.booleans(),
)
spans = st.builds(Span, st.sampled_from([0, 1, 4, 21]), st.none() | st.integers(0, 9))


def written(table: pl.DataFrame, folder: Path) -> PartTable:
    path = folder / "table.parquet"
    table.write_parquet(path, row_group_size=4)
    return PartTable(path)


def wanted(table: pl.DataFrame, query: TableQuery) -> list[dict[str, Any]]:
    """The rows of a query, one by one."""

    def kept(row: dict[str, Any]) -> bool:
        held = any(
            query.holding.lower() in (row[one] or "").lower()
            for one in ("node", "kind")
            if row[one] is not None
        )
        equal = {name: text for name, text in query.equal.items() if name in ("node", "kind")}
        return (held or not query.holding) and all(row[name] == equal[name] for name in equal)

    def place(row: dict[str, Any]) -> tuple[bool, float]:
        by = row[query.order]
        return by is None, 0 if by is None else by if query.rising else -by

    found = [
        row for row in table.with_columns(pl.col("value").fill_nan(None)).to_dicts() if kept(row)
    ]
    return sorted(found, key=place) if query.order in ("n", "value") else found


@given(rows=rows, asked=st.lists(st.tuples(queries, spans), min_size=1, max_size=12))
def test_a_page_is_a_slice_of_the_rows_of_its_query(
    rows: list[Any], asked: list[tuple[TableQuery, Span]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    read = written(table, tmp_path_factory.mktemp("part"))

    assert read.rows == len(table)
    for query, span in asked:
        every = wanted(table, query)
        page = read.page(query, span)
        assert page.total == len(every)
        assert page.rows == span.of(every).rows


def test_columns_are_what_they_hold_and_nested_numbers_are_left_out(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "text": pl.Series(["a"]),
            "kind": pl.Series(["a"], dtype=pl.Categorical),
            "n": [1],
            "value": [0.5],
            "valid": [True],
            "cycle": [["a", "b"]],
            "marks": [[0.5]],
            "scores": [[[0.5]]],
        }
    )
    read = written(table, tmp_path)

    assert read.columns == {
        "text": "text", "kind": "text", "n": "count", "value": "number", "valid": "flag",
        "cycle": "texts",
    }  # fmt: skip
    assert read.page(TableQuery({"kind": "a"}), Span()).rows[0]["cycle"] == ["a", "b"]


def test_choices_are_the_few_different_texts_of_a_column(tmp_path: Path) -> None:
    many = paged_tables.LOOKED_AT + paged_tables.MOST_CHOICES + 1
    table = pl.DataFrame(
        {
            "few": ["b", "a", None] + ["b"] * (many - 3),
            "late": ["a"] * paged_tables.LOOKED_AT
            + [str(n) for n in range(many)][: many - paged_tables.LOOKED_AT],
            "many": [str(n) for n in range(many)],
            "n": range(many),
        }
    )
    read = written(table, tmp_path)

    assert read.choices("few") == ["a", "b"]
    for column in ("late", "many", "n", "no such"):
        assert read.choices(column) == ()


def test_what_is_no_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.parquet").write_text("no table")

    with pytest.raises(InputError, match=r"table\.parquet"):
        PartTable(tmp_path / "table.parquet")


def test_a_table_without_rows_has_none(tmp_path: Path) -> None:
    read = written(pl.DataFrame(schema=SCHEMA), tmp_path)

    assert read.rows == 0
    for query in (TableQuery(), TableQuery({"node": "a"}, order="n")):
        assert read.page(query, Span()) == Page([], 0)
    assert read.choices("node") == []
