"""Do predictions agree with each other: if a is b and b is c, is a predicted to be c?"""

from __future__ import annotations

import polars as pl

from audit.entailment.detection.measurements import CONSISTENCY, MODEL
from audit.entailment.graph.chains import chain_counts
from audit.entailment.graph.text_graph import text_graph
from audit.entailment.questions import ALL

LABELS = "labels"
"""Kind of the rows that are of the labels of the tuples that a model predicts."""


def consistency(tuples: pl.DataFrame, frame: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Chains of predicted edges, and whether their ends are predicted to be joined.

    Args:
        tuples: All tuples of the data set, columns `audit.entailment.dataset.TUPLES`.
        frame: Predictions of tuples of any split, columns `PREDICTIONS`.
        threshold: Score from which a tuple is predicted valid where the model does not say.

    Returns:
        Columns `CONSISTENCY`.
    """
    keys = ("model", "trained_on")
    predicted = pl.coalesce("valid", pl.col("score") >= threshold)
    answered = frame.select(*keys, "id", predicted=predicted).drop_nulls("predicted")
    rows = []
    for (model, trained_on), own in answered.group_by(keys, maintain_order=True):
        about = {"model": model, "trained_on": trained_on}
        stated = tuples.join(own.select("id", "predicted"), on="id")
        for kind, valid in ((MODEL, "predicted"), (LABELS, "valid")):
            rows += [{**about, "kind": kind, **line} for line in _counts(stated, valid)]
    return pl.DataFrame(rows, schema=CONSISTENCY).sort(keys, maintain_order=True)


def _counts(stated: pl.DataFrame, valid: str) -> list[dict[str, object]]:
    """A line per relation, and one for all where there are several."""
    by_relation = chain_counts(text_graph(_edges(stated, valid))).rename(
        {"chains_valid": "closed", "chains_denied": "broken", "chains_open": "open"}
    )
    together = by_relation.select(pl.lit(ALL).alias("relation"), pl.exclude("relation").sum())
    parts = [by_relation, together] if by_relation.height > 1 else [by_relation]
    judged = pl.col("closed") + pl.col("broken")
    share = pl.when(judged > 0).then(pl.col("closed") / judged)
    return pl.concat(parts).with_columns(closed_share=share).to_dicts()


def _edges(stated: pl.DataFrame, valid: str) -> pl.DataFrame:
    """One row per relation, instance and concept, valid or invalid by the most of its tuples.

    An edge with as many valid tuples as invalid ones is neither.
    """
    judged = stated.filter(pl.col("instance") != pl.col("concept"))
    counts = judged.group_by("relation", "instance", "concept").agg(
        share=pl.col(valid).mean(), heads=pl.col("head").n_unique().cast(pl.Int64)
    )
    return counts.select(
        "relation",
        pl.lit("").alias("context"),
        "instance",
        "concept",
        valid=(pl.col("share") > 0.5).cast(pl.Int64),
        invalid=(pl.col("share") < 0.5).cast(pl.Int64),
        heads="heads",
    )
