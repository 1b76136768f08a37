"""Attributions from gradients: vanilla, times input, and integrated along a path."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

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
