"""Pages of tables are the rows that a loop over the whole table finds; CSV is the whole table."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import Hierarchy
from fixtures.explored import (
    ROWS,
    NotThereError,
    Shown,
    Stored,
    Visitor,
    defused,
    entered,
    is_flat,
    open_run,
    shown_columns,
)
from fixtures.once import filled_once
from fixtures.part_runs import HOSTILE, PARTS, write_part_runs
from fixtures.registered import kinds
from reports.words import EXACT
from tests.pages.test_links import follow_all

SCHEMA = {"node": pl.String, "kind": pl.String, "n": pl.Int64, "value": pl.Float64}
ROW = st.tuples(
    st.sampled_from(["cow", "pet", "tool", "odd", None]),
    st.sampled_from(["x", "Y b", None]),
    st.none() | st.integers(-3, 3),
    st.sampled_from([None, math.nan, -1.0, 0.0, 0.5, 0.5, 2.0]),
)


def shown(frame: pl.DataFrame) -> Shown:
    return Shown("own", shown_columns(frame.schema, kinds.Columns()), Stored(frame.lazy()))


@given(
    rows=st.lists(ROW, min_size=4, max_size=20),
    kind=st.sampled_from(["", "", "", "x", "!x", "z"]),
    holding=st.sampled_from(["", "", "", "y", "."]),
    least=st.sampled_from(["", "", "0"]),
    below=st.sampled_from(["", "", "animal"]),
    depth=st.sampled_from(["", "", "1"]),
    order=st.sampled_from(["n", "-value", "-node", ""]),
    start=st.integers(0, 4),
)
def test_a_page_is_a_slice_of_the_rows_asked_for(
    toy_hierarchy: Hierarchy, rows: list[Any], kind: str, holding: str, least: str, below: str,
    depth: str, order: str, start: int,
) -> None:  # fmt: skip
    table = shown(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    inside = toy_hierarchy.descendants("animal", with_self=True)
    deep = [n for n, d in zip(toy_hierarchy.nodes, toy_hierarchy.depth, strict=True) if d == 1]

    def kept(row: dict[str, Any]) -> bool:
        texts = [row[one] or "" for one in ("node", "kind")]
        return (
            (not kind or (row["kind"] == kind.strip("!")) != kind.startswith("!"))
            and (not holding or any(holding in one.lower() for one in texts))
            and (not least or (row["n"] is not None and row["n"] >= 0))
            and (not below or row["node"] in inside)
            and (not depth or row["node"] in deep)
        )

    by = order.strip("-")
    finite = pl.DataFrame(rows, schema=SCHEMA, orient="row").fill_nan(None).to_dicts()
    wanted = [row for row in finite if kept(row)]
    if by:
        there = [row for row in wanted if row[by] is not None]
        there.sort(key=lambda row: row[by], reverse=order.startswith("-"))
        wanted = there + [row for row in wanted if row[by] is None]
    asked = {"kind": kind, "holding": holding, "n.least": least, "below": below, "depth": depth}
    query = table.query({**asked, "order": order, "start": str(start)}, toy_hierarchy)
    page, total = table.rows.page(query)

    assert total == len(wanted)
    assert page.to_dicts() == wanted[start : start + ROWS]


@pytest.mark.parametrize(
    "asked", [{"order": "odd"}, {"n.least": "much"}, {"below": "unicorn"}, {"depth": "deep"}]
)
def test_what_makes_no_sense_is_refused(toy_hierarchy: Hierarchy, asked: dict[str, str]) -> None:
    with pytest.raises(NotThereError):
        shown(pl.DataFrame(schema=SCHEMA)).query(asked, toy_hierarchy)


def test_the_ends_of_a_range_belong_to_it(toy_hierarchy: Hierarchy) -> None:
    table = shown(pl.DataFrame({"n": [0, 1, 2, 3]}))
    page, total = table.rows.page(table.query({"n.least": "1", "n.most": "2"}, toy_hierarchy))

    assert (page["n"].to_list(), total) == ([1, 2], 2)


@pytest.mark.parametrize(("order", "wanted"), [("n", [1, 2, None]), ("-n", [2, 1, None])])
def test_rows_without_a_number_come_last(
    toy_hierarchy: Hierarchy, order: str, wanted: list[int | None]
) -> None:
    table = shown(pl.DataFrame({"n": [None, 2, 1]}))
    page, _ = table.rows.page(table.query({"order": order}, toy_hierarchy))

    assert page["n"].to_list() == wanted


def test_columns_are_what_they_hold_and_nested_ones_are_left_out() -> None:
    frame = pl.DataFrame(
        {
            "text": ["a"], "n": [1], "value": [0.5], "valid": [True],
            "cycle": [["a", "b"]], "marks": [[0.5]],
        }
    )  # fmt: skip
    kinds = {name: (one.kind, one.type) for name, one in shown(frame).columns.items()}

    assert kinds == {
        "text": ("text", ""), "n": ("whole", ""), "value": ("estimate", ""),
        "valid": ("text", "boolean"), "cycle": ("text", "array"),
    }  # fmt: skip


def test_choices_are_the_few_different_texts_of_a_column() -> None:
    table = shown(
        pl.DataFrame({"few": ["b", "a", None] * 1000, "many": [f"{n}" for n in range(3000)],
                      "late": ["a"] * 2500 + [f"{n}" for n in range(500)], "n": range(3000)})
    )  # fmt: skip

    assert {name: table.choices[name] for name in table.columns} == {
        "few": ["a", "b"], "many": [], "late": [], "n": [],
    }  # fmt: skip


def exact(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of a run as its CSV has it."""
    flat = frame.select(name for name, kind in frame.schema.items() if is_flat(kind))
    lists = [name for name, kind in flat.schema.items() if kind == pl.List(pl.String)]
    joined = flat.with_columns(pl.col(lists).list.join("; ", ignore_nulls=True))
    return defused(joined.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None)))


def assert_same(answer: str, frame: pl.DataFrame) -> None:
    wanted = exact(frame)
    texts = pl.read_csv(io.StringIO(answer), infer_schema=False)
    again = pl.read_csv(io.StringIO(wanted.write_csv()), infer_schema=False)
    assert texts.equals(again)


@pytest.mark.slow
def test_the_csv_of_a_table_is_the_run_s_table(visitor: Visitor, folder: Path) -> None:
    run = open_run(folder, "run", show_instances=True)
    assert run.result.model is not None
    whole = {"pairs": run.result.pairs, "model_pairs": run.result.model.pairs}
    for name, table in run.tables.items():
        answer = visitor.get(f"/table/{name}", csv="all")
        assert answer.headers["content-type"].startswith("text/csv")
        assert f"{name}-exact.csv" in answer.headers["content-disposition"]
        if name in whole:
            assert_same(answer.text, whole[name].collect())
        elif name in ("findings", "metrics", "judged_pairs"):
            rows = pl.read_parquet(folder / "restricted" / f"{name}.parquet")
            assert answer.text.count("\n") > len(rows)
        elif name != "checks":
            assert_same(answer.text, pl.read_parquet(folder / "restricted" / f"{name}.parquet"))
        assert visitor.get(f"/table/{name}").status == 200
        assert table.heading in visitor.get("/tables").text


@pytest.fixture(scope="module")
def visitors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Visitor]]:
    """Somebody who looks at a run of each analysis."""
    runs = filled_once("part_runs", write_part_runs, tmp_path_factory)
    with ExitStack() as opened:
        yield {part: opened.enter_context(entered(runs / part)) for part in PARTS}


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_every_table_of_an_analysis_has_a_page_and_a_file(
    visitors: dict[str, Visitor], tmp_path_factory: pytest.TempPathFactory, part: str
) -> None:
    runs, visitor = filled_once("part_runs", write_part_runs, tmp_path_factory), visitors[part]
    listed = visitor.get("/tables").text
    node = "Noun-Entail" if part == "entailment" else "a1"
    said = visitor.get("/node", id=node).text
    for file in (runs / part / "restricted").glob(f"{part}_*.parquet"):
        frame = pl.read_parquet(file)
        answer = visitor.get(f"/table/{file.stem}")
        assert answer.status == 200
        assert EXACT in answer.text
        assert HOSTILE not in answer.text
        assert not re.search(r'\s(style|on\w+)="', answer.text)
        assert_same(visitor.get(f"/table/{file.stem}", csv="all").text, frame)
        assert (f'href="/table/{file.stem}"' in listed) == bool(len(frame))
        column = "relation" if part == "entailment" else "node"
        named = column in frame.columns and len(frame.filter(pl.col(column) == node))
        link = (
            rf'href="/table/{file.stem}\?{column}={node}">[^<]+</a> <span class="muted">{named:,}<'
        )
        assert bool(re.search(link, said)) == bool(named)
    follow_all(visitor)


@pytest.mark.slow
def test_the_page_of_a_tuple_has_its_rows_of_every_table(visitors: dict[str, Visitor]) -> None:
    listed = visitors["entailment"].get("/table/entailment_quality_mismatches").text
    found = re.search(r'href="/record\?id=([^"&]+)"', listed)
    assert found
    text = visitors["entailment"].get("/record", id=found[1]).text
    assert "Quality mismatches" in text or "quality mismatches" in text.lower()
    assert visitors["entailment"].get("/record", id=HOSTILE).status == 404
