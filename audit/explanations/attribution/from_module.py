"""Attributions of a user's model and tokenizer, for texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.explanations.attribution.embedded_model import EmbeddedModel, Link, embedded_model
from audit.explanations.attribution.explain import explain, lines_with_passages
from audit.explanations.attribution.methods import GRADIENTS, LIME, PARTITION_SHAP
from audit.explanations.attribution.rows import TokenisedTexts

PAPER_METHODS = (*GRADIENTS, LIME, PARTITION_SHAP)
"""The six methods of *Dynamic top-k*."""


def attributions(
    model: tuple[Any, Any],
    texts: pl.DataFrame | Iterable[Mapping[str, Any]],
    method: str | Sequence[str] = PAPER_METHODS,
    *,
    name: str = "model",
    link: Link = "identity",
    device: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Attribute a torch model's outputs to the tokens of texts, for ``audit explanations``.

    ``write_ndjson`` writes what is returned as that command reads it. It costs one pass of the
    model for each text and ``gradient``, 64 for ``integrated_gradients``, one a token for
    ``occlusion``, and at most 500 for ``lime`` and ``partition_shap``; all texts of one length go
    through together, at most 16,384 tokens at a time. LIME and Partition SHAP need the extra
    ``explain``, the others ``model``.

    Args:
        model: A torch module and its tokenizer, as Transformers has them: the module with
            ``get_input_embeddings()``, ``config.id2label`` and outputs ``logits``, shape (texts,
            labels), for token numbers, shape (texts, tokens); the tokenizer with
            ``tokenizer(text)["input_ids"]``, ``convert_ids_to_tokens``, ``all_special_ids`` and
            ``pad_token_id``. The module itself is not changed.
        texts: ``id``, ``text`` and, if it is known, ``target``, the true label, which is explained;
            without that column the answer of the model is.
        method: One or several of ``gradient, gradient_x_input, integrated_gradients,
            integrated_gradients_plain, occlusion, lime, partition_shap``; without one, the six of
            *Dynamic top-k*, which are all of these but occlusion.
        name: The model in the rows.
        link: Explain outputs as they are, their sigmoid or their softmax.
        device: A torch device; without one, a GPU where there is one.
        seed: Seed of the draws of LIME and Partition SHAP.

    Returns:
        A row for each text, target and method: ``id, target, method, model, seed, predicted``
        (whether the target is the model's answer), ``gold`` where targets are given, ``tokens``
        and ``scores``, one number for each token that is not special, and ``text``.

    Raises:
        AuditError: If a package lacks, the model is no such pair, gives another shape or no finite
            outputs, a method or a target is unknown, a text is missing or has no token, or
            integrated gradients do not sum to the output.

    >>> import audit
    >>> texts = [{"id": "a", "text": "acute heart failure", "target": "428.0"}]
    >>> rows = audit.attributions((module, tokenizer), texts, "lime")  # doctest: +SKIP
    """
    module, tokenizer = model
    wrapped = _wrapped(module, link, device)
    rows = _rows(texts)
    read = _tokenised(rows.unique("id", keep="first", maintain_order=True), tokenizer)
    methods = (method,) if isinstance(method, str) else tuple(method)
    told = explain(wrapped, read, _targets(rows, read, wrapped), methods, name=name, seed=seed)
    lines = list(lines_with_passages(told.attributions, read))
    return pl.DataFrame(lines, infer_schema_length=None)


def _rows(texts: pl.DataFrame | Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """``id, text`` and maybe ``target``, all as text."""
    frame = texts if isinstance(texts, pl.DataFrame) else pl.DataFrame([dict(one) for one in texts])
    if not {"id", "text"} <= {*frame.columns}:
        raise SchemaError(
            "the columns id and text are required", found=", ".join(frame.columns) or "none"
        )
    named = [one for one in ("id", "text", "target") if one in frame.columns]
    rows = frame.select(pl.col(named).cast(pl.String))
    if len(empty := rows.filter(pl.any_horizontal(pl.all().is_null()))):
        raise InputError(
            f"each row needs {', '.join(named)}",
            found=f"{len(empty)} rows without one, such as {empty.row(0)}",
        )
    return rows


def _wrapped(module: Any, link: Link, device: str | None) -> EmbeddedModel:
    try:
        layer, named = module.get_input_embeddings(), module.config.id2label
        labels = [str(named[place]) for place in range(len(named))]
        name = next(name for name, part in module.named_modules() if part is layer)
    except (AttributeError, KeyError, StopIteration) as error:
        raise InputError(
            "a model with get_input_embeddings and config.id2label is required",
            found=f"{type(module).__name__}: {type(error).__name__}: {error}",
        ) from None
    return embedded_model(module, labels, embedding=name, link=link, device=device)


def _tokenised(rows: pl.DataFrame, tokenizer: Any) -> TokenisedTexts:
    passages = rows["text"].to_list()
    numbers = [list(tokenizer(text)["input_ids"]) for text in passages]
    return TokenisedTexts(
        ids=rows["id"].to_list(),
        tokens=[tokenizer.convert_ids_to_tokens(one) for one in numbers],
        token_ids=numbers,
        padding=tokenizer.pad_token_id,
        special=frozenset(tokenizer.all_special_ids),
        passages=passages,
    )


def _targets(rows: pl.DataFrame, texts: TokenisedTexts, model: EmbeddedModel) -> pl.DataFrame:
    """``id, target``, with ``gold`` if it is the true label, and ``predicted``, the model's own."""
    answers = _answers(texts, model)
    answered = pl.col("id").replace_strict(answers, return_dtype=pl.String)
    if "target" not in rows:
        own = rows.select("id", target=answered).unique(maintain_order=True)
        return own.with_columns(predicted=pl.lit(True))
    return rows.select("id", "target", gold=pl.lit(True), predicted=pl.col("target") == answered)


def _answers(texts: TokenisedTexts, model: EmbeddedModel) -> Mapping[str, str]:
    """The label of the highest output for each text."""
    import torch

    answers = {}
    with torch.no_grad():
        for text, numbers in zip(texts.ids, texts.token_ids, strict=True):
            ids = torch.tensor([list(numbers)] * len(model.labels), device=model.device)
            columns = torch.arange(len(model.labels), device=model.device)
            outputs = model.outputs(ids, model.embedded(ids), columns)
            answers[text] = model.labels[int(np.argmax(outputs.cpu().numpy()))]
    return answers
