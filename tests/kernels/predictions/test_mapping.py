"""Predictions: classes on nodes, instances on those of the dataset, and what is left out."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from audit.base.errors import InputError, SchemaError
from audit.base.readings import AskedError
from audit.data.columns import Columns
from audit.data.dataset import LabelDataset, load_labels
from audit.data.predictions import Predictions, load_predictions, map_predictions
from audit.data.raw_predictions import RawPredictions, stored
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from fixtures.labelled import tree
from fixtures.written import written

DATA = os.environ.get("AUDIT_DATA", "")
needs_data = pytest.mark.skipif(not DATA, reason="AUDIT_DATA names no folder of real data")


@pytest.fixture
def dataset(toy_hierarchy: Hierarchy) -> LabelDataset:
    rows = pl.DataFrame({"instance": ["c", "a", "b"], "label": ["dog", "cow", "bird"]})
    return LabelDataset.from_rows(rows, toy_hierarchy)


def raw(
    scores: list[list[float]],
    instances: str = "bac",
    classes: tuple[str, ...] = ("tool", "cow"),
    *,
    listed: bool = False,
    set_valued: bool = False,
) -> RawPredictions:
    matrix = np.array(scores, np.float64)
    return RawPredictions(
        instances=tuple(instances),
        classes=classes,
        scores=csr_array(matrix) if listed else stored(matrix),
        set_valued=set_valued,
        sources=(Path("scores.npy"),),
    )


def scores_of(predictions: Predictions) -> dict[str, dict[str, float]]:
    nodes = predictions.hierarchy.nodes
    return {
        instance: {nodes[i]: float(own[i]) for i in np.flatnonzero(own)}
        for instance, own in zip(predictions.instances, predictions.scores.toarray(), strict=True)
    }


@pytest.mark.parametrize("listed", [False, True])
def test_scores_stand_at_nodes_in_the_order_of_the_dataset(
    dataset: LabelDataset, listed: bool
) -> None:
    predictions = map_predictions(raw([[0.5, 0], [0.25, 1], [0, 1e-9]], listed=listed), dataset)

    assert scores_of(predictions) == {
        "a": {"cow": 1.0, "tool": 0.25},
        "b": {"tool": 0.5},
        "c": {"cow": 1e-9},
    }
    assert predictions.rows.tolist() == [0, 1, 2]
    assert predictions.hierarchy is dataset.hierarchy
    assert predictions.scores.shape == dataset.direct.shape
    assert predictions.scores.has_canonical_format
    assert predictions.scores.dtype == np.float64


def test_zeros_are_not_stored(dataset: LabelDataset) -> None:
    held = csr_array((np.array([0.0, 0.5]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    listed = RawPredictions(("a",), ("tool", "cow"), held, False, (Path("scores.csv"),))
    assert map_predictions(listed, dataset, single_label=False).scores.nnz == 1


def test_the_ledger_counts_both_sides(dataset: LabelDataset) -> None:
    predictions = map_predictions(raw([[0.5, 0], [0, 0], [1, 0]], "cxa"), dataset)

    ledger = predictions.ledger
    assert predictions.instances == ("a", "c")
    assert predictions.rows.tolist() == [0, 2]
    assert (ledger.instances_read, ledger.instances_matched) == (3, 2)
    assert (ledger.instances_without_labels, ledger.instances_without_predictions) == (1, 1)
    assert (ledger.classes_read, ledger.classes_mapped, ledger.unknown_classes) == (2, 2, ())
    assert ledger.instances_without_scores == 0


def test_an_instance_without_scores_is_counted(dataset: LabelDataset) -> None:
    predictions = map_predictions(raw([[0.5, 0], [0, 0], [1, 0]]), dataset)
    assert predictions.ledger.instances_without_scores == 1
    assert scores_of(predictions)["a"] == {}


# --- what the policy decides -----------------------------------------------------------------


@pytest.mark.parametrize("listed", [False, True])
def test_unknown_classes_are_left_out_and_counted(dataset: LabelDataset, listed: bool) -> None:
    scores = [[0, 1, 0], [0.5, 0.5, 0]]
    read = raw(scores, "ba", ("None", "cow", "elf"), listed=listed)
    predictions = map_predictions(read, dataset, unlisted="refuse")

    assert scores_of(predictions) == {"a": {"cow": 0.5}, "b": {"cow": 1.0}}
    assert predictions.left_out.tolist() == [0]
    assert predictions.ledger.unknown_classes == ("None", "elf")
    assert predictions.ledger.classes_mapped == 1
    with pytest.raises(AskedError, match="--unlisted refuse"):
        map_predictions(read, dataset)


@pytest.mark.parametrize("classes", [("x", "y"), ("7", "LABEL_8")])
def test_no_known_class_is_refused(dataset: LabelDataset, classes: tuple[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        map_predictions(raw([[0.5, 0.5]], "a", classes), dataset)
    assert ("--classes FILE" in caught.value.hint) is ("x" not in classes)


def test_classes_of_one_node_are_refused_by_the_names_that_were_given() -> None:
    titled = tree("dog cow < pet", titles={"dog": "Hound"})
    rows = pl.DataFrame({"instance": ["a"], "label": ["dog"]})
    labels = replace(LabelDataset.from_rows(rows, titled), words=Columns(by_title=True))
    with pytest.raises(SchemaError, match="'dog is dog', 'Hound is dog'"):
        map_predictions(raw([[0.5, 0.5]], "a", ("dog", "Hound")), labels)


def test_no_class_at_all_is_refused(dataset: LabelDataset) -> None:
    nothing = RawPredictions(("a",), (), csr_array((1, 0)), True, (Path("preds.psv"),))
    with pytest.raises(SchemaError, match="Found: no class"):
        map_predictions(nothing, dataset)


def test_unmatched_instances_are_refused_where_the_policy_says_so(dataset: LabelDataset) -> None:
    with pytest.raises(SchemaError, match=r'unmatched_instances = "count"') as caught:
        map_predictions(
            raw([[0.5, 0]] * 3, "cxa"), dataset, policy=Policy(unmatched_instances="refuse")
        )
    assert caught.value.found == "without labels: 'x'; without predictions: 'b'"


def test_the_same_instances_pass_where_others_are_refused(dataset: LabelDataset) -> None:
    refuse = Policy(unmatched_instances="refuse")
    assert len(map_predictions(raw([[0.5, 0]] * 3), dataset, policy=refuse)) == 3


def test_no_shared_instance_is_refused_with_both_kinds(dataset: LabelDataset) -> None:
    with pytest.raises(SchemaError, match="predictions of 'x', 'y'; labels of 'c', 'a', 'b'"):
        map_predictions(raw([[0.5, 0]] * 2, "xy"), dataset)


def test_two_classes_of_one_node_are_refused(tmp_path: Path) -> None:
    labels = pl.DataFrame({"instance": ["1"], "label": ["038.0"]})
    stays = LabelDataset.from_rows(labels, "icd9cm")
    with pytest.raises(SchemaError, match=r"0380 is 038\.0"):
        map_predictions(raw([[0.5, 0.5]], "1", ("0380", "038.0")), stays)


def test_classes_are_read_as_labels_are(tmp_path: Path) -> None:
    labels = pl.DataFrame({"instance": ["1"], "label": ["038.0"]})
    stays = LabelDataset.from_rows(labels, "icd9cm")
    predictions = map_predictions(raw([[0.5, 0.25]], "1", ("4019", "0380")), stays)
    assert scores_of(predictions) == {"1": {"401.9": 0.5, "038.0": 0.25}}


# --- one answer or several -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "single"),
    [
        ([0.25, 0.75], True),
        ([0.25, 0.75005], True),
        ([0.25, 0.765], True),
        ([0.25, 0.3], False),
        ([0, 0], False),
    ],
)
def test_scores_that_sum_to_one_have_one_answer(
    dataset: LabelDataset, scores: list[float], single: bool
) -> None:
    assert map_predictions(raw([[1, 0], scores], "ab"), dataset).single_label is single


def test_one_answer_may_be_asked_for(dataset: LabelDataset) -> None:
    assert map_predictions(raw([[0.5, 0.25]], "a"), dataset, single_label=True).single_label


def test_one_answer_needs_a_score(dataset: LabelDataset) -> None:
    with pytest.raises(SchemaError, match=r"--single-label(.|\n)*none: 'a'"):
        map_predictions(raw([[0.5, 0.25], [0, 0]], "ba"), dataset, single_label=True)


def test_sets_have_no_one_answer(dataset: LabelDataset) -> None:
    sets = raw([[1, 0], [1, 0]], "ab", set_valued=True)
    assert not map_predictions(sets, dataset).single_label
    with pytest.raises(SchemaError, match="predicted sets"):
        map_predictions(sets, dataset, single_label=True)


def test_an_answer_may_be_a_class_that_is_no_node(dataset: LabelDataset) -> None:
    some = raw([[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]], "abc", ("background", "cow"))
    predictions = map_predictions(some, dataset)
    assert predictions.single_label
    assert scores_of(predictions) == {"a": {"cow": 0.5}, "b": {}, "c": {"cow": 0.75}}
    unlisted, reading = predictions.readings
    assert (unlisted.rows, unlisted.unit) == (1, "classes")
    assert (reading.rows, reading.option) == (1, "--multi-label")
    other = map_predictions(some, dataset, single_label=False)
    assert (other.single_label, scores_of(other)["b"]) == (False, {"cow": 0.25})


def test_a_transform_is_taken_before_classes_are_left_out(dataset: LabelDataset) -> None:
    some = raw([[2, 2]], "a", ("background", "cow"))
    predictions = map_predictions(some, dataset, transform="softmax")
    assert scores_of(predictions) == {"a": {"cow": 0.5}}


# --- files -----------------------------------------------------------------------------------


def test_a_file_is_read_and_shown(dataset: LabelDataset, tmp_path: Path) -> None:
    path = written(tmp_path / "scores.csv", "instance,node,score\na,dog,2\nb,dog,-2\n")

    predictions = load_predictions(path, dataset, transform="sigmoid")

    assert scores_of(predictions)["a"]["dog"] == pytest.approx(1 / (1 + np.exp(-2)))
    assert predictions.sources == (path,)
    assert repr(predictions) == "Predictions(2 instances, scores, 1 of 1 class mapped to toy)"


def test_thresholds_of_predictions_have_a_unit_and_a_reason() -> None:
    told = {each["name"]: each for each in Policy().thresholds()}
    assert told["confusion_threshold"]["value"] == 1e-5
    assert told["decision_threshold"]["value"] == 0.5
    assert told["decision_threshold"]["unit"] == "aggregated score"


@needs_data
@pytest.mark.parametrize(
    ("stem", "hierarchy", "n", "accuracy"),
    [
        ("cifar10", "cifar10_edges.csv", 10_000, 0.929),
        ("20news", "", 7_532, 0.923),
    ],
)
def test_real_softmax_has_the_accuracy_that_it_has(
    stem: str, hierarchy: str, n: int, accuracy: float
) -> None:
    folder = Path(DATA) / "softmax"
    classes = folder / f"{stem}_classes.txt"
    flat = dict.fromkeys(classes.read_text().split(), "all")
    tree = folder / hierarchy if hierarchy else flat
    labels = load_labels(folder / f"{stem}_test_labels.npy", tree, classes=classes)
    path = folder / f"{stem}_test_probabilities.npy"

    predictions = load_predictions(path, labels, classes=classes)

    assert predictions.single_label
    assert len(predictions) == predictions.ledger.instances_matched == len(labels) == n
    assert predictions.ledger.instances_without_predictions == 0
    answers = predictions.scores.toarray().argmax(axis=1)
    given = labels.direct[predictions.rows].toarray().argmax(axis=1)
    as_read = np.load(path).argmax(axis=1) == np.load(folder / f"{stem}_test_labels.npy")
    assert (answers == given).sum() == as_read.sum()
    assert round(float((answers == given).mean()), 3) == accuracy


def test_a_few_sums_that_are_not_one_are_asked(dataset: LabelDataset) -> None:
    rows = pl.DataFrame({"instance": list("abcdefghij"), "label": ["cow"] * 10})
    ten = LabelDataset.from_rows(rows, dataset.hierarchy)
    some = raw([[0.9, 0.1]] * 9 + [[0.5, 0.2]], "abcdefghij")

    with pytest.raises(AskedError, match=r"1 of 10 not to one: 'j'"):
        map_predictions(some, ten)
    assert map_predictions(some, ten, single_label=True).single_label


def test_several_answers_of_a_few_are_no_mistake(dataset: LabelDataset) -> None:
    rows = pl.DataFrame({"instance": list("abcdefghij"), "label": ["cow"] * 10})
    ten = LabelDataset.from_rows(rows, dataset.hierarchy)
    assert not map_predictions(raw([[1, 0]] * 9 + [[1, 1]], "abcdefghij"), ten).single_label
