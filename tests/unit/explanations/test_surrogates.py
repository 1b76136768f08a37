"""How Partition SHAP halves texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import leaves_list

from audit.explanations.attribution.methods import halving_tree, partition_shap_scores


@given(st.integers(2, 300))
def test_a_tree_of_all_tokens_in_their_order(tokens: int) -> None:
    tree = halving_tree(tokens)

    assert leaves_list(tree).tolist() == list(range(tokens))
    assert tree[-1, 3] == tokens


@given(st.integers(2, 300))
def test_halves_differ_by_one_token_at_most(tokens: int) -> None:
    tree = halving_tree(tokens)
    sizes = np.concatenate([np.ones(tokens), tree[:, 3]])
    left, right = sizes[tree[:, 0].astype(int)], sizes[tree[:, 1].astype(int)]

    assert np.abs(left - right).max() <= 1
    assert (left + right == tree[:, 3]).all()


@pytest.mark.slow
def test_where_evaluations_end_a_part_shares_its_value_and_the_seed_decides_which() -> None:
    pytest.importorskip("shap")
    worth = np.array([2.0, 0.0, 0.0, 2.0])

    def scores(seed: int, evaluations: int) -> tuple[float, ...]:
        np.random.random()  # the state of the global generator does not matter
        return tuple(partition_shap_scores(lambda kept: kept @ worth, 4, seed, evaluations))

    assert scores(0, 500) == tuple(worth)
    assert scores(0, 2) == (1, 1, 1, 1)
    cut = {scores(seed, 6) for seed in range(12)}
    assert len(cut) > 1
    assert all(sum(one) == 4 for one in cut)
    assert all(scores(seed, 6) == scores(seed, 6) for seed in range(12))
