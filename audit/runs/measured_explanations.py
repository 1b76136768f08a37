"""Explanations in a run: read, measured, and made a part of the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from audit.base.memory import give_back_freed_memory
from audit.base.progress import Progress, silent
from audit.data.dataset import LabelDataset
from audit.explanations.attributions import Attributions
from audit.explanations.faithful_rows import read_faithfulness
from audit.explanations.measure import ExplanationMeasurements, measure_explanations
from audit.explanations.reading.reading import read_attributions
from audit.explanations.settings import Explaining
from audit.explanations.shown_examples import shown_examples
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.parts.explanation_part import ExplanationPart
from audit.runs.labels_alone import ATTRIBUTIONS, labels_alone


@dataclass(frozen=True, eq=False)
class Explanations:
    """Attributions as read, and how they are to be measured: an analysis of a run."""

    attributions: Attributions
    faithful: pl.DataFrame | None
    random: Attributions | None
    settings: Explaining

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The explained labels as a dataset; without a hierarchy, all are below one root."""
        pairs = self.attributions.rows.select(instance="id", label="target").unique()
        rows = pairs.sort("instance", "label")
        instances = rows["instance"].unique(maintain_order=True)
        return labels_alone(rows, instances, ATTRIBUTIONS, self.attributions.sources[:1], hierarchy)

    def measured(self, measured: Measurements, seed: int, progress: Progress) -> Measurements:
        """The measurements with those of explanations of labels that are nodes."""
        settings, labels = self.settings, measured.loaded.dataset
        explained = measure_explanations(
            self.attributions,
            labels.hierarchy,
            dict(labels.mappings.select("label", "node").iter_rows()),
            faithful=self.faithful,
            random=self.random,
            informed=settings.informed or None,
            reference_model=settings.reference_model,
            only=settings.only,
            draws=settings.draws,
            seed=seed,
            progress=progress,
        )
        return replace(measured, explanations=explained)

    def part(self, measured: Measurements) -> ExplanationPart:
        """What a run keeps of explanations."""
        explained, labels = measured.explained, measured.loaded.dataset
        return ExplanationPart(
            facts=_facts(explained, self.settings, labels),
            frames=dict(_frames(explained, labels.hierarchy)),
            nodes=explained.nodes,
            examples=shown_examples(explained),
        )


def read_explanations(settings: Explaining, progress: Progress = silent) -> Explanations:
    """Read attributions, evidence and faithfulness."""
    progress("reading attributions")
    attributions = read_attributions(
        settings.attributions,
        settings.evidence,
        word_pieces=settings.word_pieces,
        stop_words=settings.stop_words,
    )
    faithful = random = None
    if settings.faithfulness is not None:
        faithful = read_faithfulness(settings.faithfulness, attributions)
    if settings.randomised is not None:
        random = read_attributions(settings.randomised, word_pieces=settings.word_pieces)
    give_back_freed_memory()
    return Explanations(attributions, faithful, random, settings)


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
        "show_text": settings.text,
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
    if explained.faithfulness is not None:
        yield "faithfulness", explained.faithfulness
    if explained.randomised is not None:
        yield "randomised", explained.randomised
    if explained.models is not None:
        yield "models", explained.models
    titles = {
        node: title or None for node, title in zip(hierarchy.nodes, hierarchy.titles, strict=True)
    }
    yield (
        "branches",
        explained.branches.with_columns(
            title=pl.col("node").replace_strict(titles, default=None, return_dtype=pl.String)
        ),
    )
