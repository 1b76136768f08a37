"""Runs beside each other: what is told of each, with which denominators, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from audit.base.errors import InputError
from audit.explorer.run.opened_run import open_run
from audit.explorer.run.other_runs import RunsBeside, distinct_titles, open_beside
from audit.explorer.run.paged_tables import Row
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import compare_runs
from audit.runs.folder import write_run
from audit.runs.read import read_run
from fixtures.labelled import labelled, repeated, tree
from fixtures.sealed_files import write_manifest

OLD = tree("animal tool < root", "dog cow cat < animal", "saw < tool")
NEW = tree("animal tool < root", "dog cow < animal", "saw cat fork < tool")
OTHER = tree("oak elm < plant")


def made(folder: Path, hierarchy: Hierarchy, *counts: tuple[int, str], day: int) -> Path:
    """A run of so many instances of each label, made on a day of a month."""
    sets = [(times, labels.split()) for times, labels in counts]
    run = write_run(run_audit(labelled(hierarchy, repeated(sets))), folder)
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    write_manifest(
        run / "manifest.json", {**manifest, "started": f"2026-03-{day:02}T08:00:00+00:00"}
    )
    return run


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("beside") / "old"
    return made(folder, OLD, (120, "dog"), (60, "cow"), (20, "cat saw"), day=1)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("beside") / "new"
    return made(folder, NEW, (40, "dog"), (40, "cow"), (20, "fork"), day=2)


def beside(*folders: Path) -> RunsBeside:
    names = [folder.name for folder in folders]
    return open_beside(open_run(folders[0], names[0]), folders, names)


def difference(runs: RunsBeside, node: str) -> Row | None:
    """That of the second run and the first."""
    differences = runs.differences[1]
    return None if differences is None else differences.at(node)


def test_a_difference_is_that_of_the_comparison_seen_from_the_window(old: Path, new: Path) -> None:
    told = compare_runs(read_run(old), read_run(new)).node_changes.table
    from_new, from_old = beside(new, old), beside(old, new)

    for row in told.iter_rows(named=True):
        forward = difference(from_old, row["node"])
        backward = difference(from_new, row["node"])
        assert forward is not None
        assert backward is not None
        for name in ("difference", "low", "high", "q_value", "changed"):
            assert forward[name] == row[name]
        assert forward["q_value"] == backward["q_value"]
        if row["difference"] is not None:
            assert backward["difference"] == -row["difference"]
            assert (backward["low"], backward["high"]) == (-row["high"], -row["low"])
    dog = difference(from_new, "dog")
    assert dog is not None
    assert dog["difference"] == pytest.approx(120 / 200 - 40 / 100)
    assert dog["low"] < dog["difference"] < dog["high"]
    assert dog["changed"]


def test_a_node_with_others_below_it_in_the_later_hierarchy_has_no_difference(
    old: Path, new: Path
) -> None:
    animal = difference(beside(new, old), "animal")

    assert animal is not None
    assert animal["difference"] is None  # cats are tools there


def test_a_node_that_one_hierarchy_lacks_has_no_difference(old: Path, new: Path) -> None:
    assert difference(beside(new, old), "fork") is None
    assert difference(beside(new, old), "no such node") is None
    assert beside(new, old).differences[0] is None


def test_of_the_same_data_a_difference_is_not_tested(new: Path, tmp_path: Path) -> None:
    again = made(tmp_path / "again", NEW, (40, "dog"), (40, "cow"), (20, "fork"), day=3)
    dog = difference(beside(new, again), "dog")

    assert dog is not None
    assert dog["same_data"]
    assert dog["difference"] == dog["low"] == dog["high"] == 0
    assert dog["q_value"] is None
    assert not dog["changed"]


def test_the_command_names_the_earlier_run_first_wherever_it_stands(old: Path, new: Path) -> None:
    command = f"audit compare {old} {new}"

    assert beside(new, old).comparisons == [command]
    assert beside(old, new).comparisons == [command]
    assert beside(new, old).history_command == f"audit history {new} {old} --out history.json"


def test_a_run_without_restricted_tables_gives_what_it_shares(
    old: Path, new: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shutil.copytree(old, shared, ignore=shutil.ignore_patterns("restricted"))
    runs = beside(new, shared)

    assert [run.in_full for run in runs.runs] == [True, False]
    assert difference(runs, "dog") is None


def test_beside_a_shared_view_nothing_else_is_shown_of_other_runs(
    old: Path, new: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shutil.copytree(new, shared, ignore=shutil.ignore_patterns("restricted"))
    runs = beside(shared, old)

    assert not any(run.in_full for run in runs.runs)
    assert difference(runs, "dog") is None


def test_runs_of_other_hierarchies_and_the_same_run_are_refused(
    old: Path, new: Path, tmp_path: Path
) -> None:
    other = made(tmp_path / "other", OTHER, (30, "oak"), day=5)
    shutil.copytree(new, tmp_path / "copy")

    with pytest.raises(InputError, match="runs of one hierarchy are required"):
        beside(new, other)
    with pytest.raises(InputError, match="each run may be named only once"):
        beside(new, old, tmp_path / "copy")


def test_a_run_that_was_changed_is_refused(old: Path, new: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(old, tmp_path / "changed")
    (changed / "restricted" / "more.txt").write_text("not of the run")
    folders, names = [new, changed], ["new", "changed"]
    first = open_run(new, "new")

    with pytest.raises(InputError, match="as it was sealed"):
        open_beside(first, folders, names)


def test_equal_titles_are_told_apart() -> None:
    names = distinct_titles(["Codes", "Genes", "Codes"], [Path("a/run"), Path("b/run"), Path("c")])

    assert names == ["Codes (a/run)", "Genes", "Codes (c)"]
