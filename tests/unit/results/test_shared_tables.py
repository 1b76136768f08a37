"""Tables of measurements in the shared view: what the schema says of them, and what counts tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.concepts import analysis as of_concepts
from audit.entailment import analysis as of_tuples
from audit.explanations import analysis as of_explanations
from audit.results.shared_tables import SharedTable, columns, shared_rows
from fixtures.examples import examples

SCHEMA: Any = json.loads(Path("docs/result.schema.json").read_text("utf-8"))
TABLES = {
    "explanations": of_explanations.SHARED,
    "concepts": of_concepts.SHARED,
    "entailment": of_tuples.SHARED,
}


@pytest.mark.parametrize("part", TABLES)
def test_the_schema_names_every_column_of_every_table(part: str) -> None:
    stated: Mapping[str, Any] = SCHEMA["$defs"][part]["properties"]
    columns = {
        name: set(table["items"]["properties"])
        for name, table in stated.items()
        if name not in ("facts", "examples")
    }
    assert columns == {
        name: {*rule.keys, *rule.values, *rule.counts}
        for name, rule in TABLES[part].items()
        if name != "examples"
    }


@pytest.mark.parametrize("rule", [t for part in TABLES.values() for t in part.values()])
def test_a_column_is_of_one_kind(rule: SharedTable) -> None:
    columns = (*rule.keys, *rule.values, *rule.counts)
    assert len(set(columns)) == len(columns)


RULE = SharedTable(("name",), ("share", "small_q"), ("n",))


@examples(100)
@given(
    st.integers(0, 60),
    st.integers(60, 200),
    st.integers(2, 15),
    st.floats(0, 1),
)
def test_small_counts_and_the_digits_that_tell_them_are_withheld(
    n: int, total: int, min_cell: int, share: float
) -> None:
    frame = pl.DataFrame({"name": ["a"], "share": [share], "small_q": [share], "n": [n]})
    (row,) = shared_rows(frame, RULE, {"instances": total}, min_cell)
    assert row["name"] == "a"
    assert isinstance(row["n"], str) or row["n"] in (None, total)
    if n < min_cell:
        assert row["share"] is row["small_q"] is None
    else:
        assert abs(row["share"] - share) <= max(0.001, 2.5 * min_cell / n)
        assert row["small_q"] >= share


def test_where_nothing_is_withheld_numbers_are_whole() -> None:
    frame = pl.DataFrame({"name": ["a"], "share": [1 / 3], "small_q": [None], "n": [2]})
    assert shared_rows(frame, RULE, {"instances": 9}, 1) == [
        {"name": "a", "share": 1 / 3, "small_q": None, "n": 2}
    ]


def test_without_counts_the_total_decides() -> None:
    frame = pl.DataFrame({"name": ["a"], "share": [0.5], "small_q": [0.5]})
    rule = SharedTable(("name",), ("share", "small_q"), ())
    assert shared_rows(frame, rule, {"instances": 5}, 11)[0]["share"] is None
    assert shared_rows(frame, rule, {"instances": 11}, 11)[0]["share"] == 0.5


def test_a_verdict_is_withheld_with_its_number() -> None:
    frame = pl.DataFrame({"verdict": ["pass", "fail"], "share": [0.9, 0.1], "n": [5, 50]})
    rows = shared_rows(frame, SharedTable(("verdict",), ("share",), ("n",)), {"instances": 99}, 11)
    assert [row["verdict"] for row in rows] == [None, "fail"]


@examples(50)
@given(st.permutations([9, 7, 4, 2]))
def test_the_order_of_rows_tells_no_small_count(counts: list[int]) -> None:
    rule = columns("name", "share", "n", order="n")
    frame = pl.DataFrame({"name": ["a", "b", "c", "d", "e"], "n": [*counts, 40]})
    frame = frame.with_columns(share=pl.col("n") / 90).sort("n", descending=True)
    rows = shared_rows(frame, rule, {"instances": 90}, 11)
    assert [row["name"] for row in rows] == ["e", "a", "b", "c", "d"]
    assert shared_rows(frame, rule, {"instances": 90}, 1) == frame.to_dicts()


def test_rows_by_a_number_are_listed_by_what_is_told_of_it() -> None:
    rule = columns("name", "p_value", "n", order="p_value")
    frame = pl.DataFrame(
        {"name": ["c", "b", "a", "d"], "p_value": [0.0011, 0.0012, 0.4, None], "n": [50, 60, 40, 5]}
    )
    rows = shared_rows(frame, rule, {"instances": 200}, 11)
    assert [row["name"] for row in rows] == ["b", "c", "a", "d"]


@pytest.mark.parametrize("n", [1, 9, 10])
def test_a_table_of_nodes_does_not_tell_which_small_ones_were_judged(n: int) -> None:
    frame = pl.DataFrame({"node": ["a", "b"], "share": [0.5, 0.5], "instances": [40, n]})
    rule = columns("node", "share", "instances")
    assert [row["node"] for row in shared_rows(frame, rule, {"instances": 90}, 11)] == ["a"]
    told = shared_rows(frame, rule, {"instances": 90}, 11, {"a": ">0"})
    assert told == []


@pytest.mark.parametrize(
    ("table", "column"), [("graph_concepts", "edges"),
                          ("graph_components", "texts")]
)  # fmt: skip
def test_lists_of_an_entailment_graph_are_in_the_order_of_what_is_told(
    table: str, column: str
) -> None:
    assert of_tuples.SHARED[table].order == column


def test_numbers_of_edges_are_counts() -> None:
    """A text with so few instances is as good as its concept, so their numbers are not listed."""
    assert "most_children" in of_tuples.SHARED["graph_relations"].counts
    shape = pl.DataFrame({"relation": ["r"], "measure": ["children"], "value": [4], "texts": [40]})
    assert shared_rows(shape, of_tuples.SHARED["graph_shape"], {"instances": 90}, 11) == []
