"""How well models name concepts of instances, table 7, and what people say of the texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.answers import refuse_repeated
from audit.analyses.entailment.dataset import Questions, parts_by_relation, questions_of
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.text_measures import (
    COUNTS,
    bleu_counts,
    bleu_measures,
    meteor_by,
    rouge,
)
from audit.base.dag import FloatArray, IntArray
from audit.base.declared import finite
from audit.base.progress import Progress
from audit.data.records import Records
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import grouped_wilson
from audit.engine.statistics.raters import agreement_of_sums, agreement_terms, equal_votes
from audit.engine.statistics.resampling import group_bootstrap, with_interval

KEY = ["head", "relation", "instance"]
"""What a text is generated for."""
SCORES = ("rouge_2_recall", "rouge_l_f1", "exact_match", "meteor")
"""Measures that are means over texts; the last one only where it is asked for."""


def measure_generation(
    tuples: pl.DataFrame, generations: Records, meteor: Path | None, progress: Progress
) -> tuple[dict[str, pl.DataFrame], Mapping[str, int]]:
    """Compare generated concepts with the valid ones of the same head, relation and instance.

    References are those of the test set, or of all tuples where there is none.

    Args:
        meteor: A WordNet folder, which adds METEOR.

    Returns:
        The tables by name, and what became of the rows; all counts but ``rows_read`` add up to it.

    Raises:
        InputError: If a model has two texts for an instance, the folder is no WordNet with all
            parts of speech, or nltk is not installed.
    """
    score = meteor_by(meteor) if meteor else None
    asked = questions_of(tuples)
    valid = asked.rows.filter("valid").select(*KEY, "concept").unique(maintain_order=True)
    references = valid.group_by(KEY, maintain_order=True).agg(references="concept")
    instances = Questions(references, asked.split)
    frame = generations.frame.select("model", "id", "text", *KEY)
    nameless = pl.col("id").is_null()
    by_id = frame.filter(~nameless).drop(KEY).join(tuples.select("id", *KEY), on="id", how="left")
    known = pl.concat([by_id, frame.filter(nameless)]).join(tuples, on=KEY, how="semi")
    single = known.unique(["model", "text", *KEY], maintain_order=True)
    here = single.join(asked.rows, on=KEY, how="semi")
    texts = here.join(references.with_row_index("row"), on=KEY).sort("model", "row")
    refuse_repeated(texts, ("model", *KEY), generations.sources)
    ledger = {
        "rows_read": generations.rows_read,
        "used": texts.height,
        "unknown": frame.height - known.height,
        "repeated": known.height - single.height,
        "other_split": single.height - here.height,
        "without_reference": here.height - texts.height,
        **generations.ledger,
    }
    rows, coverage = list[dict[str, Any]](), list[dict[str, Any]]()
    models = texts.partition_by("model", maintain_order=True)
    for number, own in enumerate(models):
        progress("comparing texts with references", number, len(models), "models")
        counts = [
            (
                *bleu_counts(text, others),
                1.0,
                *rouge(text, others),
                _plain(text) in map(_plain, others),
                *([score(text, others)] if score else []),
            )
            for text, others in own.select("text", "references").iter_rows()
        ]
        rows += _measured(instances, own, np.array(counts, np.float64))
        coverage += _coverage(instances, own)
    found = {"generation_measured": rows, "generation_coverage": coverage}
    return {name: TABLES[name].frame(own) for name, own in found.items()}, ledger


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _measured(
    instances: Questions, texts: pl.DataFrame, counts: FloatArray
) -> Iterator[dict[str, Any]]:
    """Rows of ``generation_measured`` of one model.

    Args:
        counts: What each text adds to the sums: counts of BLEU, 1, and its scores by `SCORES`.
    """
    row = texts["row"].cast(pl.Int64).to_numpy()
    several = texts["references"].list.len().cast(pl.Float64).to_numpy()
    for relation, own in parts_by_relation(texts["relation"]).items():
        about = {"model": texts["model"][0], "relation": relation, "split": instances.split}
        sizes = {"n": len(own), "references": float(several[own].mean())}
        sums = instances.drawn.of(row[own]).sums(counts[own])
        scores = zip(SCORES, sums[:, COUNTS + 1 :].T, strict=False)
        means = {name: ratio(total, sums[:, COUNTS]) for name, total in scores}
        for measure, estimates in {**bleu_measures(sums[:, :COUNTS]), **means}.items():
            yield about | sizes | {"measure": measure} | _with_ends(estimates)


def _with_ends(estimates: FloatArray) -> dict[str, float | None]:
    numbers = (finite(float(number)) for number in with_interval(estimates))
    return dict(zip(("value", "low", "high"), numbers, strict=True))


def _coverage(instances: Questions, texts: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of ``generation_coverage`` of one model."""
    given, blank = np.zeros((2, instances.rows.height), np.bool_)
    given[texts["row"]] = True
    blank[texts.filter(text="")["row"]] = True
    for relation, own in instances.parts.items():
        yield {
            "model": texts["model"][0],
            "relation": relation,
            "split": instances.split,
            "instances": len(own),
            "generated": int(given[own].sum()),
            "blank": int(blank[own].sum()),
            "missing": int((~given[own]).sum()),
        }


def rating_tables(
    ratings: Records | None, tuples: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], Mapping[str, int]]:
    """What people say of texts, and how far they agree; and what became of the rows.

    Args:
        ratings: None gives empty tables.
    """
    shares, agreement = list[dict[str, Any]](), list[dict[str, Any]]()
    ledger: Mapping[str, int] = {}
    if ratings is not None:
        known = ratings.frame.join(tuples.select("id", "relation"), on="id").sort("model")
        levels = known["level"].unique().sort().to_list()
        for own in known.partition_by("model", maintain_order=True):
            for relation, rows in parts_by_relation(own["relation"]).items():
                about = {"model": own["model"][0], "relation": relation}
                by_item = (
                    own[rows]
                    .group_by("id")
                    .agg(
                        *(
                            (pl.col("level") == level).sum().alias(f"of {level}")
                            for level in levels
                        ),
                    )
                    .sort("id")
                )
                counts = by_item.drop("id").to_numpy().astype(np.int64)
                shares += [about | line for line in _shares(counts, levels)]
                raters = {"raters": own[rows]["rater"].n_unique()}
                lines = _agreement(by_item["id"].to_list(), counts)
                agreement += [about | raters | line for line in lines]
        unknown = ratings.frame.height - known.height
        ledger = {"rows_read": ratings.rows_read, "used": known.height, "unknown_id": unknown}
        ledger |= dict(ratings.ledger)
    found = {"generation_ratings": shares, "generation_agreement": agreement}
    return {name: TABLES[name].frame(own) for name, own in found.items()}, ledger


def _shares(counts: IntArray, levels: Sequence[str]) -> Iterator[dict[str, Any]]:
    by_item = counts.sum(axis=1).astype(np.float64)
    for level, of_level in zip(levels, counts.T.astype(np.float64), strict=True):
        low, high = grouped_wilson(of_level, by_item)
        sizes = {"ratings": int(by_item.sum()), "items": len(counts)}
        share = float(of_level.sum() / by_item.sum())
        yield {"level": level, "share": share, "low": low, "high": high} | sizes


def _agreement(items: Sequence[str], counts: IntArray) -> Iterator[dict[str, Any]]:
    votes = counts.sum(axis=1)
    if not (several := votes > 1).any():
        return
    drawn = group_bootstrap(np.arange(len(items)), items)
    found = agreement_of_sums(drawn.sums(agreement_terms(counts)), equal=equal_votes(counts))
    sizes = {"items": int(several.sum()), "ratings": int(votes[several].sum())}
    for measure in ("pairwise", "fleiss", "alpha"):
        yield {"measure": measure} | _with_ends(getattr(found, measure)) | sizes
