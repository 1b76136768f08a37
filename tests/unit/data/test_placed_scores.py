"""Scores of the columns that are read, at the nodes that they are for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.data.scores import placed_scores


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_each_column_is_at_its_node_and_the_others_are_left_out(form: type) -> None:
    scores = form(np.array([[0.5, 0.25, 0.75], [0.0, 1.0, 0.125]]))

    placed = placed_scores(scores, np.array([1, 0]), np.array([2, -1, 0]), 3)

    assert placed.toarray().tolist() == [[0.125, 0.0, 0.0], [0.75, 0.0, 0.5]]
    assert placed.nnz == 3
