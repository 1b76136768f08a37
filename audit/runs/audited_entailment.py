"""Entailment graphs in a run: tuples read, measured, and made a part of the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.progress import Progress, silent
from audit.data.dataset import LabelDataset
from audit.data.records import Records
from audit.entailment.corrections import corrections, write_corrected
from audit.entailment.dataset import EntailmentDataset
from audit.entailment.detection.predictions import (
    read_validity_predictions,
    together,
)
from audit.entailment.generation.generations import read_generations
from audit.entailment.generation.ratings import read_ratings
from audit.entailment.measure import Beside, EntailmentMeasurements, measure_entailment
from audit.entailment.prompting.answers import answer_texts, read_answers
from audit.entailment.reading.answer_columns import refuse_foreign
from audit.entailment.reading.columns import ELEMENTS
from audit.entailment.reading.reading import read_entailment
from audit.entailment.settings import Entailing
from audit.hierarchies.formats.wordnet import read_wordnet
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.parts.entailment_part import SHARED, EntailmentPart
from audit.results.result import AuditResult
from audit.runs.labels_alone import ENTAILMENT, labels_alone
from audit.runs.settings import Settings


@dataclass(frozen=True, eq=False)
class Entailment:
    """Tuples as read, and what is measured with them: an analysis of a run."""

    dataset: EntailmentDataset
    beside: Beside
    settings: Entailing

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The tuples as instances, each with its relation as label; refused ones are bad rows."""
        rows = self.dataset.tuples.select(instance="id", label="relation").sort("instance")
        refused = pl.DataFrame({"refused": ["bad_row"] * sum(self.dataset.refused.values())})
        return labels_alone(
            pl.concat([rows, refused.cast(pl.String)], how="diagonal"),
            rows["instance"],
            ENTAILMENT,
            self.dataset.sources,
            hierarchy,
        )

    def measured(self, measured: Measurements, seed: int, progress: Progress) -> Measurements:
        """The measurements with those of the entailment graph."""
        entailment = measure_entailment(self.dataset, self.beside, progress)
        return replace(measured, entailment=entailment)

    def part(self, measured: Measurements) -> EntailmentPart:
        """What a run keeps of the entailment graph."""
        entailed = measured.entailed
        tables = dict(_tables(entailed))
        rate = measured.policy.false_discovery_rate.value
        tables["corrections"] = corrections(entailed, rate)
        if self.settings.answers:
            tables["answers"] = answer_texts(self.settings.answers)
        restricted = {name: frame for name, frame in tables.items() if name not in SHARED}
        shared = {name: frame for name, frame in tables.items() if name in SHARED}
        return EntailmentPart(_facts(self, entailed, tuple(restricted)), shared, restricted)


def read_entailment_graph(
    files: tuple[Path, ...], settings: Entailing, progress: Progress = silent
) -> Entailment:
    """Read tuples, and what comes with them.

    Args:
        files: The files of tuples.
        settings: What is read with them, and how.
        progress: Progress callback.

    Raises:
        InputError: If METEOR is to be measured without a WordNet, there are ratings of nothing, or
            a model names no tuple that there is.
    """
    if settings.meteor and settings.wordnet is None:
        raise InputError("METEOR needs a WordNet", found="none", hint="--wordnet FOLDER")
    if settings.ratings is not None and not settings.generations:
        raise InputError("--ratings goes with --generations", found="no generated concepts")
    progress("reading tuples")
    dataset = read_entailment(files, settings.kind, settings.columns)
    predictions = _predictions(settings)
    generations = read_generations(settings.generations) if settings.generations else None
    ids = dataset.tuples["id"]
    refuse_foreign(predictions.frame, ids, predictions.sources)
    if generations is not None:
        refuse_foreign(generations.frame, ids, generations.sources)
    beside = Beside(
        positives=_positives(settings),
        predictions=predictions,
        generations=generations,
        ratings=None if settings.ratings is None else read_ratings([settings.ratings]),
        wordnet=None if settings.wordnet is None else read_wordnet(settings.wordnet),
        meteor=settings.wordnet if settings.meteor else None,
    )
    return Entailment(dataset, beside, settings)


def _positives(settings: Entailing) -> EntailmentDataset | None:
    """The generation set, its elements in columns of the same names as those of the tuples."""
    if settings.positives is None:
        return None
    columns = {name: column for name, column in settings.columns.items() if name in ELEMENTS}
    return read_entailment(settings.positives, settings.kind, columns, labelled=False)


def _predictions(settings: Entailing) -> Records:
    """Predicted validity, and answers to prompts."""
    read = []
    if settings.predictions:
        read.append(read_validity_predictions(settings.predictions))
    if settings.answers:
        read.append(read_answers(settings.answers))
    return together(read)


def write_corrected_files(
    result: AuditResult, settings: Settings, folder: Path
) -> Mapping[str, int]:
    """Write copies of the files of a run with its corrections, those to review left out.

    Args:
        result: The result of an audit of an entailment graph.
        settings: Its settings.
        folder: A folder that does not exist.

    Returns:
        The corrections that were made, and those that are left to people, by ``action``.
    """
    entailing, part = settings.entailing, result.part(EntailmentPart)
    if entailing is None or part is None:
        raise ValueError("an audit of an entailment graph is required")
    proposed = part.restricted["corrections"]
    files = (Path(settings.dataset), *entailing.further)
    dataset = read_entailment(files, entailing.kind, entailing.columns)
    write_corrected(dataset, proposed, folder, entailing.kind, entailing.columns)
    return dict(proposed["action"].value_counts().iter_rows())


def _tables(entailed: EntailmentMeasurements) -> Iterator[tuple[str, pl.DataFrame]]:
    """Every table, named by what measured it."""
    for room in ("quality", "graph", "detection", "generation"):
        measured = getattr(entailed, room)
        if measured is None:
            continue
        for field in fields(measured):
            value = getattr(measured, field.name)
            if isinstance(value, pl.DataFrame):
                yield f"{room}_{field.name}", value


def _facts(
    entailment: Entailment, entailed: EntailmentMeasurements, restricted: tuple[str, ...]
) -> Mapping[str, Any]:
    dataset, settings = entailment.dataset, entailment.settings
    tuples = dataset.tuples
    detection, generation = entailed.detection, entailed.generation
    return {
        "tuples": tuples.height,
        "rows_read": dataset.rows_read,
        "refused": dict(dataset.refused),
        "files": len(dataset.sources),
        "kind": settings.kind,
        "relations": tuples["relation"].n_unique(),
        "splits": tuples["split"].drop_nulls().n_unique(),
        "voted": tuples["votes"].count(),
        "annotators": dataset.votes["annotator"].n_unique(),
        "generation_set": settings.positives is not None,
        "parameters": entailed.quality.parameters,
        "wordnet": settings.wordnet is not None,
        "models": detection.coverage["model"].n_unique(),
        "predictions": dict(detection.ledger),
        "threshold": detection.threshold,
        "generations": dict(generation.ledger) if generation else None,
        "ratings": dict(generation.rating_ledger) if generation else None,
        "restricted": list(restricted),
    }
