"""Votes on tuples: agreement by relation, weak labels, and annotators unlike all others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from audit.base.schemas import schema
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import newcombe, wilson
from audit.engine.statistics.raters import (
    agreement_of_sums,
    agreement_terms,
    equal_votes,
    error_rates,
)
from audit.engine.statistics.resampling import percentile_interval
from audit.engine.statistics.shrinkage import low_rates
from audit.entailment.dataset import ALL, EntailmentDataset, in_report_order, with_share

AGREEMENT = schema(
    ("relation measure", pl.String),
    ("value low high", pl.Float64),
    ("tuples votes", pl.Int64),
    ("reason", pl.String),
)
"""One row per relation, and `ALL`, and measure: ``pairwise``, ``fleiss``, ``alpha`` and
``unanimous``, over the tuples with at least two votes. Intervals are percentiles of `REPLICATES`
bootstrap samples of tuples; that of ``unanimous`` is Wilson's. ``reason`` says why a value is
null."""

REPLICATES = 2_000
"""Number of bootstrap samples."""
_MEASURES = ("pairwise", "fleiss", "alpha")


def agreement(dataset: EntailmentDataset) -> pl.DataFrame:
    """Agreement by relation, columns `AGREEMENT`; empty where no tuple has two votes."""
    voted = dataset.tuples.filter(pl.col("votes") > 1)
    if voted.is_empty():
        return pl.DataFrame(schema=AGREEMENT)
    parts = [*voted.group_by("relation", maintain_order=True), ((ALL,), voted)]
    rows = [row for (relation,), of in parts for row in _rows(str(relation), of)]
    return in_report_order(pl.DataFrame(rows, schema=AGREEMENT))


def _rows(relation: str, voted: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Tuples with the same counts add the same terms, so that a bootstrap draws their number."""
    patterns = voted.group_by("votes_valid", "votes").agg(n=pl.len()).sort("votes", "votes_valid")
    valid, votes = patterns["votes_valid"].to_numpy(), patterns["votes"].to_numpy()
    counts = np.column_stack([valid, votes - valid])
    times, terms, equal = patterns["n"].to_numpy(), agreement_terms(counts), equal_votes(counts)
    drawn = np.random.default_rng(0).multinomial(len(voted), times / times.sum(), REPLICATES)
    found = agreement_of_sums(times @ terms, equal=equal)
    sampled = agreement_of_sums(drawn @ terms, equal=equal)
    size = {"relation": relation, "tuples": len(voted), "votes": int(times @ votes)}
    for measure in _MEASURES:
        value = float(getattr(found, measure))
        low, high = percentile_interval(getattr(sampled, measure))
        known = not np.isnan(value)
        yield size | {
            "measure": measure,
            "value": value if known else None,
            "low": float(low) if known else None,
            "high": float(high) if known else None,
            "reason": None if known else _reason(measure, equal=equal),
        }
    unanimous = int(times @ ((valid == 0) | (valid == votes)))
    low_share, high_share = wilson(unanimous, len(voted))
    yield size | {
        "measure": "unanimous",
        "value": unanimous / len(voted),
        "low": low_share,
        "high": high_share,
        "reason": None,
    }


def _reason(measure: str, *, equal: bool) -> str:
    if measure == "fleiss" and not equal:
        return "tuples differ in their number of votes"
    return "all votes are alike"


CARRYING = 0.8
"""Least share of the votes that must be for the label: four of five, as AbsPyramid has it."""

WEAK = schema(
    ("relation", pl.String),
    ("tuples weak", pl.Int64),
    ("share low high", pl.Float64),
    ("ties against", pl.Int64),
)
"""One row per relation, and `ALL`: tuples with votes, and those with less than `CARRYING` of them
for their label, with their share and its Wilson interval. Among them are ``ties``, half of whose
votes are for it, and those that most votes are ``against``."""

WEAK_LABELS = schema(
    ("id", pl.String),
    ("row", pl.Int64),
    ("relation", pl.String),
    ("valid", pl.Boolean),
    ("for_label votes", pl.Int64),
    ("kind", pl.String),
)
"""One row per weak tuple: how many of its ``votes`` are for its label, and the ``kind``: ``tie``,
``against``, or ``weak``."""


def weak_labels(dataset: EntailmentDataset) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Weak labels by relation, columns `WEAK`, and each of them, columns `WEAK_LABELS`."""
    voted = dataset.tuples.drop_nulls("votes").with_columns(
        for_label=pl.when("valid")
        .then("votes_valid")
        .otherwise(pl.col("votes") - pl.col("votes_valid"))
    )
    twice, votes = 2 * pl.col("for_label"), pl.col("votes")
    marked = voted.with_columns(
        kind=pl.when(twice == votes)
        .then(pl.lit("tie"))
        .when(twice < votes)
        .then(pl.lit("against"))
        .when(pl.col("for_label") < CARRYING * votes - 1e-9)
        .then(pl.lit("weak"))
    )
    counts = pl.concat(
        [
            marked.group_by(relation=relation).agg(
                tuples=pl.len().cast(pl.Int64),
                weak=pl.col("kind").count().cast(pl.Int64),
                ties=(pl.col("kind") == "tie").sum().cast(pl.Int64),
                against=(pl.col("kind") == "against").sum().cast(pl.Int64),
            )
            for relation in (pl.col("relation"), pl.lit(ALL))
        ]
    )
    table = in_report_order(with_share(counts, "weak", "tuples")).select(*WEAK)
    return table, marked.drop_nulls("kind").select(*WEAK_LABELS)


LEAST_COMPARED = 20
"""Least number of votes with a majority of others that an annotator is tested on."""

ANNOTATORS = schema(
    ("annotator", pl.String),
    ("votes compared agreeing", pl.Int64),
    (
        "rate low high others difference difference_low difference_high sensitivity "
        "specificity p_value q_value",
        pl.Float64,
    ),
)
"""One row per annotator, by ``p_value`` and name. ``compared`` counts their votes on tuples whose
other votes have a majority, ``agreeing`` those with it; ``rate`` is the share, with its Wilson
interval. ``others`` is the common rate of the other annotators, ``difference`` the rate minus it,
with Newcombe's interval. ``sensitivity`` and ``specificity`` are those of Dawid and Skene's model.
``p_value`` is the chance of so low a rate among the others, null for fewer than `LEAST_COMPARED`
votes; ``q_value`` is adjusted by Benjamini and Hochberg over the annotators tested."""

DISSENTS = schema(("annotator id", pl.String), ("valid", pl.Boolean))
"""One row per vote against the majority of the others, by annotator and id."""

DOUBTED = schema(
    ("id", pl.String),
    ("row", pl.Int64),
    ("relation", pl.String),
    ("valid", pl.Boolean),
    ("probability", pl.Float64),
)
"""One row per tuple whose label Dawid and Skene's model holds wrong: ``probability`` is that of the
tuple's being valid, on the other side of a half than its label."""


def annotators(dataset: EntailmentDataset) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Annotators, columns `ANNOTATORS`, votes against others, `DISSENTS`, and `DOUBTED` labels.

    All three are empty where votes are counts, or unknown. The model is fitted to all relations
    together.
    """
    if dataset.votes.is_empty():
        return tuple(pl.DataFrame(schema=one) for one in (ANNOTATORS, DISSENTS, DOUBTED))  # type: ignore[return-value]
    votes = dataset.votes.with_columns(item=pl.col("id").rle_id().cast(pl.Int64))
    compared = _against_others(votes)
    plain = _rates(compared)
    names = plain["annotator"]
    place = votes["annotator"].replace_strict(
        names, pl.int_range(len(names), dtype=pl.Int64, eager=True)
    )
    model = error_rates(
        votes["item"].to_numpy(),
        place.to_numpy(),
        votes["valid"].to_numpy(),
        votes["item"].n_unique(),
        len(names),
    )
    rated = _tested(plain).with_columns(
        sensitivity=pl.Series(model.sensitivity), specificity=pl.Series(model.specificity)
    )
    posterior = pl.DataFrame(
        {"id": votes["id"].unique(maintain_order=True), "probability": model.positive}
    )
    doubted = (
        dataset.tuples.join(posterior, on="id", maintain_order="left")
        .filter((pl.col("probability") > 0.5) != pl.col("valid"))
        .filter(pl.col("probability") != 0.5)
    )
    dissents = compared.filter(pl.col("agrees").not_()).sort("annotator", "id")
    surest = rated.sort("p_value", "annotator", nulls_last=True)
    return surest.select(*ANNOTATORS), dissents.select(*DISSENTS), doubted.select(*DOUBTED)


def _against_others(votes: pl.DataFrame) -> pl.DataFrame:
    """Votes with ``agrees``: whether with the majority of the others; null without a majority."""
    yes = pl.col("valid").cast(pl.Int64)
    others = pl.len().over("item") - 1
    others_yes = yes.sum().over("item") - yes
    majority = pl.when(2 * others_yes != others).then(2 * others_yes > others)
    return votes.with_columns(agrees=majority == pl.col("valid"))


def _rates(compared: pl.DataFrame) -> pl.DataFrame:
    counts = compared.group_by("annotator").agg(
        votes=pl.len().cast(pl.Int64),
        compared=pl.col("agrees").count().cast(pl.Int64),
        agreeing=pl.col("agrees").sum().cast(pl.Int64),
    )
    return with_share(counts.sort("annotator"), "agreeing", "compared").rename({"share": "rate"})


def _tested(rates: pl.DataFrame) -> pl.DataFrame:
    """Rates with their test against the others, null for those with too few votes."""
    enough = rates.filter(pl.col("compared") >= LEAST_COMPARED)
    k, n = enough["agreeing"].to_numpy(), enough["compared"].to_numpy()
    found = low_rates(k, n)
    bounds = [
        newcombe(one / of, of, there, float(n.sum() - of))
        for one, of, there in zip(k, n, found.others, strict=True)
    ]
    tested = enough.select("annotator", "rate").with_columns(
        others=pl.Series(found.others, dtype=pl.Float64),
        difference_low=pl.Series([low for low, _ in bounds], dtype=pl.Float64),
        difference_high=pl.Series([high for _, high in bounds], dtype=pl.Float64),
        p_value=pl.Series(found.p_value, dtype=pl.Float64).fill_nan(None),
    )
    tested = tested.with_columns(difference=pl.col("rate") - pl.col("others")).drop("rate")
    known = tested.drop_nulls("p_value")
    q_value = benjamini_hochberg(known["p_value"].to_numpy(), known.height)
    adjusted = known.select("annotator", q_value=pl.Series(q_value, dtype=pl.Float64))
    return rates.join(
        tested.join(adjusted, on="annotator", how="left"),
        on="annotator",
        how="left",
        maintain_order="left",
    )
