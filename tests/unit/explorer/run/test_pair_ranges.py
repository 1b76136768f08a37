"""Partners read by ranges of rows are the rows of the pair table with a node at either end."""

from __future__ import annotations

import itertools
import math
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.explorer.run import pair_rows, partners
from audit.explorer.run.opened_run import open_run
from audit.explorer.run.paged_tables import Source, Span
from audit.explorer.run.pair_rows import APART, PARTNER_ORDERS
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs import folder as run_folder
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.read import read_run
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
        patch.setattr(run_folder, "ROWS_OF_GROUP", 3)
        patch.setattr(pair_rows, "MOST_CARRIERS", 2)
        yield


@st.composite
def releases(draw: st.DrawFn) -> tuple[Hierarchy, list[frozenset[str]], list[frozenset[str]]]:
    """A hierarchy, the labels of some instances, and what is predicted for each."""
    hierarchy = draw(hierarchies(max_nodes=7))
    labels = draw(label_sets(hierarchy, max_instances=5).filter(any))
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
    return write_run(run_audit(dataset, predictions=given), out)


def seen_from(run: Path, table: str, node: str) -> list[dict[str, Any]]:
    """The rows of a pair table with a node at either end, one by one in plain Python."""
    titles = dict(pl.read_parquet(run / "restricted" / "nodes.parquet")["node", "title"].rows())
    rows = []
    result = read_run(run)
    part = result if table == "pairs" else result.model
    assert part is not None
    for row in part.pairs.collect().to_dicts():
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
                    page = opened.pairs.partners(node, source, relation, order, span)
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
        ranged, searched = open_run(run, "drawn").pairs, open_scanned(run).pairs
        nodes = release[0].nodes
        for one in nodes:
            for other in nodes:
                assert ranged.view(one, other) == searched.view(one, other)


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hierarchy = tree("mammal bird < animal", "cow dog cat < mammal", "owl < bird")
    labels = repeated(
        [(30, ["cow", "owl"]), (9, ["cow", "dog"]), (4, ["cat"]), (2, ["dog", "owl"])]
    )
    return write_run(run_audit(labelled(hierarchy, labels)), tmp_path_factory.mktemp("zoo") / "run")


@given(st.lists(st.integers(0, 200_000), max_size=50))
def test_an_order_is_that_of_second_nodes_and_rows(second: list[int]) -> None:
    order = partners.in_order(np.array(second, np.uint32)).tolist()
    assert order == sorted(range(len(second)), key=lambda row: (second[row], row))


def test_an_order_is_kept_in_the_cache_alone(zoo: Path, own_cache: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in zoo.rglob("*")}
    partners = seen(zoo)
    (kept,) = own_cache.rglob("*.npy")
    assert kept.parent.stat().st_mode & 0o077 == 0
    assert {path: path.stat().st_mtime_ns for path in zoo.rglob("*")} == before
    made = kept.stat().st_ino
    assert seen(zoo) == partners
    assert kept.stat().st_ino == made
    kept.write_bytes(b"damaged")
    assert seen(zoo) == partners
    assert kept.stat().st_ino != made


def test_a_cache_that_cannot_be_written_is_done_without(zoo: Path, own_cache: Path) -> None:
    partners = seen(zoo)
    shutil.rmtree(own_cache)
    own_cache.write_text("a file")
    assert seen(zoo) == partners


def test_the_oldest_orders_are_taken_away(
    zoo: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen(zoo)
    monkeypatch.setattr(partners, "MOST_KEPT", 1)
    (kept,) = own_cache.rglob("*.npy")
    kept.rename(kept.with_name("older.npy"))
    seen(zoo)
    assert list(own_cache.rglob("*.npy")) == [kept]


def seen(run: Path) -> list[dict[str, Any]]:
    """The partners of a node of the zoo."""
    page = open_run(run, "zoo").pairs.partners("owl", "data", None, "node", Span(0, None))
    return list(page.rows)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache, empty."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


def test_carriers_are_the_most_frequent_label_pairs(
    zoo: Path,
) -> None:
    view = open_run(zoo, "zoo").pairs.view("bird", "mammal")
    assert view is not None
    carried = [({row["a"], row["b"]}, row["joint"]) for row in view.carriers]
    assert carried == [({"cow", "owl"}, 30), ({"dog", "owl"}, 2)]
