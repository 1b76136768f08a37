"""Outputs of a model on texts with some tokens removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.explanations.attribution.embedded_model import EmbeddedModel
from audit.explanations.attribution.rows import Batch

if TYPE_CHECKING:
    import torch


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
