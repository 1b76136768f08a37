"""Whether attributions depend on what a model has learned: the check with random parameters."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import polars as pl

from audit.base.errors import InputError
from audit.explanations.attribution.embedded_model import EmbeddedModel
from audit.explanations.attributions import Attributions


def randomised(model: EmbeddedModel, seed: int = 0) -> EmbeddedModel:
    """A model of the same form with each parameter's values shuffled.

    "Sanity Checks for Saliency Maps" (Adebayo et al.) draws new values from the initial
    distribution; shuffling needs no knowledge of it and keeps the size of the values. The vector
    of the padding stays, so that baselines do.

    Args:
        seed: Equal seeds shuffle equally.
    """
    import torch

    module = copy.deepcopy(model.module)
    name = next(path for path, part in model.module.named_modules() if part is model.embedding)
    embedding = module.get_submodule(name)
    assert isinstance(embedding, torch.nn.Embedding)
    generator = torch.Generator().manual_seed(seed)
    padding = embedding.padding_idx
    kept = None if padding is None else embedding.weight[padding].clone()
    for parameter in module.parameters():
        order = torch.randperm(parameter.numel(), generator=generator).to(parameter.device)
        parameter.data = parameter.data.flatten()[order].view_as(parameter)
    if kept is not None:
        embedding.weight.data[padding] = kept
    return replace(model, module=module, embedding=embedding)


def rank_correlations(trained: Attributions, random: Attributions) -> pl.DataFrame:
    """Spearman correlation of a model's scores with those of the randomised model, per row.

    A method whose scores stay alike does not depend on what the model has learned.

    Args:
        trained: Attributions of the model.
        random: Those of the randomised one, of the same texts, targets and methods in one order.

    Returns:
        ``row, id, target, method, model, seed``; ``correlation`` of the signed scores, and
        ``absolute_correlation`` of their absolute values; null where all scores of a side are
        equal.

    Raises:
        InputError: If the rows of the two differ.
    """
    keys = ("id", "target", "method")
    same = trained.rows.select(keys).equals(random.rows.select(keys))
    if not same or not np.array_equal(trained.scores.starts, random.scores.starts):
        raise InputError("the two models need attributions of the same texts, targets and methods")
    scores = pl.DataFrame(
        {
            "row": trained.scores.owner.astype(np.uint32),
            "trained": trained.scores.values,
            "random": random.scores.values,
        }
    )
    values = scores.group_by("row").agg(
        correlation=_spearman(pl.col("trained"), pl.col("random")),
        absolute_correlation=_spearman(pl.col("trained").abs(), pl.col("random").abs()),
    )
    rows = trained.rows.select(*keys, "model", "seed").with_row_index("row")
    return rows.join(values, on="row", how="left", maintain_order="left")


def _spearman(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return pl.corr(left.rank(), right.rank()).fill_nan(None)
