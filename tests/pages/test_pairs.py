"""The pairs of a node are the rows of the pair table with it at either end, however they lie."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import Hierarchy, run_audit, write_run
from fixtures.explored import ROWS, OpenedRun, Shown, open_run, partners
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted
from fixtures.strategies import hierarchies, label_sets

Drawn = tuple[Hierarchy, list[frozenset[str]], list[frozenset[str]]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache, empty; every table is put in order, and row groups are small."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setattr("audit.explorer.pairs.AT_ONCE", 3)
        patch.setattr("audit.runs.folder.ROWS_OF_GROUP", 3)
        yield folder


@st.composite
def releases(draw: st.DrawFn) -> Drawn:
    """A hierarchy, the labels of some instances, and what is predicted for each."""
    hierarchy = draw(hierarchies(max_nodes=7))
    labels = draw(label_sets(hierarchy, max_instances=5).filter(any))
    answer = st.frozensets(st.sampled_from(hierarchy.nodes), max_size=3)
    return hierarchy, labels, draw(st.lists(answer, min_size=len(labels), max_size=len(labels)))


def opened(release: Drawn, out: Path) -> OpenedRun:
    hierarchy, labels, answers = release
    dataset = labelled(hierarchy, {f"i{at}": sorted(own) for at, own in enumerate(labels)})
    scores = {f"i{at}": dict.fromkeys(sorted(own), 1.0) for at, own in enumerate(answers)}
    given = predicted(dataset, scores, set_valued=True) if any(answers) else None
    return open_run(write_run(run_audit(dataset, predictions=given), out), "drawn")


def strength(row: dict[str, Any]) -> float | None:
    """The log likelihood ratio of a Poisson count, below 0 where fewer are observed."""
    times = row["lift"] if row["ratio"] is None else row["ratio"]
    if times is None:
        return None
    return float(row["joint"] * (math.log(times) - 1 + 1 / times)) * (1 if times >= 1 else -1)


def all_rows(run: OpenedRun, table: Shown, **asked: str) -> list[dict[str, Any]]:
    batches = table.rows.batches(table.query(asked, run.hierarchy))
    return [row for rows in batches for row in rows.to_dicts()]


@pytest.mark.slow
@settings(max_examples=5)
@given(releases())
def test_partners_and_pairs_are_those_of_the_whole_table(release: Drawn) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = opened(release, Path(folder) / "run")
        for named in run.pairs:
            part = run.result if named == "pairs" else run.result.model
            assert part is not None
            whole = part.pairs.collect().to_dicts()
            assert all_rows(run, run.tables[named]) == whole
            for node in release[0].nodes:
                own = partners(run, named, node)
                wanted = {
                    row["b"] if row["a"] == node else row["a"]: row
                    for row in whole
                    if node in (row["a"], row["b"])
                }
                found = {row["other"]: row for row in all_rows(run, own)}
                assert found.keys() == wanted.keys()
                for other, row in found.items():
                    same = wanted[other]
                    assert {name: row[name] for name in row if name in same} == {
                        name: same[name] for name in same if name in row
                    }
                    assert (
                        row["support"] == same["support_a" if same["a"] == other else "support_b"]
                    )
                    assert row["strength"] == pytest.approx(strength(same))
                for other in release[0].nodes:
                    at = [release[0].index(one) for one in (node, other)]
                    assert run.pairs[named].pair(*at) == (
                        wanted.get(other) if at[0] != at[1] else None
                    )


@pytest.mark.slow
@settings(max_examples=5)
@given(
    releases(),
    st.sampled_from(["joint", "-joint", "-ratio", "b", "lift", ""]),
    st.sampled_from(["", "ancestor", "!ancestor"]),
    st.sampled_from(["", "1", "2"]),
    st.booleans(),
    st.integers(0, 4),
)
def test_a_page_of_pairs_is_a_slice_of_those_asked_for(
    release: Drawn, order: str, relation: str, depth: str, within: bool, start: int
) -> None:
    hierarchy = release[0]
    with tempfile.TemporaryDirectory() as folder:
        run = opened(release, Path(folder) / "run")
        below = hierarchy.nodes[-1] if within else ""
        inside = hierarchy.descendants(hierarchy.nodes[-1], with_self=True)
        depths = dict(zip(hierarchy.nodes, hierarchy.depth.tolist(), strict=True))
        wanted = [
            row
            for row in run.result.pairs.collect().to_dicts()
            if not depth or {depths[row["a"]], depths[row["b"]]} == {int(depth)}
            if not below or {row["a"], row["b"]} & {*inside}
            if not relation or (row["relation"] == "ancestor") != relation.startswith("!")
        ]
        by = order.lstrip("-")
        there = [row for row in wanted if not by or row[by] is not None]
        if by:
            there.sort(key=lambda row: row[by], reverse=order.startswith("-"))
        there += [row for row in wanted if by and row[by] is None]
        asked = {"order": order, "relation": relation, "depth": depth, "below": below}
        table = run.tables["pairs"]
        query = table.query({**asked, "start": str(start)}, hierarchy)
        page, total = table.rows.page(query)

        assert total == len(wanted)
        assert page.to_dicts() == there[start : start + ROWS]


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hierarchy = tree("mammal bird < animal", "cow dog cat < mammal", "owl < bird")
    counts = [(30, ["cow", "owl"]), (9, ["cow", "dog"]), (4, ["cat"]), (2, ["dog", "owl"])]
    result = run_audit(labelled(hierarchy, repeated(counts)))
    return write_run(result, tmp_path_factory.mktemp("zoo") / "run")


def seen(run: Path) -> list[dict[str, Any]]:
    one = open_run(run, "zoo")
    return all_rows(one, partners(one, "pairs", "owl"))


def test_an_order_is_kept_in_the_cache_alone(zoo: Path, own_cache: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in zoo.rglob("*")}
    found = seen(zoo)
    (kept,) = own_cache.rglob("*.parquet")
    assert kept.parent.stat().st_mode & 0o077 == 0
    assert {path: path.stat().st_mtime_ns for path in zoo.rglob("*")} == before
    made = kept.stat().st_ino
    assert seen(zoo) == found
    assert kept.stat().st_ino == made


@pytest.mark.parametrize("fault", ["no folder", "damaged"])
def test_without_an_order_the_whole_table_is_looked_through(
    zoo: Path, own_cache: Path, fault: str
) -> None:
    found = seen(zoo)
    (kept,) = own_cache.rglob("*.parquet")
    if fault == "damaged":
        kept.write_bytes(b"damaged")
    else:
        kept.unlink()
        kept.parent.rmdir()
        kept.parent.write_text("a file")
    assert seen(zoo) == found


def test_the_oldest_orders_are_taken_away(
    zoo: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen(zoo)
    monkeypatch.setattr("audit.explorer.pairs.MOST_KEPT", 1)
    (kept,) = own_cache.rglob("*.parquet")
    kept.rename(kept.with_name("older.parquet"))
    seen(zoo)
    assert list(own_cache.rglob("*.parquet")) == [kept]


def test_carriers_are_the_most_frequent_label_pairs(zoo: Path) -> None:
    run = open_run(zoo, "zoo")
    labels = run.result.nodes["direct"].to_numpy() > 0
    for ends in (("bird", "mammal"), ("mammal", "bird")):
        a, b = map(run.hierarchy.index, ends)
        rows = run.pairs["pairs"].carriers(a, b, labels)
        carried = [({row["a"], row["b"]}, row["joint"]) for row in rows.to_dicts()]
        assert carried == [({"cow", "owl"}, 30), ({"dog", "owl"}, 2)]
