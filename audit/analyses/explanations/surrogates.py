"""Scores of tokens by LIME and by Partition SHAP, from outputs of masked texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import BoolArray, FloatArray

MASKS = 500
"""Masked texts that LIME fits its line to, and that Partition SHAP may look at."""
KERNEL_WIDTH = 0.25
"""Width of LIME's kernel over the cosine distance of masks, as its authors have it for texts."""
RIDGE = 1.0
"""Penalty of the squared coefficients of LIME's line, as its authors have it."""
OfMasks: TypeAlias = Callable[[BoolArray], FloatArray]
"""Outputs for masks over the open tokens of a text, shape (masks, open tokens)."""


def lime(outputs: OfMasks, tokens: int, seed: int) -> FloatArray:
    """The coefficients of a line fitted to the outputs of randomly masked texts.

    "Why Should I Trust You?" (Ribeiro, Singh and Guestrin): each token is kept with probability
    1/2, a mask weighs exp(-d^2 / (2 w^2)) with d its cosine distance from the whole text and w
    `KERNEL_WIDTH`, and the line is fitted by ridge regression.
    """
    import torch
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr import Lime
    from captum.attr._core.lime import get_exp_kernel_similarity_function

    method = Lime(
        lambda masks: torch.from_numpy(outputs(masks.numpy().astype(bool))),
        interpretable_model=SkLearnRidge(alpha=RIDGE),
        similarity_func=get_exp_kernel_similarity_function("cosine", KERNEL_WIDTH),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        scores = method.attribute(
            torch.ones(1, tokens, dtype=torch.float64),
            baselines=torch.zeros(1, tokens, dtype=torch.float64),
            n_samples=MASKS,
            perturbations_per_eval=MASKS,
        )
    return np.asarray(scores[0].numpy(), np.float64)


def partition_shap(outputs: OfMasks, tokens: int, seed: int) -> FloatArray:
    """Owen values over a tree that halves the text, which sum to the output less the baseline's.

    Where the masks are spent before single tokens are reached, a part shares its value equally.
    """
    import shap

    if tokens == 1:
        away, whole = outputs(np.array([[False], [True]]))
        return np.array([whole - away])
    explainer = shap.PartitionExplainer(outputs, _Masks(tokens))
    state = np.random.get_state()  # shap draws from NumPy's global generator
    try:
        np.random.seed(seed % 2**32)
        told = explainer(np.ones((1, tokens)), max_evals=MASKS, batch_size=MASKS, silent=True)
    finally:
        np.random.set_state(state)
    return np.asarray(told.values[0], np.float64)


class _Masks:
    """What shap calls a masker: gives each mask itself."""

    def __init__(self, tokens: int) -> None:
        self.shape = (1, tokens)
        self.clustering = _halving_tree(tokens)

    def __call__(self, mask: NDArray[np.bool_], _: object) -> tuple[NDArray[np.bool_], ...]:
        return (mask[None, :],)


def _halving_tree(tokens: int) -> FloatArray:
    """A tree that halves a text down to its tokens, as `scipy.cluster.hierarchy` writes trees.

    >>> _halving_tree(3)
    array([[1., 2., 2., 2.],
           [0., 3., 3., 3.]])
    """
    rows: list[tuple[int, int, int, int]] = []

    def part(start: int, stop: int) -> int:
        if stop - start == 1:
            return start
        middle = (start + stop) // 2
        rows.append((part(start, middle), part(middle, stop), stop - start, stop - start))
        return tokens + len(rows) - 1

    part(0, tokens)
    return np.array(rows, np.float64)
