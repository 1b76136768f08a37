"""Scores of tokens by LIME and by Partition SHAP, from outputs of masked texts."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

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
    whole = torch.ones(1, tokens, dtype=torch.float64)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        scores = method.attribute(
            whole, baselines=0 * whole, n_samples=MASKS, perturbations_per_eval=MASKS
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
    tree: list[tuple[int, int, int, int]] = []
    _halve(tree, 0, tokens, tokens)

    class Masker(SimpleNamespace):
        def __call__(self, mask: BoolArray, _: object) -> tuple[BoolArray, ...]:
            return (mask[None, :],)

    masker: Any = Masker(shape=(1, tokens), clustering=np.array(tree, np.float64))
    state = np.random.get_state()  # shap draws from NumPy's global generator
    try:
        np.random.seed(seed % 2**32)
        explainer = shap.PartitionExplainer(outputs, masker)
        told = explainer(np.ones((1, tokens)), max_evals=MASKS, batch_size=MASKS, silent=True)
    finally:
        np.random.set_state(state)
    return np.asarray(told.values[0], np.float64)


def _halve(tree: list[tuple[int, int, int, int]], start: int, stop: int, tokens: int) -> int:
    """Add the halves of a part to a tree as `scipy.cluster.hierarchy` writes it; the part's row."""
    if stop - start == 1:
        return start
    middle = (start + stop) // 2
    halves = _halve(tree, start, middle, tokens), _halve(tree, middle, stop, tokens)
    tree.append((*halves, stop - start, stop - start))
    return tokens + len(tree) - 1
