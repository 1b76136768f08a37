"""Partners read by ranges of rows are the rows of the pair table with a node at either end."""

from __future__ import annotations

import itertools
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.explorer.run import pair_rows
from audit.explorer.run.opened_run import OpenedRun, open_run
from audit.explorer.run.pair_rows import APART, PARTNER_ORDERS, PairRows
from audit.explorer.run.vocabulary import Source, Span
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs import folder as run_folder
from audit.runs import pair_layout
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.pair_layout import ends_of, twin_of, write_pair_layout
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted
from fixtures.scanned_partners import open_scanned
from fixtures.strategies import hierarchies, label_sets

NUMBERS = ("joint", "expected", "lift", "expected_length", "ratio")
RELATIONS = (None, APART, "ancestor", "sibling", "overlap", "same_branch", "cross_branch")


@pytest.fixture(autouse=True, scope="module")
def small_parts() -> Iterator[None]:
    """Row groups and parts so small that a node's range begins and ends within some.

    A pair tells so few of the label pairs that carry it that some are left out.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_layout, "ROWS_AT_ONCE", 5)
        patch.setattr(pair_layout, "ROWS_OF_GROUP", 3)
        patch.setattr(run_folder, "ROWS_OF_GROUP", 3)
        patch.setattr(pair_rows, "MOST_CARRIERS", 2)
        yield


@st.composite
def releases(draw: st.DrawFn) -> tuple[Hierarchy, list[frozenset[str]], list[frozenset[str]]]:
    """A hierarchy, the labels of some instances, and what is predicted for each."""
    hierarchy = draw(hierarchies(max_nodes=7))
    labels = draw(label_sets(hierarchy, max_instances=5).filter(bool))
    answer = st.frozensets(st.sampled_from(hierarchy.nodes), max_size=3)
    answers = draw(st.lists(answer, min_size=len(labels), max_size=len(labels)))
    return hierarchy, labels, answers


def written(
    release: tuple[Hierarchy, list[frozenset[str]], list[frozenset[str]]], out: Path
) -> Path:
    """A run of a release in a folder, with predictions if any are given."""
    hierarchy, labels, answers = release
    dataset = labelled(hierarchy, {f"i{at}": sorted(own) for at, own in enumerate(labels)})
    scores = {f"i{at}": dict.fromkeys(sorted(own), 1.0) for at, own in enumerate(answers)}
    given = predicted(dataset, scores, set_valued=True) if any(answers) else None
    return write_run(run_audit(dataset, predictions=given, anyway=True), out)


def seen_from(run: Path, table: str, node: str) -> list[dict[str, Any]]:
    """The rows of a pair table with a node at either end, one by one in plain Python."""
    titles = dict(pl.read_parquet(run / "restricted" / "nodes.parquet")["node", "title"].rows())
    rows = []
    for row in pl.read_parquet(run / "restricted" / f"{table}.parquet").to_dicts():
        for end, other in (("a", "b"), ("b", "a")):
            if row[end] == node:
                seen = {"node": row[other], "title": titles[row[other]]}
                rest = {name: row[name] for name in ("relation", *NUMBERS)}
                rows.append({**seen, "support": row[f"support_{other}"], **rest})
    return rows


def ordered(rows: list[dict[str, Any]], order: str) -> list[dict[str, Any]]:
    """Rows by a column, those without it last, ties by id."""
    column, largest_first = PARTNER_ORDERS[order]
    rows = [{**row, "strength": strength(row)} for row in rows]

    def place(row: dict[str, Any]) -> tuple[bool, Any, str]:
        value = row[column]
        if value is None or not largest_first:
            return value is None, 0, row["node"]
        return False, -value, row["node"]

    return sorted(rows, key=place)


def strength(row: dict[str, Any]) -> float | None:
    """The log likelihood ratio of a Poisson count, below 0 where fewer are observed."""
    times = row["lift"] if row["ratio"] is None else row["ratio"]
    if times is None:
        return None
    ratio = row["joint"] * (math.log(times) - 1 + 1 / times)
    return ratio if times >= 1 else -ratio


def related(row: dict[str, Any], relation: str | None) -> bool:
    if relation == APART:
        return bool(row["relation"] != "ancestor")
    return relation in (None, row["relation"])


def pairs_of(run: OpenedRun) -> PairRows:
    assert run.restricted is not None
    return run.restricted.pairs


@pytest.mark.slow
@settings(max_examples=6)
@given(
    releases(),
    st.builds(Span, st.integers(0, 9), st.none() | st.integers(0, 9)),
)
def test_partners_are_the_rows_with_a_node_at_either_end(
    release: tuple[Hierarchy, list[frozenset[str]], list[frozenset[str]]],
    span: Span,
) -> None:
    end = None if span.limit is None else span.offset + span.limit
    with tempfile.TemporaryDirectory() as folder:
        run = written(release, Path(folder) / "run")
        opened = open_run(run, "drawn")
        tables: list[tuple[Source, str]] = [("data", "pairs")]
        if opened.has_model:
            tables.append(("model", "model_pairs"))
        for source, table in tables:
            for node in release[0].nodes:
                whole = seen_from(run, table, node)
                for relation, order in itertools.product(RELATIONS, PARTNER_ORDERS):
                    rows = [row for row in whole if related(row, relation)]
                    page = pairs_of(opened).partners(node, source, relation, order, span)
                    assert page.total == len(rows)
                    expected = ordered(rows, order)[span.offset : end]
                    assert list(page.rows) == list(map(pytest.approx, expected))


@pytest.mark.slow
@settings(max_examples=5)
@given(releases())
def test_what_ranges_tell_is_what_a_search_of_the_table_tells(
    release: tuple[Hierarchy, list[frozenset[str]], list[frozenset[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = written(release, Path(folder) / "run")
        ranged, searched = pairs_of(open_run(run, "drawn")), pairs_of(open_scanned(run))
        nodes = release[0].nodes
        assert_lies_in_ranges(run)
        for one in nodes:
            assert ranged.below(one, "data") == searched.below(one, "data")
            for other in nodes:
                assert ranged.view(one, other) == searched.view(one, other)


def assert_lies_in_ranges(run: Path) -> None:
    """The pair table has the order that ranges need."""
    nodes = pl.read_parquet(run / "restricted" / "nodes.parquet")["node"].to_list()
    pairs = pl.read_parquet(run / "restricted" / "pairs.parquet").select("a", "b").rows()
    numbers = [(nodes.index(a), nodes.index(b)) for a, b in pairs]
    assert numbers == sorted(numbers)
    assert all(a < b for a, b in numbers)


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hierarchy = tree("mammal bird < animal", "cow dog cat < mammal", "owl < bird")
    labels = repeated(
        [(30, ["cow", "owl"]), (9, ["cow", "dog"]), (4, ["cat"]), (2, ["dog", "owl"])]
    )
    return write_run(
        run_audit(labelled(hierarchy, labels), anyway=True), tmp_path_factory.mktemp("zoo") / "run"
    )


def test_the_twin_has_every_pair_once_by_its_second_node(zoo: Path) -> None:
    table = zoo / "restricted" / "pairs.parquet"
    nodes = pl.read_parquet(table.with_name("nodes.parquet"))["node"].to_list()
    rows = pl.read_parquet(twin_of(table)).to_dicts()
    assert [(row["b"], row["a"]) for row in rows] == sorted((row["b"], row["a"]) for row in rows)
    kept = [name for name in rows[0] if name not in ("a", "b")]
    twins = {(nodes[r["a"]], nodes[r["b"]]): [r[name] for name in kept] for r in rows}
    pairs = pl.read_parquet(table).to_dicts()
    assert twins == {(r["a"], r["b"]): [r[name] for name in kept] for r in pairs}
    assert len(rows) == len(pairs)


def test_the_ends_count_the_rows_of_each_node(zoo: Path) -> None:
    table = zoo / "restricted" / "pairs.parquet"
    pairs = pl.read_parquet(table)
    ends = pl.read_parquet(ends_of(table)).to_dicts()
    assert [end["as_a"] for end in ends] == [(pairs["a"] == end["node"]).sum() for end in ends]
    assert [end["as_b"] for end in ends] == [(pairs["b"] == end["node"]).sum() for end in ends]


def test_parts_of_any_size_give_the_same_twin(zoo: Path, tmp_path: Path) -> None:
    nodes = pl.read_parquet(zoo / "restricted" / "nodes.parquet")["node"]
    twins = []
    for rows in (1, 4, 1000):
        table = tmp_path / f"{rows}.parquet"
        shutil.copy(zoo / "restricted" / "pairs.parquet", table)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pair_layout, "ROWS_AT_ONCE", rows)
            write_pair_layout(table, nodes)
        twins.append(pl.read_parquet(twin_of(table)))
    assert twins[0].equals(twins[1])
    assert twins[1].equals(twins[2])


def test_progress_ends_at_all_pairs(zoo: Path, tmp_path: Path) -> None:
    table = tmp_path / "pairs.parquet"
    shutil.copy(zoo / "restricted" / "pairs.parquet", table)
    calls: list[tuple[int, int | None]] = []
    nodes = pl.read_parquet(zoo / "restricted" / "nodes.parquet")["node"]
    write_pair_layout(
        table, nodes, lambda _, done=0, total=None, unit="": calls.append((done, total))
    )
    pairs = len(pl.read_parquet(table))
    assert calls[0] == (0, pairs)
    assert calls[-1] == (pairs, pairs)


def test_carriers_are_the_most_frequent_label_pairs(
    zoo: Path,
) -> None:
    view = pairs_of(open_run(zoo, "zoo")).view("bird", "mammal")
    assert view is not None
    carried = [({row["a"], row["b"]}, row["joint"]) for row in view.carriers]
    assert carried == [({"cow", "owl"}, 30), ({"dog", "owl"}, 2)]


@pytest.mark.parametrize("path", [twin_of, ends_of])
def test_a_run_without_its_ranges_is_refused(
    zoo: Path, tmp_path: Path, path: Callable[[Path], Path]
) -> None:
    bare = Path(shutil.copytree(zoo, tmp_path / "bare"))
    missing = path(bare / "restricted" / "pairs.parquet")
    missing.unlink()
    with pytest.raises(InputError, match="a run with all its tables is required") as refused:
        open_run(bare, "bare", unsealed=True)
    assert f"no {missing.name}" in str(refused.value)
