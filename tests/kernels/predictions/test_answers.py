"""What scores are: one answer of each row, or any number, however exactly they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import audit
from audit.base.errors import AuditError, InputError, SchemaError
from audit.base.readings import AskedError
from audit.base.settings import Transform
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions, map_predictions
from audit.data.raw_predictions import COARSE, MOST_TOLERANCE, RawPredictions, stored
from fixtures.examples import examples

CLASSES = tuple(f"leaf{number:02}" for number in range(40))
TREE = {leaf: f"branch{number % 4}" for number, leaf in enumerate(CLASSES)}
ROUNDED = {
    "float32": lambda p: p.astype(np.float32).astype(np.float64),
    "float16": lambda p: p.astype(np.float16).astype(np.float64),
    "float16 written down": lambda p: np.vectorize(lambda one: float(str(one)))(p.astype("f2")),
    "bfloat16": lambda p: (
        ((p.astype("f4").view("u4") + 0x8000) & 0xFFFF0000).view("f4").astype("f8")
    ),
    "5 decimals": lambda p: np.round(p, 5),
    "4 decimals": lambda p: np.round(p, 4),
    "3 decimals": lambda p: np.round(p, 3),
}


def softmax(seed: int, rows: int = 60, classes: int = 40) -> NDArray[np.float64]:
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), rows)


def labelled(rows: int, classes: tuple[str, ...] = CLASSES, each: int = 1) -> LabelDataset:
    labels = [[classes[(row + k) % len(classes)] for k in range(each)] for row in range(rows)]
    return audit.load_labels(labels, TREE)


def read(
    scores: NDArray[Any],
    dataset: LabelDataset | None = None,
    classes: tuple[str, ...] = CLASSES,
    *,
    listed: bool = False,
    transform: Transform | None = None,
    single_label: bool | None = None,
) -> Predictions:
    rows = tuple(map(str, range(len(scores))))
    numbers = csr_array(scores) if listed else stored(scores)
    raw = RawPredictions(rows, classes, numbers, False, (), numbered=True)
    dataset = labelled(len(scores)) if dataset is None else dataset
    return map_predictions(
        raw, dataset, transform=transform, single_label=single_label, by_order=True
    )


@pytest.mark.parametrize("name", ROUNDED)
@given(seed=st.integers(0, 2**16))
@examples(10)
def test_rounding_changes_neither_what_scores_are_nor_answers_beyond_ties(
    name: str, seed: int
) -> None:
    exact = softmax(seed)
    rounded = ROUNDED[name](exact)
    found = read(rounded)
    apart = np.abs(rounded.sum(axis=1) - 1).max()
    assert found.single_label
    assert apart <= MOST_TOLERANCE
    assert [reading.option for reading in found.readings] == ["--multi-label"] * bool(apart > 1e-4)
    exact, rounded = (one[[*map(int, found.instances)]] for one in (exact, rounded))
    two = -np.sort(-exact, axis=1)[:, :2]
    clear = two[:, 0] - two[:, 1] > 2 * np.abs(rounded - exact).max()
    answers = found.scores.toarray()[:, [found.hierarchy.index(leaf) for leaf in CLASSES]]
    assert (answers.argmax(axis=1) == exact.argmax(axis=1))[clear].all()


def test_the_option_of_a_rounded_softmax_gives_any_number_of_answers() -> None:
    scores = ROUNDED["float16"](softmax(7))
    (stated,) = read(scores).readings
    assert (stated.rows, stated.option) == (60, "--multi-label")
    other = read(scores, single_label=False)
    assert (other.single_label, other.readings) == (False, ())


def test_a_rounding_that_explains_almost_anything_is_asked() -> None:
    scores = np.round(softmax(7), 2)
    assert MOST_TOLERANCE < np.abs(scores.sum(axis=1) - 1).max() < COARSE
    with pytest.raises(InputError, match="one answer") as caught:
        read(scores)
    assert {"--single-label", "--multi-label"} <= set(caught.value.hint.split())
    assert [read(scores, single_label=said).single_label for said in (True, False)] == [True, False]


@pytest.mark.parametrize("listed", [False, True])
def test_few_scores_that_sum_to_far_more_than_one_are_not_asked_about(listed: bool) -> None:
    """No rounding makes two of one."""
    scores = np.zeros((60, 40))
    scores[:, :3] = [0.9, 0.9, 0.7]
    assert not read(scores, listed=listed).single_label


def test_two_decimals_of_few_classes_sum_to_one() -> None:
    scores = np.round(softmax(3, classes=4), 2)
    assert read(scores, classes=CLASSES[:4]).single_label


@pytest.mark.parametrize("listed", [False, True])
def test_a_class_without_a_node_is_part_of_the_sum(listed: bool) -> None:
    scores = softmax(5, classes=41)
    found = read(scores, classes=(*CLASSES, "background"), listed=listed)
    none = scores[:, 40] == scores.max(axis=1)
    (stated,) = found.readings
    assert (found.single_label, none.any()) == (True, True)
    assert (stated.rows, stated.unit) == (none.sum(), "instances")
    empty = np.diff(found.scores.indptr) == 0
    assert empty.tolist() == none[[*map(int, found.instances)]].tolist()
    model = audit.run_audit(labelled(60), predictions=found).model
    assert model is not None


def test_a_column_that_is_no_class_has_no_part_in_the_sum() -> None:
    scores = softmax(5)
    beside = np.column_stack([scores, scores.max(axis=1)])
    found = read(beside, classes=(*CLASSES, "confidence"))
    assert (found.single_label, found.readings) == (True, ())
    assert (np.diff(found.scores.indptr) > 0).all()


def test_rows_of_one_score_have_one_answer_and_rows_cut_at_k_are_asked() -> None:
    scores = softmax(2)
    best, five = (
        np.where(scores >= -np.sort(-scores, axis=1)[:, k : k + 1], scores, 0) for k in (0, 4)
    )
    found = read(best, listed=True)
    (stated,) = found.readings
    assert (found.single_label, stated.option, stated.rows) == (True, "--multi-label", 60)
    assert not read(best, listed=True, single_label=False).single_label
    with pytest.raises(AskedError) as caught:
        read(five, listed=True)
    assert caught.value.options == {"single_label": True}
    assert read(five, listed=True, single_label=True).single_label
    assert not read(five, labelled(60, each=2), listed=True).single_label


def test_several_answers_are_stated_where_scores_leave_it_open() -> None:
    several = np.random.default_rng(0).random((60, 40))
    (of_one_label,) = read(several).readings
    (below_one,) = read(several / 41, labelled(60, each=2)).readings
    for stated in (of_one_label, below_one):
        assert (stated.rows, stated.option) == (60, "--single-label")
    assert read(several, single_label=True).single_label
    assert read(several, labelled(60, each=2)).readings == ()


@pytest.mark.parametrize("transform", ["softmax", "sigmoid"])
@pytest.mark.parametrize("scores", [softmax(1), np.random.default_rng(1).random((60, 40))])
def test_scores_are_not_transformed_again(
    scores: NDArray[np.float64], transform: Transform
) -> None:
    with pytest.raises(SchemaError, match=f"--{transform} needs numbers that are no scores yet"):
        read(scores, transform=transform)


def test_per_cent_are_refused_with_what_to_do() -> None:
    several = 100 * np.random.default_rng(0).random((60, 40))
    with pytest.raises(AuditError, match="per cent must be divided by 100"):
        read(several)
    with pytest.raises(AuditError) as caught:
        read(several - 50)
    assert "per cent" not in caught.value.hint
