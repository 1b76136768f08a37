"""The table of instances of a run, and one of them read back."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import InputError
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.instances import instance_frame, read_instance, write_instances
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
    write_instances(instance_frame(dataset, predictions), run)
    reseal(run)
    return run


def test_labels_have_a_row_each_and_no_score_without_predictions(dataset: LabelDataset) -> None:
    frame = instance_frame(dataset)

    assert sorted(frame.rows()) == [
        ("a", "cow", 1, None), ("b", "dog", 1, None), ("b", "tool", 1, None),
    ]  # fmt: skip
    assert dict(frame.schema) == {
        "instance": pl.String(), "node": pl.String(), "label": pl.Int64(), "score": pl.Float64(),
    }  # fmt: skip


def test_labels_and_scores_of_one_node_stand_in_one_row(
    dataset: LabelDataset, predictions: Predictions
) -> None:
    assert instance_frame(dataset, predictions).rows() == [
        ("a", "cow", 1, None),
        ("b", "bird", 0, 0.25),
        ("b", "dog", 1, 0.75),
        ("b", "tool", 1, None),
        ("c", "dog", 0, 0.5),
    ]


def test_both_tables_have_the_same_columns(dataset: LabelDataset, predictions: Predictions) -> None:
    assert instance_frame(dataset).schema == instance_frame(dataset, predictions).schema


def test_labels_and_predictions_are_read_back(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path
) -> None:
    dags = read_instance(kept(dataset, predictions, tmp_path), "b")

    assert {title: dict(dag.values) for title, dag in dags.items()} == {
        "Labels": {"dog": 1, "tool": 1},
        "Predictions": {"dog": 0.75, "bird": 0.25},
    }


def test_what_is_read_back_is_what_the_predictions_draw(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path
) -> None:
    found = read_instance(kept(dataset, predictions, tmp_path), "b")["Predictions"]

    assert found.tree() == predictions.weighted("b").tree()


def test_an_instance_without_predictions_has_labels_alone(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path
) -> None:
    assert list(read_instance(kept(dataset, predictions, tmp_path), "a")) == ["Labels"]


def test_an_instance_without_labels_has_an_empty_dag_beside_its_predictions(
    dataset: LabelDataset, predictions: Predictions, tmp_path: Path
) -> None:
    dags = read_instance(kept(dataset, predictions, tmp_path), "c")

    assert dags["Labels"].tree() == "object  0"
    assert dict(dags["Predictions"].values) == {"dog": 0.5}


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
    with pytest.raises(InputError, match="a run is what"):
        read_instance(tmp_path, "a")


def test_the_hierarchy_comes_back_with_titles_and_its_synthetic_root(tmp_path: Path) -> None:
    forest = tree("b < a", "d < c", titles={"b": 'Bird, the "first"'})
    dags = read_instance(kept(labelled(forest, {"i": ["b", "d"]}), None, tmp_path), "i")

    assert dags["Labels"].tree().splitlines() == [
        "(root) Root  2",
        "├─ a  1",
        '│  └─ b Bird, the "first"  1',
        "└─ c  1",
        "   └─ d  1",
    ]
