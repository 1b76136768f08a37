"""The table of instances of a run, and one of them read back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import InputError
from audit.base.settings import Aggregation
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.data.weighted_dag import InstanceTree, WeightedDag
from audit.explorer.records import Records
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.instances import (
    instance_frame,
    instance_view,
    read_instance,
    write_instances,
)
from audit.runs.read import read_run
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted
from fixtures.sealed_files import reseal

LABELS = {"b": ["dog", "tool"], "a": ["cow"], "c": [], "d": []}
SCORES = {"c": {"dog": 0.5}, "b": {"dog": 0.75, "bird": 0.25}, "x": {"tool": 1.0}}


@pytest.fixture
def dataset(toy_hierarchy: Hierarchy) -> LabelDataset:
    return labelled(toy_hierarchy, LABELS)


@pytest.fixture
def predictions(dataset: LabelDataset) -> Predictions:
    return predicted(dataset, SCORES)


def kept(dataset: LabelDataset, predictions: Predictions | None, folder: Path) -> Path:
    run = write_run(run_audit(dataset, predictions=predictions), folder / "run")
    write_instances(run, dataset, predictions)
    reseal(run)
    return run


def test_labels_have_a_row_each_and_no_score_without_predictions(dataset: LabelDataset) -> None:
    frame = instance_frame(dataset)

    assert sorted(frame.rows()) == [
        ("a", "cow", 1, None, None), ("b", "dog", 1, None, None), ("b", "tool", 1, None, None),
    ]  # fmt: skip
    assert dict(frame.schema) == {
        "instance": pl.String(), "node": pl.String(), "label": pl.Int64(), "score": pl.Float64(),
        "group": pl.String(),
    }  # fmt: skip


def test_labels_and_scores_of_one_node_stand_in_one_row(
    dataset: LabelDataset, predictions: Predictions
) -> None:
    assert instance_frame(dataset, predictions).rows() == [
        ("a", "cow", 1, None, None),
        ("b", "bird", 0, 0.25, None),
        ("b", "dog", 1, 0.75, None),
        ("b", "tool", 1, 0.0, None),
        ("c", "dog", 0, 0.5, None),
    ]


def test_every_row_of_an_instance_names_its_group(
    dataset: LabelDataset, predictions: Predictions
) -> None:
    group = pl.Series("group", [f"of {one}" for one in dataset.instances["instance"]])
    grouped = replace(dataset, instances=dataset.instances.with_columns(group))
    for frame in (instance_frame(grouped), instance_frame(grouped, predictions)):
        assert frame["group"].to_list() == [f"of {one}" for one in frame["instance"]]


def test_both_tables_have_the_same_columns(dataset: LabelDataset, predictions: Predictions) -> None:
    assert instance_frame(dataset).schema == instance_frame(dataset, predictions).schema


def test_labels_and_predictions_are_read_back(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path
) -> None:
    found = read_instance(kept(dataset, predictions, tmp_path), "b")

    assert dict(found.labels.values) == {"dog": 1, "tool": 1}
    assert found.predictions is not None
    assert dict(found.predictions.values) == {"dog": 0.75, "bird": 0.25}


def test_what_is_read_back_is_what_the_predictions_draw(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path
) -> None:
    found = read_instance(kept(dataset, predictions, tmp_path), "b").predictions

    assert found is not None
    assert found.tree() == predictions.weighted("b").tree()


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_the_threshold_is_that_of_the_run(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path, threshold: float
) -> None:
    stated = Policy(decision_threshold=Threshold(value=threshold, reason="So."))
    audited = run_audit(dataset, predictions=predictions, policy=stated)
    run = write_run(audited, tmp_path / "run")
    write_instances(run, dataset, predictions)
    reseal(run)

    assert read_instance(run, "b").threshold == threshold


def test_an_instance_without_predictions_has_labels_alone(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path
) -> None:
    assert read_instance(kept(dataset, predictions, tmp_path), "a").predictions is None


def test_an_instance_without_labels_has_an_empty_dag_beside_its_predictions(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path
) -> None:
    found = read_instance(kept(dataset, predictions, tmp_path), "c")

    assert found.labels.tree() == "object  0"
    assert found.predictions is not None
    assert dict(found.predictions.values) == {"dog": 0.5}


@pytest.mark.parametrize("instance", ["d", "x", "nobody"])
def test_an_instance_with_neither_is_refused(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path, instance: str
) -> None:
    with pytest.raises(InputError, match=instance):
        read_instance(kept(dataset, predictions, tmp_path), instance)


def test_a_run_that_keeps_no_instances_is_refused(dataset: LabelDataset, tmp_path: Path) -> None:
    run = write_run(run_audit(dataset), tmp_path / "run")

    with pytest.raises(InputError, match="--keep-instances"):
        read_instance(run, "a")


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a run is a folder"):
        read_instance(tmp_path, "a")


def test_the_hierarchy_comes_back_with_titles_and_its_synthetic_root(tmp_path: Path) -> None:
    forest = tree("b < a", "d < c", titles={"b": 'Bird, the "first"'})
    found = read_instance(kept(labelled(forest, {"i": ["b", "d"]}), None, tmp_path), "i")

    assert found.labels.tree().splitlines() == [
        "(root) Root  2",
        "├─ a  1",
        '│  └─ b Bird, the "first"  1',
        "└─ c  1",
        "   └─ d  1",
    ]


TWO_WAYS = tree("left right < top", "shared < left", "shared < right", "deep < shared")
AS_SUMMED = {"descendants": (2.0, 2.0), "paths": (4.0, 2.0), "mimic": (2.0, 1.0)}
"""Values of the top and of a node in between, of a label there and one below it."""


@pytest.mark.parametrize("aggregation", AS_SUMMED)
def test_values_are_added_up_as_the_policy_of_the_run_says(
    aggregation: Aggregation, tmp_path: Path
) -> None:
    """The top has two ways down to the two labels; one of them hides the other by one rule."""
    dataset = labelled(TWO_WAYS, {"x": ["shared", "deep"]})
    result = run_audit(dataset, Policy(name="own", aggregation=aggregation))
    run = write_run(result, tmp_path / "run")
    write_instances(run, dataset)
    reseal(run)

    merged = read_instance(run, "x")
    lines = {line.node: line for line in merged.lines()}
    assert (lines["top"].label, lines["shared"].label) == AS_SUMMED[aggregation]
    assert {line.label_share for line in lines.values()} <= {0.25, 0.5, 1.0}
    assert bool(merged.sums) == (aggregation != "descendants")
    assert bool(instance_view(merged, "x", 0)["sums"]) == (aggregation != "descendants")


def test_ids_that_are_numbers_stand_as_numbers_in_the_window(
    toy_hierarchy: Hierarchy, tmp_path: Path
) -> None:
    ids = ["0", "1", "2", "10", "100", "b2", "b10"]
    run = kept(labelled(toy_hierarchy, {one: ["dog"] for one in reversed(ids)}), None, tmp_path)
    listed = Records(read_run(run), toy_hierarchy).ids

    assert listed.to_list() == [*ids[:5], "b10", "b2"]


def test_a_node_hidden_from_those_above_is_drawn_all_the_same(tmp_path: Path) -> None:
    wide = tree("own < top", f"{' '.join(f'n{i}' for i in range(200))} < low", "low < own")
    dag = {"own": 1.0} | {f"n{i}": 1.0 for i in range(200)}
    lines = [*InstanceTree(WeightedDag(wide, dag, "mimic")).lines(0.05)]

    assert [line.node for line in lines] == ["top", "own", "low", ""]
    assert [line.label for line in lines[:3]] == [1, 1, 200]
    assert lines[3].title.startswith("200 more")
