"""Entailment graphs in a run: tuples read, measured, checked, and what numbers say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.analyses.entailment import quality
from audit.analyses.entailment.answers import (
    by_number,
    read_answers,
    read_generations,
    read_ratings,
    read_validity_predictions,
    refuse_foreign,
    together,
)
from audit.analyses.entailment.dataset import ELEMENTS, EntailmentDataset
from audit.analyses.entailment.declared import HEADLINES, SAYS, TABLES
from audit.analyses.entailment.detection import THRESHOLD, measure_detection
from audit.analyses.entailment.generation import measure_generation, rating_tables
from audit.analyses.entailment.graph_checks import CHECKS
from audit.analyses.entailment.reading import read_entailment
from audit.analyses.entailment.settings import Entailing
from audit.analyses.entailment.shape import measure_graph
from audit.analyses.entailment.votes import CARRYING, REPLICATES, agreement, weak_labels
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


@dataclass(frozen=True, eq=False)
class Entailment(FileAnalysis):
    """Tuples as read, and what is measured with them.

    Args:
        positives: The generation set; None without one.
        given: What was read of each of ``predictions``, ``answers``, ``generations`` and
            ``ratings`` that is there.
    """

    name: ClassVar[str] = "entailment"
    format: ClassVar[str] = "entailment"
    stated_by: ClassVar[type[Entailing]] = Entailing
    tables = TABLES
    facts = FACTS
    says = SAYS
    headlines = HEADLINES
    called = "tuples"
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    dataset: EntailmentDataset
    positives: pl.DataFrame | None
    given: Mapping[str, Records]
    settings: Entailing
    readings: tuple[Reading, ...] = ()

    @classmethod
    def read(cls, settings: Entailing, progress: Progress) -> Self:
        """Read tuples, and what comes with them."""
        if settings.ratings is not None and not settings.generations:
            raise InputError("--ratings needs --generations", found="no generated concepts")
        progress("reading tuples")
        shared = settings.classes and settings.predictions and Shared(settings.classes)
        dataset = read_entailment(
            settings.files, settings.kind, settings.columns, classes=shared or settings.classes
        )
        if settings.numbered_from is not None and not dataset.numbered:
            raise InputError("--numbered-from needs tuples without ids", found="tuples with ids")
        given, readings = _beside(settings, dataset)
        positives = None
        if settings.positives is not None:
            columns = {name: of for name, of in settings.columns.items() if name in ELEMENTS}
            files = (settings.positives,)
            positives = read_entailment(files, settings.kind, columns, labelled=False).tuples
        return cls(dataset, positives, given, settings, (*dataset.readings, *readings))

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
        """Measure the graph, its dataset, and predictions; of cases the first ones are shared.

        Beside the tables that are declared there are the tuples behind findings:
        ``quality_mismatches``, ``quality_misplaced``, ``quality_repeats`` and
        ``quality_weak_labels``; ``graph_edges``, ``graph_members`` and ``answers``.
        """
        tuples, positives, given = self.dataset.tuples, self.positives, self.given
        progress("counting tuples and words")
        mismatches = quality.mismatched(tuples)
        weak, weakly_labelled = weak_labels(tuples)
        tables = {
            "quality_totals": quality.totals(tuples),
            "quality_diversity": quality.diversity(tuples),
            "quality_references": quality.references(tuples if positives is None else positives),
            "quality_generation_set": quality.generation_set(tuples, positives),
            "quality_consistency": quality.consistency(tuples, mismatches),
            "quality_shared_keys": quality.shared_keys(tuples),
            "quality_agreement": agreement(tuples),
            "quality_weak": weak,
            "quality_mismatches": mismatches,
            "quality_misplaced": quality.misplaced(tuples),
            "quality_repeats": quality.repeats(tuples),
            "quality_weak_labels": weakly_labelled,
        } | measure_graph(tuples, progress)
        answered = together([given[what] for what in ("predictions", "answers") if what in given])
        detected, predicted = measure_detection(tuples, answered, progress)
        tables, ledgers = tables | detected, {"predictions": predicted}
        if "generations" in given:
            meteor = self.settings.meteor
            generated = measure_generation(tuples, given["generations"], meteor, progress)
            rated = rating_tables(given.get("ratings"), tuples)
            tables |= generated[0] | rated[0]
            ledgers |= {"generations": generated[1], "ratings": rated[1]}
        if "answers" in given:
            tables["answers"] = given["answers"].frame.select("model", "id", "answer", "valid")
        return Found(tables, self._facts(tables, ledgers), (tuples, positives))

    def _facts(
        self, tables: Mapping[str, pl.DataFrame], ledgers: Mapping[str, Mapping[str, int]]
    ) -> dict[str, Any]:
        """How much was read and measured, and which tables are for the window alone."""
        tuples, dataset = self.dataset.tuples, self.dataset
        return {
            "tuples": tuples.height,
            "rows_read": dataset.rows_read,
            "refused": dict(dataset.refused),
            "files": len(dataset.sources),
            "kind": self.settings.kind,
            "relations": tuples["relation"].n_unique(),
            "splits": tuples["split"].drop_nulls().n_unique(),
            "voted": tuples["votes"].count(),
            "annotators": dataset.votes["annotator"].n_unique(),
            "generation_set": self.positives is not None,
            "parameters": {
                "unique_at_most": quality.THRESHOLD,
                "carrying_share": CARRYING,
                "replicates": REPLICATES,
            },
            "models": tables["detection_coverage"]["model"].n_unique(),
            "predictions": ledgers["predictions"],
            "threshold": THRESHOLD,
            "generations": ledgers.get("generations"),
            "ratings": ledgers.get("ratings"),
            "restricted": [name for name in tables if name not in TABLES],
        }


def _beside(
    settings: Entailing, dataset: EntailmentDataset
) -> tuple[dict[str, Records], tuple[Reading, ...]]:
    """What stands beside tuples, named by their ids."""
    in_order = dataset.rows_read if dataset.numbered else None
    readers = {
        "predictions": lambda files: read_validity_predictions(files, in_order, settings.classes),
        "answers": read_answers,
        "generations": read_generations,
        "ratings": read_ratings,
    }
    given, readings = dict[str, Records](), tuple[Reading, ...]()
    for what, reader in readers.items():
        files = getattr(settings, what)
        if files:
            read = reader(files if isinstance(files, tuple) else (files,))
            own = what != "predictions"
            given[what], told = by_number(read, dataset, settings.numbered_from, what, own=own)
            readings += told
    for what in given.keys() - {"ratings"}:
        refuse_foreign(given[what], dataset.tuples["id"])
    return given, readings
