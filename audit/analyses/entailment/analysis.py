"""Entailment graphs in a run: tuples read, measured, checked, and what numbers say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.analyses.entailment import elements, quality
from audit.analyses.entailment.answers import read_generations, read_predictions, read_ratings
from audit.analyses.entailment.checks import CHECKS
from audit.analyses.entailment.dataset import ELEMENTS, EntailmentDataset
from audit.analyses.entailment.declared import FACTS, HEADLINES, SAYS, TABLES
from audit.analyses.entailment.detection import THRESHOLD, measure_detection
from audit.analyses.entailment.generation import measure_generation, rating_tables
from audit.analyses.entailment.graph import measure_graph
from audit.analyses.entailment.reading import read_entailment
from audit.analyses.entailment.settings import Entailing
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


@dataclass(frozen=True, eq=False)
class Entailment(FileAnalysis):
    """Tuples as read, and what is measured with them.

    Args:
        positives: The generation set; None without one.
        given: What was read of each of ``predictions``, ``generations`` and ``ratings`` that is
            there.
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
        """Read tuples and, as far as named, predictions, generations, ratings and positives."""
        if settings.ratings is not None and not settings.generations:
            raise InputError("--ratings needs --generations", found="no generated concepts")
        progress("reading tuples")
        classes, columns = settings.classes, settings.columns
        shared = classes and settings.predictions and Shared(classes)
        dataset = read_entailment(settings.files, settings.kind, columns, classes=shared or classes)
        given, positives = dict[str, Records](), None
        if settings.predictions:
            given["predictions"] = read_predictions(settings.predictions, dataset, classes)
        if settings.generations:
            given["generations"] = read_generations(settings.generations, dataset)
        if settings.ratings is not None:
            given["ratings"] = read_ratings((settings.ratings,), dataset)
        if settings.positives is not None:
            named = {name: of for name, of in columns.items() if name in ELEMENTS}
            files = (settings.positives,)
            positives = read_entailment(files, settings.kind, named, labelled=False).tuples
        return cls(dataset, positives, given, settings, dataset.readings)

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
        """Tables of the graph, its dataset and predictions, and facts; ``seed`` is not used.

        Beside the tables that are declared there are the tuples behind findings,
        ``quality_mismatches``, ``quality_misplaced`` and ``quality_weak_labels``; ``graph_edges``
        and ``graph_members``.
        """
        tuples, positives, given = self.dataset.tuples, self.positives, self.given
        progress("counting tuples and words")
        mismatches = elements.mismatched(tuples)
        weak, weakly_labelled = quality.weak_labels(tuples)
        tables = {
            "quality_totals": quality.totals(tuples),
            "quality_diversity": quality.diversity(tuples),
            "quality_references": quality.references(tuples if positives is None else positives),
            "quality_generation_set": quality.generation_set(tuples, positives),
            "quality_consistency": elements.consistency(tuples, mismatches),
            "quality_shared_keys": elements.shared_keys(tuples),
            "quality_agreement": quality.agreement(tuples),
            "quality_weak": weak,
            "quality_mismatches": mismatches,
            "quality_misplaced": elements.misplaced(tuples),
            "quality_weak_labels": weakly_labelled,
        }
        progress("looking for cycles and chains")
        tables |= measure_graph(tuples)
        detected, predicted = measure_detection(tuples, given.get("predictions"), progress)
        tables, ledgers = tables | detected, {"predictions": predicted}
        if "generations" in given:
            meteor = self.settings.meteor
            texts = given["generations"]
            found, ledgers["generations"] = measure_generation(tuples, texts, meteor, progress)
            tables |= found
        if "ratings" in given:
            found, ledgers["ratings"] = rating_tables(given["ratings"], tuples)
            tables |= found
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
            "annotators": dataset.annotators,
            "generation_set": self.positives is not None,
            "parameters": {
                "unique_at_most": quality.THRESHOLD,
                "carrying_share": quality.CARRYING,
                "replicates": quality.REPLICATES,
            },
            "models": tables["detection_measured"].filter(kind="model")["model"].n_unique(),
            "threshold": THRESHOLD,
            **{
                name: ledgers.get(name) or None
                for name in ("predictions", "generations", "ratings")
            },
            "restricted": [name for name in tables if name not in TABLES],
        }
