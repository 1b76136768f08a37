"""Laws of what is counted of scores: two ways, one number, whatever the order."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.engine.pairs.pair_counts import PairCounts, count_pairs
from audit.engine.scores import score_pairs
from audit.engine.scores.score_pairs import count_score_pairs
from fixtures import brute_force_scores as brute
from fixtures.examples import examples

Table: TypeAlias = NDArray[np.float64]
THRESHOLD = 1e-5


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


def counted_at(cost: float, table: Table) -> PairCounts:
    """Counted as if a gathered pair cost so many of a dense block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_pairs, "SPARSE_COST", cost)
        return count_score_pairs(csr_array(table), THRESHOLD)


def same_sums(
    found: dict[tuple[int, int], float], expected: dict[tuple[int, int], float], n: int
) -> bool:
    return found.keys() == expected.keys() and all(
        abs(found[pair] - expected[pair]) <= 1e-12 * n for pair in expected
    )


@pytest.mark.parametrize("cost", [math.inf, 0.0], ids=["dense blocks", "gathering"])
@given(table=tables())
def test_each_way_of_counting_equals_plain_python(cost: float, table: Table) -> None:
    found, rows = counted_at(cost, table), table.tolist()

    assert by_pair(found, "joint") == brute.joints(rows, THRESHOLD)
    expected = brute.confusion_sums(rows, THRESHOLD)
    assert same_sums(by_pair(found, "confusion_sum"), expected, len(rows))


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@given(table=tables())
def test_pytorch_equals_numpy(table: Table) -> None:
    tensors, plain = (
        count_score_pairs(csr_array(table), THRESHOLD, device=device) for device in ("cpu", None)
    )

    assert by_pair(tensors, "joint") == by_pair(plain, "joint")
    sums = by_pair(plain, "confusion_sum")
    assert same_sums(by_pair(tensors, "confusion_sum"), sums, len(table))


@given(tables())
def test_on_zeros_and_ones_confusion_is_the_joint_count_and_labels_count_the_same(
    table: Table,
) -> None:
    ones = (table >= THRESHOLD).astype(np.int64)
    found, labels = count_score_pairs(csr_array(ones * 1.0), 0.5), count_pairs(csr_array(ones))

    assert by_pair(found, "joint") == by_pair(labels, "joint")
    assert found.confusion_sum == pytest.approx(found.joint, abs=1e-12 * len(table))
    assert found.confusion_sum == pytest.approx(labels.confusion_sum, abs=1e-12 * len(table))


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_instances_changes_nothing(table: Table, random: object) -> None:
    order = list(range(len(table)))
    random.shuffle(order)  # type: ignore[attr-defined]
    found = count_score_pairs(csr_array(table), THRESHOLD)
    other = count_score_pairs(csr_array(table[order]), THRESHOLD)

    assert by_pair(found, "joint") == by_pair(other, "joint")
    assert other.confusion_sum == pytest.approx(found.confusion_sum, abs=1e-12 * len(table))


@given(tables(), st.data())
def test_another_order_of_nodes_moves_the_pairs_and_their_numbers(
    table: Table, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(table.shape[1])))
    found = count_score_pairs(csr_array(table[:, order]), THRESHOLD)
    moved = {
        (min(order[a], order[b]), max(order[a], order[b])): (joint, total)
        for a, b, joint, total in zip(
            found.a, found.b, found.joint, found.confusion_sum, strict=True
        )
    }
    before = count_score_pairs(csr_array(table), THRESHOLD)

    assert {pair: joint for pair, (joint, _) in moved.items()} == by_pair(before, "joint")
    sums = {pair: float(total) for pair, (_, total) in moved.items()}
    assert same_sums(sums, by_pair(before, "confusion_sum"), len(table))


@examples(25)
@given(tables(), tables())
def test_instances_of_two_lots_add_up(first: Table, second: Table) -> None:
    width = min(first.shape[1], second.shape[1])
    parts = [first[:, :width], second[:, :width]]
    whole = by_pair(count_score_pairs(csr_array(np.vstack(parts)), THRESHOLD), "joint")
    counted = [by_pair(count_score_pairs(csr_array(part), THRESHOLD), "joint") for part in parts]

    pairs = counted[0].keys() | counted[1].keys()
    assert whole == {pair: sum(part.get(pair, 0) for part in counted) for pair in pairs}
