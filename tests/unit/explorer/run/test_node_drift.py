"""The use of a node by the values of a column is what the run's tables hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from audit.engine.statistics.intervals import wilson
from audit.explorer.run.node_places import DriftView, NodeDrift
from audit.explorer.run.opened_run import open_run
from audit.results.parts import DriftPart
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from fixtures.drifting import HIERARCHY, SHARES, YEARS, drifting
from fixtures.labelled import labelled


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(drifting(), tmp_path_factory.mktemp("drift") / "run")


def drift(folder: Path, node: str) -> Mapping[str, DriftView]:
    view = open_run(folder, "drifting").places.view(node)
    assert view is not None
    return {one.column: one for one in view.drift}


def test_every_row_of_the_tables_is_told_with_its_numbers(folder: Path) -> None:
    tested = pl.read_parquet(folder / "restricted" / "drift_nodes.parquet")
    assert {"a", "b"} <= set(tested["node"])
    for row in tested.iter_rows(named=True):
        view = drift(folder, row["node"])[row["column"]]
        told = next(one for one in view.values if one["value"] == row["value"])

        assert (told["instances"], told["of"]) == (row["instances"], row["of"])
        assert told["share"] == row["instances"] / row["of"]
        assert told["difference"] == row["difference"]
        assert (told["difference_low"], told["difference_high"]) == (row["low"], row["high"])
        assert (told["q_value"], told["differs"]) == (row["q_value"], row["differs"])
        worth = row["worth"]
        assert (told["low"], told["high"]) == wilson(row["instances"] * worth, row["of"] * worth)
        assert view.tests == len(tested)


def test_values_stand_in_their_order_all_of_them(folder: Path) -> None:
    assert [row["value"] for row in drift(folder, "a")[YEARS].values] == ["9", "10", "11"]
    assert [row["value"] for row in drift(folder, "a")["site"].values] == ["north", "south"]


def test_of_two_values_the_first_is_what_the_second_is_compared_with(folder: Path) -> None:
    north, south = drift(folder, "a")["site"].values

    assert north["instances"] + south["instances"] == sum(a for a, _ in SHARES.values())
    assert north["share"] == north["instances"] / north["of"]
    assert north["low"] < north["share"] < north["high"]
    assert north["differs"] is None
    assert south["differs"] is not None


def test_a_node_that_is_never_compared_has_instances_of_values_alone(folder: Path) -> None:
    for view in drift(folder, "c").values():
        assert {row["share"] for row in view.values} == {None}
        assert sum(row["of"] for row in view.values) > 200


def test_intervals_are_absent_where_the_run_keeps_no_effective_numbers(folder: Path) -> None:
    tables = [
        pl.read_parquet(folder / "restricted" / f"{name}.parquet")
        for name in ("drift_values", "drift_nodes")
    ]
    earlier = NodeDrift(DriftPart(tables[0], tables[1].drop("worth")))

    assert {row["low"] for view in earlier.of("a") for row in view.values} == {None}
    assert {row["share"] for view in earlier.of("a") for row in view.values} != {None}


def test_a_run_without_drift_has_none(tmp_path: Path) -> None:
    run = write_run(run_audit(labelled(HIERARCHY, {"1": ["a"]})), tmp_path / "run")

    assert drift(run, "a") == {}
