"""Annotators against the majority of the others, and as Dawid and Skene's model sees them."""

from __future__ import annotations

import polars as pl

from audit.base.schemas import schema
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import newcombe
from audit.engine.statistics.low_rates import low_rates
from audit.engine.statistics.raters import error_rates
from audit.entailment.content.totals import with_share
from audit.entailment.dataset import EntailmentDataset

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
