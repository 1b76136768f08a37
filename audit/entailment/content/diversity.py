"""Vocabulary, unique concepts and social events by relation: table 2 of AbsPyramid."""

from __future__ import annotations

import polars as pl

from audit.base.schemas import schema
from audit.entailment.content.totals import ALL, in_report_order, with_share
from audit.entailment.content.uniqueness import THRESHOLD, bleu_1, numbers, words
from audit.entailment.dataset import EntailmentDataset

DIVERSITY = schema(
    ("relation", pl.String),
    ("tuples vocabulary edges", pl.Int64),
    ("unique unique_without_penalty unique_edges unique_edges_without_penalty", pl.Float64),
    ("heads social_heads", pl.Int64),
    ("social social_low social_high", pl.Float64),
)
"""One row per relation, and one for `ALL`. ``vocabulary`` counts the different words of heads and
concepts, ``edges`` the different (relation, instance, concept). ``unique`` is the share of tuples
whose concept is unlike the others of the same head and instance, ``unique_edges`` that of edges
whose concept is unlike the others of the same instance, whatever the head; without the brevity
penalty of BLEU beside it. ``social`` is the share of different heads with a Person variable, such
as PersonX, with its Wilson interval."""

PERSON = r"\b[Pp]erson[XYZxyz]\b"
"""What a social head event holds."""


def diversity(dataset: EntailmentDataset) -> pl.DataFrame:
    """Words, unique concepts and social heads of each relation, columns `DIVERSITY`.

    Of all relations together, unique tuples and edges are those of the relations added up.
    """
    tuples = dataset.tuples.select("relation", "head", "instance", "concept")
    edge = ["relation", "instance", "concept"]
    edges = tuples.select(edge).unique(maintain_order=True)
    of_tuples = _unique(tuples, ["relation", "head", "instance"], "unique")
    of_edges = _unique(edges, ["relation", "instance"], "unique_edges")
    parts = []
    for relation in (pl.col("relation"), pl.lit(ALL)):
        counts = [
            _shares(of_tuples, relation, "tuples"),
            _shares(of_edges, relation, "edges"),
            _vocabulary(tuples, relation),
            _social(tuples, relation),
        ]
        joined = counts[0]
        for more in counts[1:]:
            joined = joined.join(more, on="relation", how="left")
        parts.append(joined)
    return in_report_order(pl.concat(parts)).select(*DIVERSITY).cast(pl.Schema(DIVERSITY))


def _unique(rows: pl.DataFrame, group: list[str], name: str) -> pl.DataFrame:
    """Each row's relation, and whether its concept is unique with and without penalty."""
    scores = bleu_1(numbers(rows.select(group)), rows["concept"])
    return pl.DataFrame(
        {
            "relation": rows["relation"],
            name: scores["bleu"] <= THRESHOLD,
            f"{name}_without_penalty": scores["precision"] <= THRESHOLD,
        }
    )


def _shares(marks: pl.DataFrame, relation: pl.Expr, counted: str) -> pl.DataFrame:
    return marks.group_by(relation=relation).agg(
        pl.len().alias(counted), pl.exclude("relation").mean()
    )


def _vocabulary(tuples: pl.DataFrame, relation: pl.Expr) -> pl.DataFrame:
    texts = pl.concat(
        [
            tuples.select(relation=relation, text=pl.col(name)).unique()
            for name in ("head", "concept")
        ]
    )
    found = texts.unique().select("relation", word=words(pl.col("text"))).explode("word")
    return found.group_by("relation").agg(vocabulary=pl.col("word").drop_nulls().n_unique())


def _social(tuples: pl.DataFrame, relation: pl.Expr) -> pl.DataFrame:
    heads = tuples.select("head", relation=relation).unique()
    counts = heads.group_by("relation").agg(
        heads=pl.len().cast(pl.Int64),
        social_heads=pl.col("head").str.contains(PERSON).sum().cast(pl.Int64),
    )
    shares = with_share(counts, "social_heads", "heads")
    return shares.rename({"share": "social", "low": "social_low", "high": "social_high"})
