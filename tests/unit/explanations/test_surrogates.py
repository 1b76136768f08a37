"""The tree that Partition SHAP halves texts by."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import leaves_list

from audit.explanations.attribution.surrogates import halving_tree


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
