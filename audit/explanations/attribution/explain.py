"""Attributions of a torch model by several methods, and as lines with their passages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import IntArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.machine import require_package
from audit.base.progress import Progress, silent
from audit.engine.statistics.resampling import unit_keys
from audit.explanations.attribution.embedded_model import EmbeddedModel
from audit.explanations.attribution.methods import (
    EVALUATIONS,
    GRADIENTS,
    INTEGRATED,
    LIME,
    NODES,
    PARTITION_SHAP,
    SAMPLES,
    SURROGATES,
    ends,
    gradient_scores,
    occlusion,
    surrogate_scores,
)
from audit.explanations.attribution.rows import Batch, TokenisedTexts, batches
from audit.explanations.attributions import ROWS, Attributions
from audit.explanations.lists import Lists, lists_of
from audit.explanations.reading.texts import words_of

if TYPE_CHECKING:
    import torch

FIELDS = ("id", "target", "method", "model", "seed", "gold", "predicted", "group")


def lines_with_passages(
    attributions: Attributions, texts: TokenisedTexts
) -> Iterator[dict[str, Any]]:
    """A line per row: its known fields, tokens, scores, passage and offsets of the tokens.

    Evidence that comes as spans of characters can be joined to a file of such lines;
    `audit.explanations.attributions.write_attributions` keeps a record with its own evidence.

    Args:
        attributions: From `explain`.
        texts: The texts of the rows; passages and offsets are told as far as they have them.
    """
    starts, tokens = attributions.words.starts, attributions.tokens
    lists = [tokens[int(start) : int(stop)].to_list() for start, stop in pairwise(starts)]
    for place, row in enumerate(attributions.rows.iter_rows(named=True)):
        line = {field: row[field] for field in FIELDS if row[field] is not None}
        line["tokens"] = lists[row["text"]]
        line["scores"] = attributions.scores[place].tolist()
        yield line | _passage(texts, row["id"])


def _passage(texts: TokenisedTexts, text: str) -> dict[str, Any]:
    place = texts.place[text]
    passage: dict[str, Any] = {}
    if texts.passages is not None:
        passage["text"] = texts.passages[place]
    if texts.offsets is not None:
        passage["offsets"] = list(compress(texts.offsets[place], texts.open[place]))
    return passage


OCCLUSION = "occlusion"
METHODS = (*GRADIENTS, OCCLUSION, *SURROGATES)
"""All methods."""
OWN_METHODS = (*GRADIENTS, OCCLUSION)
"""Methods that need torch alone."""
COMPLETE = (INTEGRATED, PARTITION_SHAP)
"""Methods whose scores sum to the output on the text less that on the baseline."""

GAP_LIMIT = 0.05
"""Largest relative gap of integrated gradients that is no error."""
ROUNDINGS = 64
"""Number of rounding errors of an output that a gap may have beside the limit."""


@dataclass(frozen=True, eq=False)
class Explained:
    """Attributions of a model, and how complete they are.

    Args:
        attributions: One row per target and method, the targets of a method together.
        completeness: One row per target and method of `COMPLETE`: ``row`` of the attributions;
            ``id, target, method``; ``output`` and ``baseline``, the explained number on the text
            and on its baseline; ``total``, the sum of the scores; ``gap``, total - (output -
            baseline); ``relative_gap``, its absolute value over the larger of the sum of absolute
            scores and |output - baseline|, 0 where both are 0.
    """

    attributions: Attributions
    completeness: pl.DataFrame


def explain(
    model: EmbeddedModel,
    texts: TokenisedTexts,
    targets: pl.DataFrame,
    methods: Sequence[str] = OWN_METHODS,
    *,
    name: str = "model",
    seed: int = 0,
    nodes: int = NODES,
    gap_limit: float = GAP_LIMIT,
    samples: int = SAMPLES,
    evaluations: int = EVALUATIONS,
    progress: Progress = silent,
) -> Explained:
    """Attribute outputs of a model to the tokens of texts.

    The baseline of a text has padding in the place of every token that is not special. Scores of
    special tokens are left out.

    Args:
        model: From `embedded_model`.
        texts: Texts as the model reads them.
        targets: A row per output to explain: ``id`` of the text and ``target``, the label; as far
            as they are known ``gold`` and ``predicted`` (Boolean) and ``group``.
        methods: Some of `METHODS`.
        name: Name of the model in the result.
        seed: Seed that the model was trained with, written to the result; LIME and Partition SHAP
            draw by it too.
        nodes: Number of points on the path of integrated gradients.
        gap_limit: Largest relative gap of integrated gradients; larger ones are an error.
        samples: Number of masked texts of LIME.
        evaluations: Number of masked texts of Partition SHAP.
        progress: Progress callback.

    Returns:
        No rows where there are no targets.

    Raises:
        InputError: If a method is unknown or twice there, a package lacks, a target names no text
            or no label, or integrated gradients leave too large a gap.
        SchemaError: If a column is missing, a target is there twice, or the model gives another
            shape.
    """
    _check_methods(methods, nodes)
    text, column = _places(model, texts, targets)
    keys = _keys(targets, seed)
    scores: dict[str, list[Any]] = {method: [None] * len(targets) for method in methods}
    outputs = np.zeros((len(targets), 2))
    for batch in batches(model, texts, text, column, progress, "computing attributions"):
        outputs[batch.rows] = np.stack([_array(end) for end in ends(model, batch)], axis=1)
        of_batch = _scores(model, batch, methods, keys[batch.rows], nodes, samples, evaluations)
        is_open = batch.open.cpu().numpy()
        for method, values in of_batch.items():
            for row, one, places in zip(batch.rows, _array(values), is_open, strict=True):
                scores[method][row] = one[places]
    attributions = _attributions(texts, targets, text, scores, name, seed)
    completeness = _completeness(attributions, outputs)
    _check_gaps(completeness, gap_limit, _epsilon(model))
    return Explained(attributions, completeness)


def _scores(
    model: EmbeddedModel,
    batch: Batch,
    methods: Sequence[str],
    keys: NDArray[np.uint64],
    nodes: int,
    samples: int,
    evaluations: int,
) -> dict[str, torch.Tensor]:
    scores = gradient_scores(model, batch, methods, nodes)
    if OCCLUSION in methods:
        scores[OCCLUSION] = occlusion(model, batch)
    for method in (method for method in SURROGATES if method in methods):
        scores[method] = surrogate_scores(
            model, batch, method, keys, samples=samples, evaluations=evaluations
        )
    return scores


def _array(values: torch.Tensor) -> NDArray[np.float64]:
    array: NDArray[np.float64] = values.detach().double().cpu().numpy()
    return array


def _epsilon(model: EmbeddedModel) -> float:
    import torch

    return float(torch.finfo(model.embedding.weight.dtype).eps)


def _check_methods(methods: Sequence[str], nodes: int) -> None:
    unknown = [method for method in methods if method not in METHODS]
    if unknown or not methods or len(set(methods)) < len(methods):
        raise InputError(
            f"different methods are required, of {', '.join(METHODS)}",
            found=first_cases(unknown or methods) or "none",
        )
    if nodes < 1:
        raise InputError("integrated gradients need a point on the path", found=f"nodes={nodes}")
    for method, package in ((LIME, "captum"), (LIME, "sklearn"), (PARTITION_SHAP, "shap")):
        if method in methods:
            require_package(package, f"for the method {method}")


def _places(
    model: EmbeddedModel, texts: TokenisedTexts, targets: pl.DataFrame
) -> tuple[IntArray, IntArray]:
    """Per target the place of its text and of its label among the outputs."""
    if missing := [column for column in ("id", "target") if column not in targets.columns]:
        raise SchemaError(
            "targets need the columns id and target", found=f"no {' and no '.join(missing)}"
        )
    twice = targets.filter(targets.select("id", "target").is_duplicated())
    if len(twice):
        raise SchemaError(
            "each target is required once for each text",
            found=first_cases(twice.select("id", "target").unique(maintain_order=True).rows()),
        )
    columns = {label: place for place, label in enumerate(model.labels)}
    for column, known, where in (
        ("id", texts.place, "the texts"),
        ("target", columns, "the labels of the model"),
    ):
        if strange := [
            one for one in targets[column].unique(maintain_order=True) if one not in known
        ]:
            raise InputError(
                f"every {column} of the targets must be among {where}", found=first_cases(strange)
            )
    text = np.array([texts.place[one] for one in targets["id"]], dtype=np.int64)
    return text, np.array([columns[one] for one in targets["target"]], dtype=np.int64)


def _keys(targets: pl.DataFrame, seed: int) -> NDArray[np.uint64]:
    """A seed per target, which depends on no other target."""
    units = [f"{text}\0{target}" for text, target in targets.select("id", "target").rows()]
    return unit_keys(units, seed)


def _attributions(
    texts: TokenisedTexts,
    targets: pl.DataFrame,
    text: IntArray,
    scores: dict[str, list[Any]],
    name: str,
    seed: int,
) -> Attributions:
    """The record of attributions, in which methods share the texts."""
    used, place = np.unique(text, return_inverse=True)
    known = [column for column in ("gold", "predicted", "group") if column in targets.columns]
    base = targets.select("id", "target", *known).with_columns(
        text=pl.Series(place, dtype=pl.Int64)
    )
    rows = pl.concat(
        [
            base.with_columns(method=pl.lit(method), model=pl.lit(name), seed=pl.lit(seed))
            for method in scores
        ]
    )
    rows = rows.select(
        (pl.col(column) if column in rows.columns else pl.lit(None)).cast(kind).alias(column)
        for column, kind in ROWS.items()
    ).with_columns(borrowed=False)
    tokens = [
        [
            token
            for token, is_open in zip(texts.tokens[one], texts.open[one], strict=True)
            if is_open
        ]
        for one in used
    ]
    flat = pl.Series("token", [token for one in tokens for token in one], dtype=pl.String)
    words = words_of(flat)
    vocabulary = words.unique(maintain_order=True).sort()
    number = words.replace_strict(vocabulary, pl.Series(range(len(vocabulary)), dtype=pl.Int64))
    starts = np.cumsum([0, *(len(one) for one in tokens)], dtype=np.int64)
    return Attributions(
        rows,
        lists_of((one for per_method in scores.values() for one in per_method), np.float64),
        Lists(number.to_numpy().astype(np.int64), starts),
        flat,
        vocabulary,
        ledger={"rows_read": len(rows), "rows_kept": len(rows), "texts": len(used)},
    )


def _completeness(attributions: Attributions, outputs: NDArray[np.float64]) -> pl.DataFrame:
    """As in `Explained`; ``outputs`` are those on text and baseline, per target."""
    scores = attributions.scores
    total = np.bincount(scores.owner, scores.values, len(scores))
    size = np.bincount(scores.owner, np.abs(scores.values), len(scores))
    repeats = len(scores) // max(len(outputs), 1)
    frame = attributions.rows.select("id", "target", "method").with_columns(
        output=np.tile(outputs[:, 0], repeats),
        baseline=np.tile(outputs[:, 1], repeats),
        total=total,
        size=size,
    )
    difference = pl.col("output") - pl.col("baseline")
    whole = pl.max_horizontal("size", difference.abs())
    return (
        frame.with_row_index("row")
        .filter(pl.col("method").is_in(COMPLETE))
        .with_columns(gap=pl.col("total") - difference)
        .with_columns(
            relative_gap=pl.when(whole > 0).then(pl.col("gap").abs() / whole).otherwise(0.0)
        )
        .drop("size")
    )


def _check_gaps(completeness: pl.DataFrame, limit: float, epsilon: float) -> None:
    """Raise InputError where integrated gradients leave more than the limit and rounding."""
    rounding = ROUNDINGS * epsilon * pl.max_horizontal(pl.col("output", "baseline").abs())
    wide = completeness.filter(
        (pl.col("method") == INTEGRATED)
        & (pl.col("relative_gap") > limit)
        & (pl.col("gap").abs() > rounding)
    )
    if len(wide) and not math.isinf(limit):
        worst = wide.sort("relative_gap", descending=True).row(0, named=True)
        raise InputError(
            "integrated gradients must sum to the output on the text less that on its baseline, "
            f"within {limit:.3g} of the sum of absolute scores",
            found=f"wider gaps in {len(wide):,} rows; the widest, of text {worst['id']!r} and "
            f"target {worst['target']!r}, is {worst['relative_gap']:.3g}",
            hint="take more nodes; if that does not help, the output jumps along the path, "
            "and occlusion is the method to use",
        )
