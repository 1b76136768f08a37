"""Which row of predictions belongs to which instance: ids, order, and what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import audit
from audit.base.errors import InputError, SchemaError
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions

TREE = {"dog": "animal", "cat": "animal", "oak": "plant"}
CLASSES = ["dog", "cat", "oak"]
GIVEN = [CLASSES[number] for number in (0, 1, 2, 2, 0, 1, 1, 0, 2, 0, 0, 1)]
SCORES = np.array([[0.8 if name == given else 0.1 for name in CLASSES] for given in GIVEN])
FROM_0 = [*map(str, range(12))]
FROM_1 = [*map(str, range(1, 13))]
SHUFFLED = [str(number * 5 % 12) for number in range(12)]
NAMES = [f"img_{number}" for number in range(12)]


def labels(ids: Sequence[str] | None) -> LabelDataset:
    return audit.load_labels(GIVEN if ids is None else {"id": ids, "label": GIVEN}, TREE)


def predictions(
    ids: Sequence[str] | None, dataset: LabelDataset, by_order: bool = False
) -> Predictions:
    if ids is None:
        return audit.load_predictions(SCORES, dataset, classes=CLASSES, by_order=by_order)
    columns = {name: SCORES[:, column] for column, name in enumerate(CLASSES)}
    return audit.load_predictions({"id": ids, **columns}, dataset, by_order=by_order)


def right(found: Predictions, dataset: LabelDataset) -> int:
    answers = found.scores.toarray().argmax(axis=1)
    return int((answers == dataset.direct[found.rows].toarray().argmax(axis=1)).sum())


@pytest.mark.parametrize("of_labels", [None, FROM_0])
@pytest.mark.parametrize("of_predictions", [None, FROM_0])
def test_order_joins_what_has_no_ids_or_row_numbers(
    of_labels: list[str] | None, of_predictions: list[str] | None
) -> None:
    dataset = labels(of_labels)
    found = predictions(of_predictions, dataset)
    lacks = None in (of_labels, of_predictions)
    assert right(found, dataset) == len(found) == 12
    assert [reading.option for reading in found.readings] == ["--id"] * lacks


@pytest.mark.parametrize("ids", [FROM_1, SHUFFLED, NAMES])
@pytest.mark.parametrize("lacking", ["labels", "predictions"])
def test_other_ids_beside_none_are_asked(ids: list[str], lacking: str) -> None:
    of_labels, of_predictions = (None, ids) if lacking == "labels" else (ids, None)
    dataset = labels(of_labels)
    with pytest.raises(InputError, match=f"the {lacking} have no ids") as caught:
        predictions(of_predictions, dataset)
    assert repr(ids[0]) in caught.value.found
    by_order = predictions(of_predictions, dataset, by_order=True)
    assert right(by_order, dataset) == 12
    assert by_order.instances == tuple(dataset.instances["instance"])


@pytest.mark.parametrize(("of_labels", "of_predictions"), [(FROM_1, FROM_0), (FROM_0, FROM_1)])
def test_row_numbers_from_0_beside_others_from_1_are_asked(
    of_labels: list[str], of_predictions: list[str]
) -> None:
    dataset = labels(of_labels)
    with pytest.raises(InputError, match=r"--by-order if .*; else both need the same ids"):
        predictions(of_predictions, dataset)
    assert right(predictions(of_predictions, dataset, by_order=True), dataset) == 12


@pytest.mark.parametrize("ids", [SHUFFLED, NAMES])
def test_ids_on_both_sides_join_in_any_order(ids: list[str]) -> None:
    dataset = labels(ids)
    assert (right(predictions(ids, dataset), dataset), predictions(ids, dataset).readings) == (
        12, (),
    )  # fmt: skip


def test_other_ids_on_both_sides_are_refused_or_joined_by_order() -> None:
    dataset, others = labels([*map(str, range(200, 212))]), [*map(str, range(300, 312))]
    with pytest.raises(SchemaError, match="must share instances") as caught:
        predictions(others, dataset)
    assert "--by-order" in caught.value.hint
    assert len(predictions(others, dataset, by_order=True)) == 12


@pytest.mark.parametrize("rows", [2, 15])
@pytest.mark.parametrize("by_order", [False, True])
def test_sides_of_other_length_without_ids_are_refused(rows: int, by_order: bool) -> None:
    with pytest.raises(SchemaError, match=f"as many predictions(.|\n)*{rows} and 12") as caught:
        audit.load_predictions(SCORES[np.arange(rows) % 12], labels(None), classes=CLASSES,
                               by_order=by_order)  # fmt: skip
    assert "--by-order" not in caught.value.hint


def test_what_stands_on_one_side_alone_is_stated() -> None:
    dataset = labels(NAMES)
    columns = {name: SCORES[:5, column] for column, name in enumerate(CLASSES)}
    (stated,) = audit.load_predictions({"id": NAMES[:5], **columns}, dataset).readings
    assert (stated.rows, stated.unit, stated.option) == (5, "instances", "--id")


def test_another_column_of_ids_decides_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    rows = zip(FROM_0, NAMES, GIVEN, strict=True)
    path.write_text("id,image,label\n" + "".join(f"{','.join(row)}\n" for row in rows))
    (stated,) = predictions(None, audit.load_labels(path, TREE)).readings
    assert stated.option == "--id"
    with pytest.raises(InputError, match="is not certain"):
        predictions(None, audit.load_labels(path, TREE, id="image"))


@pytest.mark.parametrize("answers", [{"prediction": ["dog", "cat"]}, {"dog": [0.9, 0.2]}])
def test_an_id_of_several_columns_is_that_of_predictions_too(
    answers: dict[str, list[str]], tmp_path: Path
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("eid,ins,label\n1,0,dog\n1,1,cat\n")
    dataset = audit.load_labels(path, TREE, id=("eid", "ins"), label="label")
    found = audit.load_predictions({"ins": [1, 0], "eid": [1, 1], **answers}, dataset)
    assert found.instances == tuple(dataset.instances["instance"])
    assert found.hierarchy.nodes[found.scores.toarray()[1].argmax()] == "dog"
