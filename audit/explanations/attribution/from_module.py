"""Attributions of a model that a function of the user's gives, and of texts in a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.errors import InputError
from audit.base.progress import Progress, silent
from audit.data.records import records
from audit.data.sources import File
from audit.explanations.attribution.embedded_model import EmbeddedModel, Link, embedded_model
from audit.explanations.attribution.explain import explain, write_with_passages
from audit.explanations.attribution.methods import GRADIENTS, LIME, PARTITION_SHAP
from audit.explanations.attribution.rows import TokenisedTexts

PAPER_METHODS = (*GRADIENTS, LIME, PARTITION_SHAP)
"""The six methods of *Dynamic top-k*."""
_ROLES = {"id": ("id", "instance"), "text": ("text",), "target": ("target", "label")}


def attribute(
    model: str,
    data: Path,
    out: Path,
    methods: Sequence[str] = PAPER_METHODS,
    *,
    link: Link = "identity",
    device: str | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> int:
    """Write attributions of texts, as `write_with_passages` does, and say how many rows.

    Args:
        model: ``package:function``. The function gives a model and its tokenizer, as Transformers
            has them: ``model.get_input_embeddings()``, ``model.config.id2label``, ``logits``;
            ``tokenizer(text)["input_ids"]``, ``convert_ids_to_tokens``, ``all_special_ids``,
            ``pad_token_id``. Packages of the working folder are found.
        data: Rows with ``id``, ``text`` and, if it is known, ``target``, the true label, which is
            explained; without that column the answer of the model is.
        out: The file, JSON lines.
        methods: As in `explain`.
        link: As in `embedded_model`.
        device: As in `embedded_model`.
        seed: Draws of LIME and Partition SHAP.
        progress: Progress callback.

    Raises:
        InputError: If the model cannot be imported or is no such pair, or as `explain`.
        SchemaError: If the data lack a column; or as `explain`.
    """
    module, tokenizer = _given(model)
    wrapped = _wrapped(module, model, link, device)
    rows = records(File(data), _ROLES, None, ("id", "text")).frame
    if len(empty := rows.filter(pl.any_horizontal(pl.all().is_null()))):
        raise InputError(
            f"each row needs {', '.join(rows.columns)}",
            found=f"{len(empty)} rows without one, such as {empty.row(0)}",
            where=data,
        )
    texts = _tokenised(rows.unique("id", keep="first", maintain_order=True), tokenizer)
    told = explain(
        wrapped,
        texts,
        _targets(rows, texts, wrapped),
        methods,
        name=model.partition(":")[0],
        seed=seed,
        progress=progress,
    )
    write_with_passages(told.attributions, texts, out)
    return len(told.attributions.rows)


def _given(model: str) -> tuple[Any, Any]:
    """The module and the tokenizer that the named function gives."""
    package, _, function = model.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        if not (package and function):
            raise ValueError("no PACKAGE:FUNCTION")
        module, tokenizer = getattr(import_module(package), function)()
    except Exception as error:  # whatever the user's own package raises
        raise InputError(
            "the model must be PACKAGE:FUNCTION, a function without arguments that gives a model "
            "and its tokenizer",
            found=f"{model!r}: {type(error).__name__}: {error}",
        ) from None
    finally:
        sys.path.pop(0)
    return module, tokenizer


def _wrapped(module: Any, model: str, link: Link, device: str | None) -> EmbeddedModel:
    try:
        layer, named = module.get_input_embeddings(), module.config.id2label
        labels = [str(named[place]) for place in range(len(named))]
        name = next(name for name, part in module.named_modules() if part is layer)
    except (AttributeError, KeyError, StopIteration) as error:
        raise InputError(
            "a model with get_input_embeddings and config.id2label is required",
            found=f"{type(module).__name__} of {model}: {type(error).__name__}: {error}",
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
