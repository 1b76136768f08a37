"""Explanations in a run: read, measured, checked, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.base.machine import give_back_freed_memory
from audit.base.progress import Progress
from audit.base.readings import Reading
from audit.base.schemas import schema
from audit.checks.analysis import FileAnalysis
from audit.checks.check import Check
from audit.data.dataset import LabelDataset
from audit.engine.statistics.means import group_means
from audit.explanations.attributions import Attributions
from audit.explanations.checks import EVIDENCE_IGNORED, METHODS_DISAGREE
from audit.explanations.importance.importance import read_accuracies
from audit.explanations.measure import ExplanationMeasurements, measure_explanations
from audit.explanations.reading.reading import read_attributions
from audit.explanations.settings import Explaining
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import title_of_node
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Measurements
from audit.results.parts import AnalysisPart, Headline
from audit.results.shared_tables import SharedTable, columns

MOST_SHOWN = 3
"""Examples shown of each model that are most aligned, and as many that are least."""

EXAMPLES = schema(
    ("model aligned id target node", pl.String),
    ("value", pl.Float64),
    ("tokens", pl.List(pl.String)),
    ("marks", pl.List(pl.Float64)),
    ("methods", pl.List(pl.String)),
    ("scores", pl.List(pl.List(pl.Float64))),
)

SHARED: Mapping[str, SharedTable] = {
    "alignment": columns(
        "method model oracle subset absent family",
        "delta_a low high correlation delta_a_zeros p_t q undefined_share",
        "clusters examples",
    ),
    "oracles": columns(
        "method oracle other", "spearman pearson mean_spearman low high", "examples"
    ),
    "accuracy": columns("method oracle subset data n models absent", "r low high p"),
    "agreement": columns(
        "model first second together methods rule k",
        "agreement low high chance_sizes above_chance above_low above_high corrected_sizes",
        "n",
    ),
    "lengths": columns(
        "tokens_from tokens_to model first second together methods rule k",
        "agreement low high chance_sizes above_chance above_low above_high corrected_sizes",
        "n",
    ),
    "differences": columns("model first second k", "dynamic fixed difference low high", "n"),
    "gains": columns("model method pairs k", "gain low high", "n"),
    "chosen": columns("model method k", "tokens peaks low high sd tied constant", "n"),
    "runs": columns("model seed median", "difference low high per_token", "instances"),
    "plausibility": columns("method model metric", "value low high chance", "n"),
    "spans": columns(
        "method model rule match labels",
        "precision recall micro micro_low micro_high macro macro_low macro_high",
        "n",
    ),
    "models": columns(
        "method oracle model reference warnings absent",
        "estimate error low high p cov_re residual_variance",
        "examples",
    ),
    "branches": columns(
        "node title depth model method measure family",
        "mean low high",
        "instances examples",
        apart="rest difference difference_low difference_high smallest p_value q_value",
    ),
    "evidence": columns(
        "node title depth model compared family",
        "concordance peak marked tokens",
        "instances examples",
        apart="concordance_elsewhere concordance_difference concordance_low concordance_high "
        "peak_elsewhere peak_difference peak_low peak_high marked_elsewhere tokens_elsewhere "
        "p_value q_value",
    ),
    "examples": SharedTable(tuple(EXAMPLES), records=True),
}
"""What is shared of every table, by its name."""


def headlines(k: int) -> tuple[Headline, ...]:
    """Delta-A on all examples, agreement by peaks and at the main k, plausibility; and what nodes
    are compared by, as means of all methods.
    """
    model = ("model", "model")
    method = (("method", "method"), model)
    compared = (("method", "first"), ("method", "together"), ("other", "second"), model, ("k", "k"))
    every, main, means = {"subset": ["all"]}, {"k": [None, k]}, {"method": [None]}
    oracle = (*method, ("oracle", "oracle"))
    return (
        Headline("alignment", "delta_a", "clusters", oracle, "delta_a", where=every),
        Headline("agreement", "agreement", "n", compared, "agreement", where=main),
        Headline("plausibility", "value", "n", method, called="metric"),
        Headline("branches", "mean", "instances", (model,), "", "measure", "node", means),
    )


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
        """Every table; the words of examples are shared where the settings say so."""
        labels = measured.loaded.dataset
        facts = _facts(found, self.settings, labels)
        shown = SHARED["examples"]._replace(most=None if self.settings.text else 0)
        frames = dict(_frames(found, labels.hierarchy)) | {"examples": shown_examples(found)}
        return AnalysisPart(
            name=self.name,
            facts=facts,
            totals={name: facts[name] for name in ("instances", "examples")},
            frames=frames,
            rules={**SHARED, "examples": shown},
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
        yield "spans", explained.plausibility.spans
    if explained.models is not None:
        yield "models", explained.models
    title = title_of_node(hierarchy)
    yield "branches", explained.branches.with_columns(title=title)
    yield "evidence", explained.evidence.with_columns(title=title)


def shown_examples(explained: ExplanationMeasurements) -> pl.DataFrame:
    """The most and least aligned examples of each model, with marks and scores of each token.

    Returns:
        Columns `EXAMPLES`: ``aligned`` is ``most`` or ``least``; ``value`` the mean C - C_R over
        methods and seeds; ``scores`` those of each method, the first seed where there are several.
        Empty without human evidence.
    """
    attributions = explained.attributions
    if explained.alignment is None or attributions.evidence is None:
        return pl.DataFrame(schema=EXAMPLES)
    judged = explained.alignment.rows.filter(
        (pl.col("oracle") != "soft") & pl.col("difference").is_not_null()
    )
    rows = attributions.rows.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    known = rows.join(judged.select(pl.col("row").cast(pl.Int64), "difference"), on="row")
    means = group_means(known, ["model", "id", "target", "text", "item"], "difference")
    means = means.rename({"difference": "value"}).sort("model", "value", "id", "target", "text")
    lines = [
        _line(explained, rows, example, aligned)
        for _, own in means.group_by("model", maintain_order=True)
        for aligned, chosen in (
            ("most", own.tail(MOST_SHOWN).reverse()),
            ("least", own.head(min(MOST_SHOWN, max(0, len(own) - MOST_SHOWN)))),
        )
        for example in chosen.iter_rows(named=True)
    ]
    return pl.DataFrame(lines, schema=EXAMPLES, orient="row")


def _line(
    explained: ExplanationMeasurements, rows: pl.DataFrame, example: dict[str, Any], aligned: str
) -> tuple[Any, ...]:
    attributions = explained.attributions
    evidence = attributions.evidence
    assert evidence is not None
    keys = ("model", "id", "target", "text")
    own = rows.filter(*(pl.col(key) == example[key] for key in keys)).sort("method", "seed")
    first = own.unique("method", keep="first", maintain_order=True)
    start, end = attributions.words.starts[example["text"] : example["text"] + 2].tolist()
    return (
        example["model"],
        aligned,
        example["id"],
        example["target"],
        explained.node_of.get(example["target"]),
        example["value"],
        attributions.tokens[start:end].to_list(),
        evidence.marks[example["item"]].tolist(),
        first["method"].to_list(),
        [attributions.scores[row].tolist() for row in first["row"].to_list()],
    )
