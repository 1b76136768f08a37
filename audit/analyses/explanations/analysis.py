"""Explanations in a run: read, measured, checked, and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.analyses.explanations import agreement, alignment, evidence
from audit.analyses.explanations.declared import FACTS, HEADLINES, MAIN_K, SAYS, TABLES
from audit.analyses.explanations.disagreement import METHODS_DISAGREE
from audit.analyses.explanations.models import accuracy_table, compare_models, read_accuracies
from audit.analyses.explanations.plausibility import judged_rows, plausibility, span_scores
from audit.analyses.explanations.reading import Attributions, read_attributions
from audit.analyses.explanations.settings import Explaining
from audit.base.errors import InputError
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.checks.analysis import FileAnalysis
from audit.checks.check import Check
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Found, Measurements


@dataclass(frozen=True, eq=False)
class Explanations(FileAnalysis):
    """Attributions as read, and how they are to be measured."""

    name: ClassVar[str] = "explanations"
    format: ClassVar[str] = "attributions"
    stated_by: ClassVar[type[Explaining]] = Explaining
    checks: ClassVar[tuple[Check, ...]] = (evidence.EVIDENCE_IGNORED, METHODS_DISAGREE)
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
            special=settings.special_tokens,
            stop_words=settings.stop_words,
        )
        elsewhere = None
        if settings.accuracy is not None:
            elsewhere = read_accuracies(settings.accuracy, attributions.rows["model"])
        return cls(attributions, elsewhere, settings, attributions.readings)

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The explained labels as a dataset; without a hierarchy, all are below one root."""
        pairs = self.attributions.rows.select(instance="id", label="target").unique()
        rows = pairs.sort("instance", "label")
        instances = rows["instance"].unique(maintain_order=True)
        sources = self.attributions.sources[:1]
        return labels_alone(rows, instances, self.format, sources, hierarchy)

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """Measure attributions with people, with each other, and below the nodes of labels.

        Raises:
            InputError: If models are compared without evidence, or cannot be.
        """
        settings, kind = self.settings, self.attributions.kind
        rows, frames = alignment.with_examples(self.attributions.rows), dict[str, pl.DataFrame]()
        progress("comparing scores with evidence and with each other")
        if kind or settings.informed:
            frames |= self._alignment(rows, seed)
        elif settings.reference_model or settings.sizes or self.elsewhere is not None:
            raise InputError("models are compared by evidence", found="no evidence")
        if kind:
            own = judged_rows(rows, seed=seed)
            spans = span_scores(own if kind != "text" else own.clear())
            frames |= {"plausibility": plausibility(own), "spans": spans}
        frames |= agreement.agreement_tables(
            agreement.agreed(rows, compat=settings.compat, seed=seed)
        )
        frames["runs"] = agreement.run_differences(rows, settings.compat)
        progress("comparing nodes")
        labels = measured.loaded.dataset
        node = dict(labels.mappings.select("label", "node").iter_rows())
        nodes = pl.col("target").replace_strict(node, default=None, return_dtype=pl.String)
        examples = evidence.evidence_examples(
            alignment.judged(rows).filter(settings.only).with_columns(node=nodes)
        )
        frames["evidence"] = evidence.compare_evidence(examples, labels.hierarchy)
        return Found(frames, self._facts(labels), examples)

    def _alignment(self, rows: pl.DataFrame, seed: int) -> Mapping[str, pl.DataFrame]:
        """``alignment, oracles, accuracy``, and ``models`` if a reference or sizes are set."""
        settings, kind = self.settings, self.attributions.kind
        aligned = alignment.aligned_rows(
            rows, kind, settings.informed, draws=settings.draws, seed=seed
        )
        frames = {
            "alignment": alignment.alignment_table(aligned),
            "oracles": alignment.oracle_agreement(rows, kind, settings.informed),
            "accuracy": accuracy_table(aligned, self.elsewhere),
        }
        if reference := settings.reference_model or next(iter(settings.sizes), None):
            own = aligned.filter(settings.only)
            frames["models"] = compare_models(own, reference, settings.sizes)
        return frames

    def _facts(self, labels: LabelDataset) -> Mapping[str, Any]:
        """How many rows, examples and models were read, and the settings they are measured by."""
        rows, ledger = self.attributions.rows, dict(self.attributions.ledger)
        known = rows["id"].is_in(labels.instances["instance"].implode())
        settings = self.settings
        return {
            "rows_read": ledger.pop("rows_read"),
            "rows": ledger.pop("rows_kept"),
            "left_out": ledger,
            "instances": rows["id"].n_unique(),
            "examples": rows.select("id", "target").n_unique(),
            "instances_without_labels": rows.filter(~known)["id"].n_unique(),
            "labels": rows["target"].n_unique(),
            "methods": rows["method"].unique().sort().to_list(),
            "models": rows["model"].unique().sort().to_list(),
            "seeds": rows.select("model", "seed").n_unique(),
            "evidence": self.attributions.kind or None,
            "annotators": rows["annotators"].max(),
            "only": settings.only,
            "draws": settings.draws,
            "k": MAIN_K,
            **({"compat": settings.compat} if settings.compat else {}),
        }
