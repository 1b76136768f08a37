"""Measure how well models name concepts of instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.entailment.answer_columns import refuse_repeated
from audit.analyses.entailment.dataset import (
    EntailmentDataset,
    Questions,
    parts_by_relation,
    questions_of,
)
from audit.analyses.entailment.declared import TABLES
from audit.analyses.entailment.generations import rating_tables
from audit.analyses.entailment.text_measures import (
    COUNTS,
    Meteor,
    bleu_counts,
    bleu_measures,
    meteor_by,
    rouge,
)
from audit.base.dag import FloatArray
from audit.base.progress import Progress, silent
from audit.data.records import Records
from audit.engine.statistics.resampling import with_interval

KEY = ("head", "relation", "instance")
"""What a text is generated for."""
SCORES = ("rouge_2_recall", "rouge_l_f1", "exact_match", "meteor")
"""Measures that are means over texts; the last one only where it is asked for."""


def measure_generation(
    dataset: EntailmentDataset,
    generations: Records,
    *,
    ratings: Records | None = None,
    meteor: Path | None = None,
    progress: Progress = silent,
) -> tuple[dict[str, pl.DataFrame], dict[str, Mapping[str, int]]]:
    """Compare generated concepts with the valid ones of the same head, relation and instance.

    References are those of the test set, or of all tuples where there is none.

    Args:
        meteor: A WordNet folder, which adds METEOR.

    Returns:
        The tables by name, and what became of the rows of ``generations`` and ``ratings``:
        ``rows_read``; ``used``; ``repeated``, the same text for the same instance again;
        ``unknown``, texts for instances that the data set lacks; ``other_split``, those for
        instances in other splits than the measured one; ``without_reference``, those for instances
        of which no concept is valid; and rows refused when read, by reason. All but the first add
        up to the first.

    Raises:
        InputError: If a model has two texts for an instance, the folder is no WordNet with all
            parts of speech, or nltk is not installed for it.
    """
    score = None if meteor is None else meteor_by(meteor)
    questions = questions_of(dataset)
    instances = Questions(_references(questions.tuples), questions.split)
    ledger, texts = _ledger(dataset, questions.tuples, instances, generations)
    rows: list[dict[str, Any]] = []
    coverage: list[dict[str, Any]] = []
    models = texts.partition_by("model", maintain_order=True)
    for number, own in enumerate(models):
        progress("comparing texts with references", number, len(models), "models")
        rows += _measured(instances, own, score)
        coverage += _coverage(instances, own)
    progress("comparing texts with references", len(models), len(models), "models")
    shares, agreement, rating_ledger = rating_tables(ratings, dataset.tuples)
    frames = {
        "generation_measured": TABLES["generation_measured"].frame(rows),
        "generation_coverage": TABLES["generation_coverage"].frame(coverage),
        "generation_ratings": shares,
        "generation_agreement": agreement,
    }
    return frames, {"generations": ledger, "ratings": rating_ledger}


def _references(tuples: pl.DataFrame) -> pl.DataFrame:
    valid = tuples.filter("valid").select(*KEY, "concept").unique(maintain_order=True)
    return valid.group_by(KEY, maintain_order=True).agg(references="concept")


def _ledger(
    dataset: EntailmentDataset,
    measured: pl.DataFrame,
    instances: Questions,
    generations: Records,
) -> tuple[Mapping[str, int], pl.DataFrame]:
    """What became of the rows, and texts as ``model, row, text`` by the row of their instance."""
    frame = generations.frame
    by_id = frame.filter(pl.col("id").is_not_null()).select("model", "id", "text")
    named = pl.concat(
        [
            by_id.join(dataset.tuples.select("id", *KEY), on="id", how="left"),
            frame.filter(pl.col("id").is_null()).select("model", "id", "text", *KEY),
        ]
    )
    known = named.join(dataset.tuples, on=KEY, how="semi")
    single = known.unique(["model", "text", *KEY], maintain_order=True)
    here = single.join(measured, on=KEY, how="semi")
    places = instances.tuples.select(*KEY).with_row_index("row")
    texts = here.join(places, on=KEY).select("model", "row", "text", *KEY).sort("model", "row")
    refuse_repeated(texts, ("model", *KEY), generations.sources)
    counts = {
        "rows_read": generations.rows_read,
        "used": texts.height,
        "unknown": named.height - known.height,
        "repeated": known.height - single.height,
        "other_split": single.height - here.height,
        "without_reference": here.height - texts.height,
    }
    return counts | dict(generations.ledger), texts.select("model", "row", "text")


def _measured(
    instances: Questions, texts: pl.DataFrame, meteor: Meteor | None
) -> Iterator[dict[str, Any]]:
    """Rows of `MEASURED` of one model."""
    row = texts["row"].to_numpy().astype(np.int64)
    references = instances.tuples["references"].gather(row).to_list()
    counts = _counts(texts["text"].to_list(), references, meteor)
    several = np.array([len(of) for of in references], np.float64)
    for relation, own in parts_by_relation(instances.tuples["relation"].gather(row)).items():
        about = {"model": texts["model"][0], "relation": relation, "split": instances.split}
        sizes = {"n": len(own), "references": float(several[own].mean())}
        sums = instances.drawn.of(row[own]).sums(counts[own])
        for measure, estimates in _measures(sums).items():
            value, low, high = (float(number) for number in with_interval(estimates))
            yield {**about, **sizes, "measure": measure, "value": value, "low": low, "high": high}


def _counts(
    texts: Sequence[str], references: Sequence[Sequence[str]], meteor: Meteor | None
) -> FloatArray:
    """What each text adds to the sums: counts of BLEU, 1, and its scores in order of `SCORES`."""
    rows = []
    for text, others in zip(texts, references, strict=True):
        same = _plain(text) in {_plain(other) for other in others}
        further = () if meteor is None else (meteor(text, others),)
        rows.append((*bleu_counts(text, others), 1.0, *rouge(text, others), same, *further))
    return np.array(rows, np.float64)


def _measures(sums: FloatArray) -> Mapping[str, FloatArray]:
    """Measures from sums over texts, each of shape (1 + replicates,)."""
    n, scores = sums[:, COUNTS], sums[:, COUNTS + 1 :].T
    means = {
        name: np.divide(total, n, np.full_like(n, np.nan), where=n > 0)
        for name, total in zip(SCORES, scores, strict=False)
    }
    return {**bleu_measures(sums[:, :COUNTS]), **means}


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _coverage(instances: Questions, texts: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of `COVERAGE` of one model."""
    size = instances.tuples.height
    given, blank = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    given[texts["row"].to_numpy()] = True
    blank[texts.filter(text="")["row"].to_numpy()] = True
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
