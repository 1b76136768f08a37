"""Explanations in a run: read, measured, checked, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.base.machine import give_back_freed_memory
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.checks.analysis import FileAnalysis
from audit.checks.check import Check
from audit.data.dataset import LabelDataset
from audit.explanations.attributions import Attributions
from audit.explanations.checks import EVIDENCE_IGNORED, METHODS_DISAGREE
from audit.explanations.declared import FACTS, SAYS, TABLES, headlines
from audit.explanations.importance.importance import read_accuracies
from audit.explanations.measure import ExplanationMeasurements, measure_explanations
from audit.explanations.reading.reading import read_attributions
from audit.explanations.settings import Explaining
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import title_of_node
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Measurements
from audit.results.parts import AnalysisPart


@dataclass(frozen=True, eq=False)
class Explanations(FileAnalysis[ExplanationMeasurements]):
    """Attributions as read, and how they are to be measured."""

    name: ClassVar[str] = "explanations"
    format: ClassVar[str] = "attributions"
    stated_by: ClassVar[type[Explaining]] = Explaining
    checks: ClassVar[tuple[Check, ...]] = (EVIDENCE_IGNORED, METHODS_DISAGREE)

    attributions: Attributions
    elsewhere: pl.DataFrame | None
    settings: Explaining
    readings: tuple[Reading, ...] = ()

    @classmethod
    def read(cls, settings: Explaining, progress: Progress) -> Self:
        """Read attributions, evidence, and accuracies on other data."""
        progress("reading attributions")
        attributions = read_attributions(
            settings.attributions,
            settings.evidence,
            word_pieces=settings.word_pieces,
            special=settings.special_tokens,
            stop_words=settings.stop_words,
        )
        elsewhere = None
        if settings.accuracy is not None:
            elsewhere = read_accuracies(settings.accuracy, attributions)
        give_back_freed_memory()
        return cls(attributions, elsewhere, settings, attributions.readings)

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The explained labels as a dataset; without a hierarchy, all are below one root."""
        pairs = self.attributions.rows.select(instance="id", label="target").unique()
        rows = pairs.sort("instance", "label")
        instances = rows["instance"].unique(maintain_order=True)
        sources = self.attributions.sources[:1]
        return labels_alone(rows, instances, self.format, sources, hierarchy)

    def measure(
        self, measured: Measurements, seed: int, progress: Progress
    ) -> ExplanationMeasurements:
        """Measure explanations of labels that are nodes."""
        settings, labels = self.settings, measured.loaded.dataset
        return measure_explanations(
            self.attributions,
            labels.hierarchy,
            dict(labels.mappings.select("label", "node").iter_rows()),
            elsewhere=self.elsewhere,
            informed=settings.informed or None,
            reference_model=settings.reference_model,
            sizes=settings.sizes or None,
            only=settings.only,
            draws=settings.draws,
            compat=settings.compat,
            seed=seed,
            progress=progress,
        )

    def kept(self, found: ExplanationMeasurements, measured: Measurements) -> AnalysisPart:
        """Every table; that of all nodes is never shared."""
        labels = measured.loaded.dataset
        facts = _facts(found, self.settings, labels)
        return AnalysisPart(
            name=self.name,
            facts=facts,
            facts_columns=FACTS,
            frames=dict(_frames(found, labels.hierarchy)),
            rules=TABLES,
            says=SAYS,
            restricted={"nodes": found.nodes},
            headlines=headlines(found.agreement.k),
        )


def _facts(
    explained: ExplanationMeasurements, settings: Explaining, labels: LabelDataset
) -> Mapping[str, Any]:
    attributions = explained.attributions
    rows, ledger = attributions.rows, dict(attributions.ledger)
    read, kept = ledger.pop("rows_read", len(rows)), ledger.pop("rows_kept", len(rows))
    known = rows["id"].is_in(labels.instances["instance"].implode())
    evidence = attributions.evidence
    return {
        "rows_read": read,
        "rows": kept,
        "left_out": ledger,
        "instances": rows["id"].n_unique(),
        "examples": rows.select("id", "target").n_unique(),
        "instances_without_labels": rows.filter(~known)["id"].n_unique(),
        "labels": rows["target"].n_unique(),
        "methods": rows["method"].unique().sort().to_list(),
        "models": rows["model"].unique().sort().to_list(),
        "seeds": rows.select("model", "seed").n_unique(),
        "evidence": None if evidence is None else evidence.kind,
        "annotators": None if evidence is None else evidence.items["annotators"].max(),
        "only": settings.only,
        "draws": settings.draws,
        "k": explained.agreement.k,
        **({"compat": settings.compat} if settings.compat else {}),
    }


def _frames(
    explained: ExplanationMeasurements, hierarchy: Hierarchy
) -> Iterator[tuple[str, pl.DataFrame]]:
    if explained.alignment is not None:
        yield "alignment", explained.alignment.summary
        yield "oracles", explained.oracles
        yield "accuracy", explained.accuracy
    agreement = explained.agreement
    both = [agreement.pairs, agreement.together]
    yield "agreement", pl.concat(both, how="diagonal_relaxed")
    yield "lengths", agreement.lengths
    yield "differences", agreement.differences
    yield "gains", agreement.gains
    yield "chosen", agreement.chosen
    yield "runs", explained.runs.runs
    if explained.plausibility is not None:
        yield "plausibility", explained.plausibility.means
        yield "spans", explained.plausibility.spans
    if explained.models is not None:
        yield "models", explained.models
    title = title_of_node(hierarchy)
    yield "branches", explained.branches.with_columns(title=title)
    yield "evidence", explained.evidence.with_columns(title=title)
