"""How well models name concepts of instances, table 7, and what people say of the texts, 18."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.answers import refuse_repeated
from audit.analyses.entailment.dataset import KEY, Questions, parts_by_relation, questions_of
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.text_measures import bleu_counts, meteor_by, rouge
from audit.base.dag import FloatArray
from audit.base.declared import finite
from audit.base.progress import Progress
from audit.data.records import Records
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import grouped_wilson
from audit.engine.statistics.resampling import with_interval

MEASURES = (
    "bleu_1_precision", "bleu_2_precision", "rouge_2_recall", "rouge_l_f1", "repeats_instance",
    "meteor",
)  # fmt: skip
"""Each is the ratio of two sums over texts; the last only where it is asked for."""


def measure_generation(
    tuples: pl.DataFrame, generations: Records, meteor: Path | None, progress: Progress
) -> tuple[dict[str, pl.DataFrame], Mapping[str, int]]:
    """Compare generated concepts with the valid ones of the same head, relation and instance.

    References are those of the test set, or of all tuples where there is none; a WordNet folder
    adds METEOR. Beside the tables it says what became of the rows; counts add up to ``rows_read``.

    Raises:
        InputError: If a model has two texts for an instance, the folder is no WordNet with all
            parts of speech, or nltk is not installed.
    """
    score, asked = meteor_by(meteor) if meteor else None, questions_of(tuples)
    valid = asked.rows.filter("valid").select(*KEY, "concept").unique(maintain_order=True)
    references = valid.group_by(KEY, maintain_order=True).agg(references="concept")
    instances = Questions(references, asked.split)
    frame, nameless = generations.frame, pl.col("id").is_null()
    by_id = frame.filter(~nameless).select("model", "text", "id")
    by_id = by_id.join(tuples.select("id", *KEY), on="id").select("model", "text", *KEY)
    named = pl.concat([by_id, frame.filter(nameless).select("model", "text", *KEY)])
    known = named.join(tuples, on=KEY, how="semi")
    single = known.unique(maintain_order=True)
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
    rows, models = list[dict[str, Any]](), texts.partition_by("model", maintain_order=True)
    for number, own in enumerate(models):
        progress("comparing texts with references", number, len(models), "models")
        counts = []
        for text, others, instance in own.select("text", "references", "instance").iter_rows():
            scores = [*rouge(text, others), text.lower() == instance.lower()]
            scores += [score(text, others)] if score else []
            counts.append([*bleu_counts(text, others), *(one for s in scores for one in (s, 1))])
        rows += _measured(instances, own, np.array(counts, np.float64))
    return {"generation_measured": TABLES["generation_measured"].frame(rows)}, ledger


def _measured(
    instances: Questions, texts: pl.DataFrame, counts: FloatArray
) -> Iterator[dict[str, Any]]:
    """A row of ``generation_measured`` by relation and measure of one model: the ratio of two sums
    of ``counts``, numerators and denominators in turn, shape (n, 2 * measures)."""
    row = texts["row"].cast(pl.Int64).to_numpy()
    several = texts["references"].list.len().cast(pl.Float64).to_numpy()
    for relation, own in parts_by_relation(texts["relation"]).items():
        about = {"model": texts["model"][0], "relation": relation, "split": instances.split}
        possible, known = len(instances.parts[relation]), float(several[own].mean())
        sizes = {"n": len(own), "instances": possible, "references": known}
        sums = instances.drawn.of(row[own]).sums(counts[own])
        ratios = ratio(sums[:, ::2], sums[:, 1::2])
        ratios[:, :2] = np.nan_to_num(ratios[:, :2])  # a precision without n-grams is 0
        for measure, estimates in zip(MEASURES, ratios.T, strict=False):
            numbers = (finite(float(number)) for number in with_interval(estimates))
            told = dict(zip(("value", "low", "high"), numbers, strict=True))
            yield about | sizes | {"measure": measure} | told


def rating_tables(
    ratings: Records, tuples: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], Mapping[str, int]]:
    """What people say of texts, ``generation_ratings``; and what became of the rows."""
    known, rows = ratings.frame.join(tuples.select("id", "relation"), on="id"), []
    levels = known["level"].unique().sort().to_list()
    for own in known.sort("model").partition_by("model", maintain_order=True):
        for relation, part in parts_by_relation(own["relation"]).items():
            counts = {level: (pl.col("level") == level).sum() for level in levels}
            by_item = own[part].group_by("id").agg(**counts).sort("id").drop("id")
            votes = by_item.to_numpy().astype(np.float64)
            sizes = {"ratings": len(part), "items": len(votes)}
            for level, of_level in zip(levels, votes.T, strict=True):
                low, high = grouped_wilson(of_level, votes.sum(axis=1))
                told = {"share": float(of_level.sum() / len(part)), "low": low, "high": high}
                about = {"model": own["model"][0], "relation": relation, "level": level}
                rows.append(about | told | sizes)
    unknown = ratings.frame.height - known.height
    used = {"rows_read": ratings.rows_read, "used": known.height, "unknown_id": unknown}
    tables = {"generation_ratings": TABLES["generation_ratings"].frame(rows)}
    return tables, {**used, **ratings.ledger}
