"""Joint counts, by products and by compiled loops, against counting in plain Python."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.engine.pairs import joint
from audit.engine.pairs.joint import increments, joint_counts

WAYS = [
    False,
    pytest.param(
        True, marks=pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
    ),
]
RECORDS = st.lists(st.sets(st.integers(0, 8)), max_size=12)


def carried(records: list[set[int]], n_nodes: int = 9) -> csr_array:
    rows = [row for row, nodes in enumerate(records) for _ in nodes]
    columns = [node for nodes in records for node in sorted(nodes)]
    shape = (len(records), n_nodes)
    return csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)


def as_counter(counts: csr_array) -> Counter[tuple[int, int]]:
    found = counts.tocoo()
    ends = zip(found.row.tolist(), found.col.tolist(), strict=True)
    return Counter(dict(zip(ends, found.data.tolist(), strict=True)))


@pytest.mark.parametrize("compiled", WAYS)
@given(records=RECORDS)
def test_each_pair_of_an_instance_is_counted_once(compiled: bool, records: list[set[int]]) -> None:
    counts = joint_counts(carried(records), compiled=compiled)

    assert as_counter(counts) == Counter(
        pair for nodes in records for pair in combinations(sorted(nodes), 2)
    )
    assert counts.data.sum() == increments(carried(records))


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("width", [1, 2, 100])
def test_the_width_of_a_block_does_not_matter(compiled: bool, width: int) -> None:
    records = [set(range(start, 40, step)) for start in range(5) for step in (1, 3, 7)]
    whole = joint_counts(carried(records, 40), compiled=compiled)
    with patch.multiple(joint, NODES_PER_BLOCK=width, NODES_PER_THREAD=width):
        parted = joint_counts(carried(records, 40), compiled=compiled)

    assert as_counter(parted) == as_counter(whole)


@pytest.mark.parametrize("compiled", WAYS)
def test_both_ways_give_the_same_arrays(compiled: bool) -> None:
    chance = np.random.default_rng(3)
    dense = chance.random((300, 150)) < chance.random(150) ** 3
    one, other = csr_array(dense), joint_counts(csr_array(dense), compiled=compiled)
    reference = joint_counts(one, compiled=False)

    for name in ("data", "indices", "indptr"):
        assert getattr(other, name).dtype == getattr(reference, name).dtype, name
        assert np.array_equal(getattr(other, name), getattr(reference, name)), name


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 4)])
def test_nothing_carried_is_no_pair(compiled: bool, shape: tuple[int, int]) -> None:
    counts = joint_counts(csr_array(shape, dtype=np.int64), compiled=compiled)

    assert counts.nnz == 0
    assert counts.shape == (shape[1], shape[1])


def test_compiled_loops_count_where_numba_is_there_and_the_work_is_large() -> None:
    small = carried([{0, 1, 2}])
    with (
        patch.object(joint, "can_compile", return_value=True),
        patch.object(joint, "_by_loops", side_effect=joint._by_products) as loops,
    ):
        joint_counts(small)
        assert not loops.called
        with patch.object(joint, "WORTH_COMPILING", 3):
            joint_counts(small)
        assert loops.called


def test_without_numba_products_count() -> None:
    with (
        patch.object(joint, "can_compile", return_value=False),
        patch.object(joint, "WORTH_COMPILING", 0),
        patch.object(joint, "_by_loops", side_effect=AssertionError),
    ):
        assert as_counter(joint_counts(carried([{0, 1}]))) == Counter({(0, 1): 1})
