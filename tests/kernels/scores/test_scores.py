"""Pairs of scores, rankings by scikit-learn, and fits without a diagonal, beside plain Python."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score

from audit.base.errors import InputError
from audit.engine.pairs.pair_counts import PairCounts, count_pairs
from audit.engine.scores import score_pairs
from audit.engine.scores.exchanges import MOST_STEPS, TOLERANCE, fitted
from audit.engine.scores.score_pairs import count_score_pairs, require_device
from audit.engine.scores.two_classes import aps, aps_trapezoid, average_precision, curve, roc_auc
from fixtures import brute_force_scores as brute

Table: TypeAlias = NDArray[np.float64]
THRESHOLD = 1e-5
COSTS = {"dense blocks": math.inf, "gathering": 0.0}
"""Costs of a gathered pair at which every count is made in one of the two ways."""
TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


def has_cuda() -> bool:
    if find_spec("torch") is None or not Path("/dev/nvidiactl").exists():
        return False
    import torch

    return torch.cuda.is_available()


CUDA = pytest.mark.skipif(not has_cuda(), reason="no CUDA device is here")
DEVICES = [None, pytest.param("cpu", marks=TORCH), pytest.param("cuda", marks=CUDA)]
SOME = np.random.default_rng(8).dirichlet(np.full(40, 0.3), 300)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Scores with zeros, scores at the threshold and just below it, and aggregates above one."""
    n, width = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    odd = st.sampled_from([0.0, 0.0, THRESHOLD, float(np.nextafter(THRESHOLD, 0)), 0.5, 1.0, 2.5])
    value = odd | st.floats(0, 1, allow_subnormal=False)
    row = st.lists(value, min_size=width, max_size=width)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)), np.float64)


def by_pair(counts: PairCounts, column: str) -> dict[tuple[int, int], float]:
    pairs = zip(counts.a.tolist(), counts.b.tolist(), strict=True)
    return dict(zip(pairs, getattr(counts, column).tolist(), strict=True))


def same(found: PairCounts, expected: PairCounts, n: int) -> bool:
    sums, wanted = (by_pair(one, "confusion_sum") for one in (found, expected))
    joints = [by_pair(one, "joint") for one in (found, expected)]
    return joints[0] == joints[1] and all(abs(sums[p] - wanted[p]) <= 1e-12 * n for p in wanted)


@pytest.fixture(params=COSTS)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every count made in one of the two ways."""
    monkeypatch.setattr(score_pairs, "SPARSE_COST", COSTS[request.param])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
@given(table=tables())
def test_each_way_of_counting_equals_plain_python(
    cost: float, device: str | None, table: Table
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_pairs, "SPARSE_COST", cost)
        found = count_score_pairs(csr_array(table), THRESHOLD, device=device)
    sums = by_pair(found, "confusion_sum")
    expected = brute.confusion_sums(table.tolist(), THRESHOLD)
    assert by_pair(found, "joint") == brute.joints(table.tolist(), THRESHOLD)
    assert sums.keys() == expected.keys()
    assert all(abs(sums[pair] - expected[pair]) <= 1e-12 * len(table) for pair in expected)


@given(tables())
def test_zeros_and_ones_are_counted_as_labels_are(table: Table) -> None:
    ones = (table >= THRESHOLD).astype(np.int64)
    found, labels = count_score_pairs(csr_array(ones * 1.0), 0.5), count_pairs(csr_array(ones))
    assert same(found, labels, len(table))


@pytest.mark.parametrize("device", DEVICES)
def test_without_scores_there_are_no_pairs(device: str | None) -> None:
    for shape in [(0, 4), (3, 4), (0, 1), (3, 1)]:
        found = count_score_pairs(csr_array(shape, dtype=np.float64), THRESHOLD, device=device)
        assert len(found.a) == len(found.confusion_sum) == 0
        assert found.joint.dtype == np.int64


@pytest.mark.usefixtures("kernel")
def test_confusion_of_nearly_equal_scores_never_exceeds_the_joint_count() -> None:
    for exponent in range(1, 54, 4):
        scores = np.array([[value, value * (1 + 2.0**-exponent)] for value in (0.1, 0.3, 1e-5)])
        found = count_score_pairs(csr_array(scores), THRESHOLD)
        assert (found.confusion_sum <= found.joint).all()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("device", DEVICES)
def test_many_instances_of_one_size_neither_vanish_nor_overflow(device: str | None) -> None:
    for size in [1e-5, 1.0, 300.0]:
        scores = csr_array(np.array([[size, 3 * size]] * 900))
        bits = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
        found = count_score_pairs(scores, THRESHOLD, device=device)
        assert found.confusion_sum.tolist() == pytest.approx([900 * bits], rel=1e-12)


@pytest.mark.parametrize("at_once", [1, 3, 1_000])
def test_gathering_some_nodes_at_a_time_changes_no_bit(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_pairs, "SPARSE_COST", 0.0)
    whole = count_score_pairs(csr_array(SOME), 1e-3)
    monkeypatch.setattr(score_pairs, "PAIRS_PER_BLOCK", at_once)
    parts = count_score_pairs(csr_array(SOME), 1e-3)
    assert by_pair(parts, "joint") == by_pair(whole, "joint")
    assert parts.confusion_sum.tobytes() == whole.confusion_sum.tobytes()


@TORCH
@pytest.mark.parametrize("most", [1, 100, 10_000])
def test_the_size_of_a_block_of_tensors_does_not_matter(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(score_pairs.SCORES_PER_BLOCK, "cpu", most)
    scores = csr_array(SOME[:50])
    found = count_score_pairs(scores, THRESHOLD, device="cpu")
    assert same(found, count_score_pairs(scores, THRESHOLD), 50)


@pytest.mark.usefixtures("kernel")
def test_any_number_of_threads_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for threads in (1, 2, 5):
        monkeypatch.setattr(score_pairs, "cores", lambda n=threads: n)
        found.add(count_score_pairs(csr_array(SOME), THRESHOLD).confusion_sum.tobytes())
    assert len(found) == 1


def test_a_device_that_is_none_or_not_here_is_refused() -> None:
    with pytest.raises(InputError):
        require_device("gpu")
    for device in ("cpu", "cuda"):
        if find_spec("torch") is None or (device == "cuda" and not has_cuda()):
            with pytest.raises(InputError):
                require_device(device)


@TORCH
def test_sums_that_do_not_fit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(score_pairs, "_add_entropies", full)
    with pytest.raises(InputError):
        count_score_pairs(csr_array(SOME), THRESHOLD, device="cpu")


EXAMPLES = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40).filter(
    lambda rows: len({truth for truth, _ in rows}) == 2
)


MEASURES = (
    roc_auc,
    *(
        lambda positive, negative, measure=measure: measure(*curve(positive, negative))
        for measure in (average_precision, aps, aps_trapezoid)
    ),
)


def by_score(rows):
    truth, score = (np.array(column) for column in zip(*rows, strict=True))
    levels, place = np.unique(-score, return_inverse=True)
    counts = [np.bincount(place[of], minlength=len(levels)).astype(float) for of in (truth, ~truth)]
    return truth, score, counts


@given(EXAMPLES)
def test_auc_and_average_precision_are_those_of_scikit_learn(rows):
    truth, score, counts = by_score(rows)
    assert float(roc_auc(*counts)) == pytest.approx(roc_auc_score(truth, score), abs=1e-12)
    expected = average_precision_score(truth, score)
    assert float(average_precision(*curve(*counts))) == pytest.approx(expected, abs=1e-12)


@given(EXAMPLES)
def test_aps_is_the_sum_over_points_of_the_curve_above_one_half(rows):
    truth, score, counts = by_score(rows)
    precision, recall, _ = precision_recall_curve(truth, score)
    kept = precision > 0.5
    expected = -np.sum(np.diff(recall[kept]) * precision[kept][:-1])
    assert float(aps(*curve(*counts))) == pytest.approx(expected, abs=1e-12)


@given(EXAMPLES)
def test_aps_by_trapezoids_is_the_area_over_points_from_one_half(rows):
    truth, score, counts = by_score(rows)
    precision, recall, _ = precision_recall_curve(truth, score)
    kept = precision[:-1] >= 0.5
    points = recall[:-1][kept], precision[:-1][kept]
    expected = auc(*points) if kept.sum() > 1 else 0.0
    assert float(aps_trapezoid(*curve(*counts))) == pytest.approx(expected, abs=1e-12)


def test_the_three_average_precisions_of_one_ranking():
    truth = [1, 0, 1, 0, 0, 1, 0, 0]
    _, _, counts = by_score([(bool(y), -place) for place, y in enumerate(truth)])
    assert round(float(average_precision(*curve(*counts))), 5) == 0.72222
    assert round(float(aps(*curve(*counts))), 5) == 0.55556
    assert round(float(aps_trapezoid(*curve(*counts))), 5) == 0.36111


@given(EXAMPLES)
def test_replicates_are_measured_as_each_alone(rows):
    _, _, counts = by_score(rows)
    several = [np.stack([of, 2 * of, np.zeros_like(of)], axis=1) for of in counts]
    for measure in MEASURES:
        alone = float(measure(*counts))
        np.testing.assert_allclose(measure(*several), [alone, alone, np.nan], atol=1e-12)


@given(EXAMPLES, st.lists(st.integers(0, 2), min_size=40, max_size=40))
def test_a_weight_is_a_number_of_copies(rows, times):
    copied = [row for row, many in zip(rows, times, strict=False) for _ in range(many)]
    if len({truth for truth, _ in copied}) < 2:
        return
    truth, score, _ = by_score(rows)
    levels, place = np.unique(-score, return_inverse=True)
    weight = np.array(times[: len(rows)], float)
    weighted = [np.bincount(place, weight * of, minlength=len(levels)) for of in (truth, ~truth)]
    _, _, counts = by_score(copied)
    for measure in MEASURES:
        assert float(measure(*weighted)) == pytest.approx(float(measure(*counts)), abs=1e-12)


def test_one_class_ranks_nothing():
    none, some = np.zeros(3), np.array([1.0, 0.0, 2.0])
    assert np.isnan(roc_auc(some, none))
    assert np.isnan(roc_auc(none, some))
    assert all(np.isnan(measure(none, some)) for measure in MEASURES)


Counts = NDArray[np.float64]


def table(rows: Counts, columns: Counts) -> Counts:
    """What the terms say of every cell."""
    x, y = fitted(rows, columns)
    expected: Counts = np.einsum("ti,tj->ij", x, y)
    np.fill_diagonal(expected, 0.0)
    return expected


def dense_fit(rows: Counts, columns: Counts, steps: int = 3_000) -> Counts:
    """Ones without a diagonal, scaled to the rows and to the columns in turn."""
    cells = np.ones((len(rows), len(rows))) - np.eye(len(rows))
    for _ in range(steps):
        for axis, margin in ((1, rows), (0, columns)):
            sums = cells.sum(axis, keepdims=True)
            wanted = margin.reshape(sums.shape)
            cells = cells * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    return cells


@st.composite
def mistaken(draw: st.DrawFn) -> Counts:
    """A table of mistakes: square, of small counts, its diagonal empty."""
    n = draw(st.integers(2, 6))
    cells = draw(st.lists(st.integers(0, 9), min_size=n * n, max_size=n * n))
    counts: Counts = np.array(cells, np.float64).reshape(n, n)
    np.fill_diagonal(counts, 0.0)
    return counts


@given(mistaken())
def test_both_margins_are_kept(counts: Counts) -> None:
    rows, columns = counts.sum(1), counts.sum(0)
    expected = table(rows, columns)
    slack = 10 * TOLERANCE * max(counts.sum(), 1)

    assert np.allclose(expected.sum(1), rows, rtol=0, atol=slack)
    assert np.allclose(expected.sum(0), columns, rtol=0, atol=slack)
    assert (expected >= 0).all()


@given(mistaken())
def test_it_is_where_the_dense_fit_goes(counts: Counts) -> None:
    rows, columns = counts.sum(1), counts.sum(0)

    assert table(rows, columns) == pytest.approx(dense_fit(rows, columns), abs=0.01)


@given(mistaken())
def test_no_cell_that_is_needed_is_empty(counts: Counts) -> None:
    expected = table(counts.sum(1), counts.sum(0))

    assert (expected[counts > 0] > 0).all()


@given(mistaken())
def test_up_to_three_labels_have_what_they_have(counts: Counts) -> None:
    counts = counts[:3, :3]
    expected = table(counts.sum(1), counts.sum(0))

    assert expected + expected.T == pytest.approx(counts + counts.T, abs=1e-5)


def test_a_label_in_every_mistake_leaves_the_others_their_margins() -> None:
    rows, columns = np.array([7.0, 2.0, 3.0, 0.0]), np.array([5.0, 4.0, 1.0, 2.0])

    assert table(rows, columns).tolist() == [[0, 4, 1, 2], [2, 0, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0]]


def test_nothing_gives_no_term() -> None:
    x, y = fitted(np.zeros(3), np.zeros(3))

    assert x.shape == y.shape == (0, 3)


def test_where_it_ends_before_it_is_there_little_is_left() -> None:
    """All of 20,002 mistakes but two are on one label: the hardest that is no case of its own."""
    rows, columns = np.full(21, 500.0), np.full(21, 500.0)
    rows[0] = columns[0] = 10_000
    rows[1], columns[2] = 501, 501
    expected = table(rows, columns)

    assert MOST_STEPS == 10_000
    assert np.abs(expected.sum(1) - rows).max() <= rows.sum() / 5_000
    assert expected.sum(0) == pytest.approx(columns)
