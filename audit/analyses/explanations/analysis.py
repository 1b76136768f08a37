"""Explanations in a run: read, measured, checked, and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.analyses.explanations.agreement import MAIN_K
from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.checks import EVIDENCE_IGNORED, METHODS_DISAGREE
from audit.analyses.explanations.declared import FACTS, HEADLINES, SAYS, TABLES
from audit.analyses.explanations.importance import read_accuracies
from audit.analyses.explanations.measure import measure_explanations
from audit.analyses.explanations.reading import read_attributions
from audit.analyses.explanations.settings import Explaining
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.checks.analysis import FileAnalysis
from audit.checks.check import Check
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import title_of_node
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Found, Measurements


@dataclass(frozen=True, eq=False)
class Explanations(FileAnalysis):
    """Attributions as read, and how they are to be measured."""

    name: ClassVar[str] = "explanations"
    format: ClassVar[str] = "attributions"
    stated_by: ClassVar[type[Explaining]] = Explaining
    checks: ClassVar[tuple[Check, ...]] = (EVIDENCE_IGNORED, METHODS_DISAGREE)
    tables = TABLES
    facts = FACTS
    says = SAYS
    headlines = HEADLINES

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
        return cls(attributions, elsewhere, settings, attributions.readings)

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The explained labels as a dataset; without a hierarchy, all are below one root."""
        pairs = self.attributions.rows.select(instance="id", label="target").unique()
        rows = pairs.sort("instance", "label")
        instances = rows["instance"].unique(maintain_order=True)
        sources = self.attributions.sources[:1]
        return labels_alone(rows, instances, self.format, sources, hierarchy)

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """Measure explanations of labels that are nodes; the table of all nodes is never shared."""
        labels = measured.loaded.dataset
        found = measure_explanations(
            self.attributions,
            labels.hierarchy,
            dict(labels.mappings.select("label", "node").iter_rows()),
            self.settings,
            elsewhere=self.elsewhere,
            seed=seed,
            progress=progress,
        )
        title = title_of_node(labels.hierarchy)
        titled = {
            name: found.frames[name].with_columns(title=title) for name in ("branches", "evidence")
        }
        return found._replace(frames={**found.frames, **titled}, facts=self._facts(labels))

    def _facts(self, labels: LabelDataset) -> Mapping[str, Any]:
        rows, ledger = self.attributions.rows, dict(self.attributions.ledger)
        read, kept = ledger.pop("rows_read", len(rows)), ledger.pop("rows_kept", len(rows))
        known = rows["id"].is_in(labels.instances["instance"].implode())
        evidence, settings = self.attributions.evidence, self.settings
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
            "k": MAIN_K,
            **({"compat": settings.compat} if settings.compat else {}),
        }
