"""What a dataset holds: tables 1 to 3 of AbsPyramid, its generation set, and A.4, its votes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.dataset import ELEMENTS, KEY, in_report_order, over_all, with_share
from audit.analyses.entailment.declared import ALL, TABLES
from audit.base.declared import finite, schema
from audit.engine.statistics.intervals import wilson
from audit.engine.statistics.raters import agreement_of_sums, agreement_terms, equal_votes
from audit.engine.statistics.resampling import percentile_interval

THRESHOLD = 0.5
"""A concept is unique if its BLEU-1 against the other concepts is at most this."""
REPLICATES = 2_000
"""Number of bootstrap samples of tuples with votes."""
CARRYING = 0.8
"""Least share of the votes that must be for the label: four of five, as AbsPyramid has it."""


def totals(tuples: pl.DataFrame) -> pl.DataFrame:
    """Tuples by relation and split, and the share of valid ones: ``quality_totals``, table 1."""
    valid = pl.col("valid").sum()
    counts = over_all(tuples, "relation", "split", tuples=pl.len(), valid=valid)
    return TABLES["quality_totals"].cast(with_share(counts, "valid", "tuples"))


def references(tuples: pl.DataFrame) -> pl.DataFrame:
    """Valid tuples per instance by relation and split: ``quality_references``, table 3."""
    counts = over_all(
        tuples.with_columns(key=pl.struct(*KEY)),
        "relation",
        "split",
        valid=pl.col("valid").sum(),
        instances=pl.col("key").filter("valid").n_unique(),
        identified=pl.col("key").n_unique(),
    )
    share = pl.when(pl.col("instances") > 0).then(pl.col("valid") / pl.col("instances"))
    return TABLES["quality_references"].cast(counts.with_columns(references=share))


def diversity(tuples: pl.DataFrame) -> pl.DataFrame:
    """Words, unique concepts and social heads of relations: ``quality_diversity``, table 2.

    Of all relations together, unique tuples and edges are those of the relations added up.
    """
    edges = tuples.select("relation", "instance", "concept").unique()
    texts = pl.concat(tuples.select("relation", text=name) for name in ("head", "concept")).unique()
    words = texts.select("relation", word=_words("text")).explode("word")
    social = pl.col("head").filter(_social(pl.col("head")))

    def unique(ending: str) -> dict[str, pl.Expr]:
        scores = {"": "bleu", "_without_penalty": "precision"}
        parts = scores.items()
        return {f"unique{ending}{n}": (pl.col(of) <= THRESHOLD).mean() for n, of in parts}

    counts = over_all(
        with_uniqueness(tuples, KEY),
        "relation",
        tuples=pl.len(),
        heads=pl.col("head").n_unique(),
        social_heads=social.n_unique(),
        **unique(""),
    )
    named = {"share": "social", "low": "social_low", "high": "social_high"}
    counted = with_share(counts, "social_heads", "heads").rename(named)
    scored = with_uniqueness(edges, ["relation", "instance"])
    for one in (
        over_all(scored, "relation", edges=pl.len(), **unique("_edges")),
        over_all(words, "relation", vocabulary=pl.col("word").drop_nulls().n_unique()),
    ):
        counted = counted.join(one, on="relation", how="left", maintain_order="left")
    return TABLES["quality_diversity"].cast(counted)


def _words(name: str) -> pl.Expr:
    return pl.col(name).str.to_lowercase().str.extract_all(r"\w+")


def with_uniqueness(rows: pl.DataFrame, group: list[str]) -> pl.DataFrame:
    """Rows with the BLEU-1 of their concept against the other concepts of its group.

    Clipped unigram precision, times the brevity penalty ``exp(1 - r / c)`` where the concept has
    c words, fewer than the r of the closest reference, the shorter of two that are as close.
    Concepts that are the same string are one, which is not a reference of itself.

    ``precision`` and ``bleu`` are 0 without another concept, and where the concept has no word.
    """
    items = rows.select(*group, "concept").unique().with_row_index("item")
    items = items.with_columns(
        group=pl.col("item").first().over(group), words=_words("concept")
    ).with_columns(length=pl.col("words").list.len().cast(pl.Int64))
    ordered = items.sort("group", "length")
    shorter, longer = (pl.col("length").shift(step).over("group") for step in (1, -1))
    nearer = longer.is_null() | (pl.col("length") - shorter <= longer - pl.col("length"))
    scored = ordered.with_columns(
        closest=pl.when(nearer & shorter.is_not_null()).then(shorter).otherwise(longer)
    ).join(_matched(items), on="item", how="left")
    length = pl.col("length").clip(1)
    precision = pl.col("matched").fill_null(0) / length
    penalty = pl.min_horizontal(1 - pl.col("closest") / length, 0.0).exp().fill_null(0.0)
    scores = scored.select(*group, "concept", precision=precision, bleu=precision * penalty)
    return rows.join(scores, on=[*group, "concept"], how="left", maintain_order="left")


def _matched(items: pl.DataFrame) -> pl.DataFrame:
    """``item, matched``: number of its words that others have, each up to the most in one other."""
    words = items.select("item", "group", word="words").explode("word").drop_nulls("word")
    counts = words.group_by("item", "group", "word").agg(n=pl.len())
    ranked = counts.sort("n", descending=True).with_columns(
        place=pl.int_range(pl.len()).over("group", "word"),
        most=pl.col("n").first().over("group", "word"),
        second=pl.col("n").get(1, null_on_oob=True).over("group", "word").fill_null(0),
    )
    others = pl.when(pl.col("place") == 0).then("second").otherwise("most")
    return ranked.group_by("item").agg(matched=pl.min_horizontal("n", others).sum())


_PERSONS = Path(__file__).parent / "data" / "persons.csv"


def _social(head: pl.Expr) -> pl.Expr:
    """Whether a head holds a Person variable or, if it is "subject, predicate, object" as those of
    Levy and Holt, has a person as subject or object: one whose last word, or the last one before
    an "of", is one of ``persons.csv`` or its plural in -s.
    """
    parts = head.str.to_lowercase().str.split(",")
    listed = pl.read_csv(_PERSONS)["word"].to_list()
    people = [*listed, *(f"{word}s" for word in listed)]
    last = pl.element().str.replace(r"\sof\s.*", "").str.extract(r"(\p{L}+)\P{L}*$")
    persons = parts.list.gather([0, 2], null_on_oob=True).list.eval(last.is_in(people)).list.any()
    variable = head.str.contains(r"\b[Pp]erson[XYZxyz]\b")
    return variable | ((parts.list.len() == 3) & persons.fill_null(False))


def generation_set(tuples: pl.DataFrame, positives: pl.DataFrame | None) -> pl.DataFrame:
    """A generation set beside the valid tuples, ``quality_generation_set``; empty without one."""
    table = TABLES["quality_generation_set"]
    if positives is None:
        return table.frame()
    valid, generated = (of.filter("valid").select(ELEMENTS).unique() for of in (tuples, positives))
    sets = {
        "valid": valid,
        "generation": generated,
        "both": valid.join(generated, on=ELEMENTS, how="semi"),
        "only_detection": valid.join(generated, on=ELEMENTS, how="anti"),
        "only_generation": generated.join(valid, on=ELEMENTS, how="anti"),
        "not_valid": positives.filter(~pl.col("valid")).select(ELEMENTS).unique(),
    }
    of = pl.concat(one.select("relation", of=pl.lit(name)) for name, one in sets.items())
    counted = {name: (pl.col("of") == name).sum() for name in sets}
    return table.cast(over_all(of, "relation", **counted))


def agreement(tuples: pl.DataFrame) -> pl.DataFrame:
    """Agreement by relation, ``quality_agreement``; empty where no tuple has two votes."""
    voted = tuples.filter(pl.col("votes") > 1)
    parts = voted.partition_by("relation", as_dict=True) | {(ALL,): voted}
    rows = [row for (name,), part in parts.items() if len(part) for row in _agreement(name, part)]
    return in_report_order(TABLES["quality_agreement"].frame(rows))


def _agreement(relation: str, voted: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of a relation; a bootstrap draws how many tuples have the same counts of votes."""
    patterns = voted.group_by("votes_valid", "votes").agg(n=pl.len()).sort("votes", "votes_valid")
    valid, votes, times = patterns.to_numpy().T
    counts = np.column_stack([valid, votes - valid])
    terms, equal = agreement_terms(counts), equal_votes(counts)
    drawn = np.random.default_rng(0).multinomial(len(voted), times / times.sum(), REPLICATES)
    found, sampled = (agreement_of_sums(n @ terms, equal=equal) for n in (times, drawn))
    about = {"relation": relation, "tuples": len(voted), "votes": int(times @ votes)}
    for measure in ("pairwise", "fleiss", "alpha"):
        value = finite(float(getattr(found, measure)))
        unequal = measure == "fleiss" and not equal
        why = "tuples differ in their number of votes" if unequal else "all votes are alike"
        low, high = map(float, percentile_interval(getattr(sampled, measure)))
        known = {"reason": why} if value is None else {"value": value, "low": low, "high": high}
        yield about | {"measure": measure} | known
    unanimous = int(times @ ((valid == 0) | (valid == votes)))
    low, high = wilson(unanimous, len(voted))
    share = {"value": unanimous / len(voted), "low": low, "high": high}
    yield about | {"measure": "unanimous"} | share


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


def weak_labels(tuples: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Weak labels by relation, ``quality_weak``, and each of them, columns `WEAK_LABELS`."""
    votes, valid, own = map(pl.col, ("votes", "votes_valid", "for_label"))
    tie, against = 2 * own == votes, 2 * own < votes
    kind = pl.when(tie).then(pl.lit("tie")).when(against).then(pl.lit("against"))
    marked = (
        tuples.drop_nulls("votes")
        .with_columns(for_label=pl.when("valid").then(valid).otherwise(votes - valid))
        .with_columns(kind=kind.when(own < CARRYING * votes - 1e-9).then(pl.lit("weak")))
    )
    weak = pl.col("kind").count()
    counted = {"tuples": pl.len(), "weak": weak, "ties": tie.sum(), "against": against.sum()}
    table = with_share(over_all(marked, "relation", **counted), "weak", "tuples")
    return TABLES["quality_weak"].cast(table), marked.drop_nulls("kind").select(*WEAK_LABELS)
