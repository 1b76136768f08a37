"""Entailment graphs in a run: tuples read, measured, checked, and what numbers say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.analyses.entailment.answer_columns import by_number, refuse_foreign
from audit.analyses.entailment.answers import answer_texts, read_answers
from audit.analyses.entailment.checks import dataset_checks, graph_checks, vote_checks
from audit.analyses.entailment.dataset import EntailmentDataset
from audit.analyses.entailment.declared import HEADLINES, SAYS, TABLES
from audit.analyses.entailment.detection import THRESHOLD
from audit.analyses.entailment.generations import read_generations, read_ratings
from audit.analyses.entailment.measure import (
    PARAMETERS,
    Beside,
    EntailmentMeasurements,
    measure_entailment,
)
from audit.analyses.entailment.predictions import read_validity_predictions, together
from audit.analyses.entailment.reading import read_entailment
from audit.analyses.entailment.settings import Entailing
from audit.analyses.entailment.tuple_files import ELEMENTS
from audit.base.declared import NONE, Columns, count, setting, text, whole
from audit.base.errors import InputError
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.checks.analysis import FileAnalysis
from audit.checks.check import Check
from audit.data.class_lists import Shared
from audit.data.dataset import LabelDataset
from audit.data.records import Records
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Found, Measurements

FACTS = Columns(
    count("tuples voted", "Tuples|With votes"),
    count("rows_read refused", "Rows read|Refused", of="rows"),
    whole("files models", "Files|Models"),
    text("kind generation_set restricted"),
    count(
        "relations splits annotators predictions generations ratings",
        "Relations|Splits|Annotators|Predictions|Generated concepts|Ratings",
        of=NONE,
    ),
    setting("parameters threshold"),
)
"""What each fact is."""


def facts_of(
    dataset: EntailmentDataset,
    settings: Entailing,
    entailed: EntailmentMeasurements,
    restricted: Iterable[str],
) -> Mapping[str, Any]:
    """How much was read and measured, and which tables are for the window alone."""
    tuples = dataset.tuples
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
        "parameters": PARAMETERS,
        "models": entailed.frames["detection_coverage"]["model"].n_unique(),
        "predictions": dict(entailed.ledgers["predictions"]),
        "threshold": THRESHOLD,
        "generations": entailed.ledgers.get("generations"),
        "ratings": entailed.ledgers.get("ratings"),
        "restricted": list(restricted),
    }


@dataclass(frozen=True, eq=False)
class Entailment(FileAnalysis):
    """Tuples as read, and what is measured with them."""

    name: ClassVar[str] = "entailment"
    format: ClassVar[str] = "entailment"
    stated_by: ClassVar[type[Entailing]] = Entailing
    tables = TABLES
    facts = FACTS
    says = SAYS
    headlines = HEADLINES
    called = "tuples"
    checks: ClassVar[tuple[Check, ...]] = (
        dataset_checks.TAIL_MISMATCH,
        dataset_checks.HEAD_IN_TWO_SPLITS,
        dataset_checks.DUPLICATE_TUPLE,
        dataset_checks.GENERATION_MISMATCH,
        vote_checks.WEAK_LABEL,
        graph_checks.CONTRADICTION,
        graph_checks.CYCLE,
        graph_checks.TRANSITIVITY,
        graph_checks.REDUNDANT_EDGE,
    )

    dataset: EntailmentDataset
    beside: Beside
    settings: Entailing
    readings: tuple[Reading, ...] = ()

    @classmethod
    def read(cls, settings: Entailing, progress: Progress) -> Self:
        """Read tuples, and what comes with them."""
        if settings.ratings is not None and not settings.generations:
            raise InputError("--ratings needs --generations", found="no generated concepts")
        progress("reading tuples")
        dataset = _dataset(settings)
        if settings.numbered_from is not None and not dataset.numbered:
            raise InputError("--numbered-from needs tuples without ids", found="tuples with ids")
        first = settings.numbered_from
        predictions, readings = _predictions(settings, dataset)
        generations, ratings = None, None
        if settings.generations:
            generations = read_generations(settings.generations)
            generations, told = by_number(generations, dataset, first, "generations")
            readings += told
        if settings.ratings is not None:
            ratings = read_ratings([settings.ratings])
            ratings, told = by_number(ratings, dataset, first, "ratings")
            readings += told
        ids = dataset.tuples["id"]
        refuse_foreign(predictions.frame, ids, predictions.sources)
        if generations is not None:
            refuse_foreign(generations.frame, ids, generations.sources)
        beside = Beside(
            positives=_positives(settings),
            predictions=predictions,
            generations=generations,
            ratings=ratings,
            meteor=settings.meteor,
        )
        return cls(dataset, beside, settings, readings)

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The tuples as instances, each with its relation as label; refused ones are bad rows."""
        rows = self.dataset.tuples.select(instance="id", label="relation").sort("instance")
        refused = pl.DataFrame({"refused": ["bad_row"] * sum(self.dataset.refused.values())})
        return labels_alone(
            pl.concat([rows, refused.cast(pl.String)], how="diagonal"),
            rows["instance"],
            self.format,
            self.dataset.sources,
            hierarchy,
        )

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """Measure the graph, its dataset, and predictions; of cases the first ones are shared."""
        found = measure_entailment(self.dataset, self.beside, progress)
        tables = dict(found.frames)
        if self.settings.answers:
            paths, first = self.settings.answers, self.settings.numbered_from
            texts = Records(answer_texts(paths), {}, paths)
            tables["answers"] = by_number(texts, self.dataset, first, "answers")[0].frame
        restricted = {name: frame for name, frame in tables.items() if name not in TABLES}
        return Found(tables, facts_of(self.dataset, self.settings, found, restricted), found)


def _positives(settings: Entailing) -> EntailmentDataset | None:
    """The generation set, its elements in columns of the same names as those of the tuples."""
    if settings.positives is None:
        return None
    columns = {name: column for name, column in settings.columns.items() if name in ELEMENTS}
    return read_entailment(settings.positives, settings.kind, columns, labelled=False)


def _predictions(
    settings: Entailing, dataset: EntailmentDataset
) -> tuple[Records, tuple[Reading, ...]]:
    """Predicted validity, and answers."""
    read, readings, first = list[Records](), dataset.readings, settings.numbered_from
    if settings.predictions:
        in_order = dataset.rows_read if dataset.numbered else None
        given = read_validity_predictions(
            settings.predictions, in_order=in_order, classes=settings.classes
        )
        given, told = by_number(given, dataset, first, "predictions", own=False)
        read, readings = [given], (*readings, *told)
    if settings.answers:
        given, told = by_number(read_answers(settings.answers), dataset, first, "answers")
        read, readings = [*read, given], (*readings, *told)
    return together(read), readings


def _dataset(settings: Entailing) -> EntailmentDataset:
    shared = settings.classes and settings.predictions and Shared(settings.classes)
    return read_entailment(
        settings.files, settings.kind, settings.columns, classes=shared or settings.classes
    )
