"""Methods of attribution: gradients, occlusion, and LIME and Partition SHAP on masks of tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import FloatArray
from audit.base.machine import require_package
from audit.explanations.attribution.embedded_model import EmbeddedModel
from audit.explanations.attribution.rows import Batch

if TYPE_CHECKING:
    import torch


GRADIENT = "gradient"
GRADIENT_X_INPUT = "gradient_x_input"
INTEGRATED = "integrated_gradients"
INTEGRATED_PLAIN = "integrated_gradients_plain"
GRADIENTS = (GRADIENT, GRADIENT_X_INPUT, INTEGRATED, INTEGRATED_PLAIN)
"""Methods that take gradients."""

NODES = 64
"""Number of points on the path of integrated gradients."""


def gradient_scores(
    model: EmbeddedModel, batch: Batch, methods: Collection[str], nodes: int = NODES
) -> dict[str, torch.Tensor]:
    """Scores of all tokens by some methods of `GRADIENTS`, each of shape (rows, tokens).

    With x the vectors of a text, x0 its baseline and g a gradient by x, summed over the dimensions
    of the embedding: ``gradient`` is |g| at x; ``gradient_x_input`` is g * x at x;
    ``integrated_gradients_plain`` is the mean of g on the straight path from x0 to x, and
    ``integrated_gradients`` that mean times (x - x0), after "Axiomatic Attribution for Deep
    Networks" (Sundararajan, Taly and Yan).
    """
    scores: dict[str, torch.Tensor] = {}
    if not {GRADIENT, GRADIENT_X_INPUT}.isdisjoint(methods):
        gradient = model.gradients(batch.token_ids, batch.vectors, batch.columns)
        scores[GRADIENT] = gradient.abs().sum(dim=2)
        scores[GRADIENT_X_INPUT] = (gradient * batch.vectors).sum(dim=2)
    if not {INTEGRATED, INTEGRATED_PLAIN}.isdisjoint(methods):
        mean = mean_gradient(model, batch, nodes)
        scores[INTEGRATED] = (mean * (batch.vectors - batch.baseline)).sum(dim=2)
        scores[INTEGRATED_PLAIN] = mean.sum(dim=2)
    return {method: scores[method] for method in methods if method in scores}


def mean_gradient(model: EmbeddedModel, batch: Batch, nodes: int = NODES) -> torch.Tensor:
    """The mean gradient on the path from the baseline to the text, of the vectors' shape.

    Gauss-Legendre quadrature, exact for gradients that are polynomials of degree 2 ``nodes`` - 1
    along the path.
    """
    import torch

    points, weights = np.polynomial.legendre.leggauss(nodes)
    shares = torch.from_numpy((points + 1) / 2).to(batch.vectors)
    weight = torch.from_numpy(weights / 2).to(batch.vectors)
    way = batch.vectors - batch.baseline
    at_a_time = max(model.tokens_per_pass // (len(batch) * batch.length), 1)
    mean = torch.zeros_like(way)
    for start in range(0, nodes, at_a_time):
        some = shares[start : start + at_a_time]
        path = batch.baseline + some[:, None, None, None] * way
        token_ids, columns = batch.copies(len(some))
        gradient = model.gradients(token_ids, path.flatten(0, 1), columns).view_as(path)
        mean += torch.einsum("p,prtd->rtd", weight[start : start + at_a_time], gradient)
    return mean


def outputs_of_kept(model: EmbeddedModel, batch: Batch, kept: torch.Tensor) -> torch.Tensor:
    """The output of each row with the tokens that each mask keeps.

    A token that is not kept has the padding's vector in its place, so that the others stay where
    they are; special tokens are always kept.

    Args:
        kept: Shape (masks, rows, tokens), true where a token is kept.

    Returns:
        Shape (masks, rows).
    """
    import torch

    at_a_time = max(model.tokens_per_pass // (len(batch) * batch.length), 1)
    results = []
    with torch.no_grad():
        for start in range(0, len(kept), at_a_time):
            some = kept[start : start + at_a_time]
            vectors = torch.where(some[..., None], batch.vectors, batch.baseline)
            token_ids, columns = batch.copies(len(some))
            outputs = model.outputs(token_ids, vectors.flatten(0, 1), columns)
            results.append(outputs.view(len(some), len(batch)))
    return torch.cat(results)


def ends(model: EmbeddedModel, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """The outputs on the whole texts and on their baselines, each of shape (rows,)."""
    import torch

    kept = torch.stack([torch.ones_like(batch.open), torch.zeros_like(batch.open)])
    whole, bare = outputs_of_kept(model, batch, kept)
    return whole, bare


def occlusion(model: EmbeddedModel, batch: Batch) -> torch.Tensor:
    """How far the output falls when one token is taken away, shape (rows, tokens).

    Special tokens have 0. "Visualizing and Understanding Convolutional Networks" (Zeiler and
    Fergus), for one token at a time.
    """
    import torch

    one_away = ~torch.eye(batch.length, dtype=torch.bool, device=batch.open.device)
    kept = one_away[:, None, :].expand(-1, len(batch), -1)
    whole = torch.ones_like(batch.open)[None]
    outputs = outputs_of_kept(model, batch, torch.cat([whole, kept]))
    return (outputs[0] - outputs[1:]).T


OfMasks: TypeAlias = Callable[[NDArray[np.bool_]], FloatArray]
"""Outputs of one row for masks over its open tokens, shape (masks, open tokens)."""

LIME = "lime"
PARTITION_SHAP = "partition_shap"
SURROGATES = (LIME, PARTITION_SHAP)
"""Methods that other packages compute."""

SAMPLES = 500
"""Number of masked texts that LIME fits its line to."""
EVALUATIONS = 500
"""Number of masked texts that Partition SHAP may look at before it stops halving the text."""
KERNEL_WIDTH = 0.25
"""Width of LIME's kernel over the cosine distance of masks, as its authors have it for texts."""
RIDGE = 1.0
"""Penalty of the squared coefficients of LIME's line, as its authors have it."""


def lime_scores(outputs: OfMasks, tokens: int, seed: int, samples: int = SAMPLES) -> FloatArray:
    """The coefficients of a line fitted to the outputs of randomly masked texts, shape (tokens,).

    "Why Should I Trust You?" (Ribeiro, Singh and Guestrin), computed by captum: each token is kept
    with probability 1/2, a mask weighs exp(-d^2 / (2 w^2)) with d its cosine distance from the
    whole text and w `KERNEL_WIDTH`, and the line is fitted by ridge regression.
    """
    require_package("captum", "to compute LIME")
    require_package("sklearn", "to compute LIME")
    import torch
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr import Lime
    from captum.attr._core.lime import get_exp_kernel_similarity_function

    def masked(masks: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(outputs(masks.numpy().astype(bool)))

    method = Lime(
        masked,
        interpretable_model=SkLearnRidge(alpha=RIDGE),
        similarity_func=get_exp_kernel_similarity_function("cosine", KERNEL_WIDTH),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        scores = method.attribute(
            torch.ones(1, tokens, dtype=torch.float64),
            baselines=torch.zeros(1, tokens, dtype=torch.float64),
            n_samples=samples,
            perturbations_per_eval=samples,
        )
    return np.asarray(scores[0].numpy(), dtype=np.float64)


def partition_shap_scores(
    outputs: OfMasks, tokens: int, seed: int, evaluations: int = EVALUATIONS
) -> FloatArray:
    """Owen values over a tree that halves the text, shape (tokens,), computed by shap.

    Their sum is the output on the whole text less that on the baseline. Where the evaluations are
    spent before single tokens are reached, a part of the text shares its value equally.
    """
    require_package("shap", "to compute Partition SHAP")
    import shap

    if tokens == 1:
        away, whole = outputs(np.array([[False], [True]]))
        return np.array([whole - away])
    explainer = shap.PartitionExplainer(outputs, _Masks(tokens))
    state = np.random.get_state()  # shap draws from NumPy's global generator
    try:
        np.random.seed(seed % 2**32)
        explained = explainer(
            np.ones((1, tokens)), max_evals=evaluations, batch_size=evaluations, silent=True
        )
    finally:
        np.random.set_state(state)
    return np.asarray(explained.values[0], dtype=np.float64)


class _Masks:
    """What shap calls a masker: gives each mask itself."""

    def __init__(self, tokens: int) -> None:
        self.shape = (1, tokens)
        self.clustering = halving_tree(tokens)

    def __call__(self, mask: NDArray[np.bool_], _: object) -> tuple[NDArray[np.bool_], ...]:
        return (mask[None, :],)


def halving_tree(tokens: int) -> FloatArray:
    """A tree that halves a text down to its tokens, as `scipy.cluster.hierarchy` writes trees.

    Each row is a part of the text, small parts first: its two halves (below ``tokens`` a token,
    from there on an earlier row), a distance, which is its number of tokens, and that number.

    >>> halving_tree(3)
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
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def surrogate_scores(
    model: EmbeddedModel,
    batch: Batch,
    method: str,
    keys: NDArray[np.uint64],
    *,
    samples: int = SAMPLES,
    evaluations: int = EVALUATIONS,
) -> torch.Tensor:
    """Scores by a method of `SURROGATES`, shape (rows, tokens); special tokens have 0.

    Args:
        keys: A seed per row, shape (rows,).
    """
    import torch

    scores = torch.zeros(batch.open.shape, dtype=torch.float64)
    for row, key in enumerate(keys):
        outputs, open_places = _outputs_of_row(model, batch, row), batch.open[row].cpu()
        tokens, seed = int(open_places.sum()), int(key >> np.uint64(1))
        values = (
            lime_scores(outputs, tokens, seed, samples)
            if method == LIME
            else partition_shap_scores(outputs, tokens, seed, evaluations)
        )
        scores[row, open_places] = torch.from_numpy(values)
    return scores


def _outputs_of_row(model: EmbeddedModel, batch: Batch, row: int) -> OfMasks:
    import torch

    single = batch.row(row)

    def outputs(masks: NDArray[np.bool_]) -> Any:
        kept = torch.ones((len(masks), 1, batch.length), dtype=torch.bool, device=model.device)
        kept[:, 0, single.open[0]] = torch.from_numpy(masks).to(model.device)
        return outputs_of_kept(model, single, kept)[:, 0].double().cpu().numpy()

    return outputs
