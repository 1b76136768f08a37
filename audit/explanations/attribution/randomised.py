"""Models with shuffled parameters, whose attributions should be other ones."""

from __future__ import annotations

import copy
from dataclasses import replace

from audit.explanations.attribution.embedded_model import EmbeddedModel


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
