"""Joint counts by products, against counting in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.engine.pairs import joint
from audit.engine.pairs.joint import joint_counts

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


@given(records=RECORDS)
def test_each_pair_of_an_instance_is_counted_once(records: list[set[int]]) -> None:
    counts = joint_counts(carried(records))

    assert as_counter(counts) == Counter(
        pair for nodes in records for pair in combinations(sorted(nodes), 2)
    )


@pytest.mark.parametrize("width", [1, 2, 100])
def test_the_width_of_a_block_does_not_matter(width: int) -> None:
    records = [set(range(start, 40, step)) for start in range(5) for step in (1, 3, 7)]
    whole = joint_counts(carried(records, 40))
    with patch.object(joint, "NODES_PER_BLOCK", width):
        parted = joint_counts(carried(records, 40))

    assert as_counter(parted) == as_counter(whole)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 4)])
def test_nothing_carried_is_no_pair(shape: tuple[int, int]) -> None:
    counts = joint_counts(csr_array(shape, dtype=np.int64))

    assert counts.nnz == 0
    assert counts.shape == (shape[1], shape[1])
