"""Concepts in a run: representations read, tested, checked, and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import polars as pl

from audit.analyses.concepts.declared import FACTS, HEADLINES, SAYS, TABLES
from audit.analyses.concepts.facets import (
    Facets,
    facets_from_depths,
    join_facets,
    read_facets,
)
from audit.analyses.concepts.measure import ConceptMeasurements, measure_concepts
from audit.analyses.concepts.nodes_below import with_mistakes
from audit.analyses.concepts.representation_files import read_representations
from audit.analyses.concepts.representations import Representations
from audit.analyses.concepts.settings import Testing
from audit.analyses.concepts.verdicts import INLP, REST
from audit.base.errors import InputError, first_cases
from audit.base.progress import Progress
from audit.checks.analysis import FileAnalysis
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import title_of_node
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Found, Measurements


@dataclass(frozen=True, eq=False)
class Concepts(FileAnalysis):
    """Representations as read, and how they are to be tested."""

    name: ClassVar[str] = "concepts"
    format: ClassVar[str] = "representations"
    stated_by: ClassVar[type[Testing]] = Testing
    tables = TABLES
    facts = FACTS
    says = SAYS
    headlines = HEADLINES

    representations: Representations
    facets: Facets | None
    baseline: Representations | None
    settings: Testing

    @classmethod
    def read(cls, settings: Testing, progress: Progress) -> Self:
        """Read representations, facets and a baseline."""
        if not (settings.facets or settings.depths):
            raise InputError(
                "the concepts of labels are required",
                found="no table of facets and no depths",
                hint="--facets FILE, or --depth 1",
            )
        progress("reading representations")
        return cls(
            read_representations(settings.representations),
            None if settings.facets is None else read_facets(settings.facets),
            None if settings.baseline is None else read_representations(settings.baseline),
            settings,
        )

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The labels of the instances as a dataset; without a hierarchy, all are below one root."""
        instances = self.representations.instances.sort("id")
        rows = instances.select(instance="id", label="labels").explode("label")
        return labels_alone(
            rows.drop_nulls("label").unique(maintain_order=True),
            instances["id"],
            self.format,
            (self.settings.representations,),
            hierarchy,
        )

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """Test the concepts of labels as nodes; accuracies by seed and class are never shared."""
        dataset = measured.loaded.dataset
        hierarchy, settings = dataset.hierarchy, self.settings
        node_of = dict(dataset.mappings.select("label", "node").iter_rows())
        placed = _with_nodes(self.representations, node_of)
        _refuse_other_instances(placed, dataset)
        _refuse_other_predictions(placed, hierarchy)
        answers = _answers_of_run(measured, placed)
        concepts = measure_concepts(
            placed,
            self._facets(hierarchy),
            hierarchy,
            layer=settings.layer,
            baseline=None if self.baseline is None else _with_nodes(self.baseline, node_of),
            answers=answers,
            groups=_groups(placed, dataset),
            seeds=settings.seeds,
            seed=seed,
            progress=progress,
        )
        nodes = with_mistakes(concepts.frames["nodes"], placed, hierarchy, answers)
        named = nodes.with_columns(title=title_of_node(hierarchy))
        return Found({**concepts.frames, "nodes": named}, _facts(self, concepts))

    def _facets(self, hierarchy: Hierarchy) -> Facets:
        tables = [] if self.facets is None else [self.facets]
        if self.settings.depths:
            tables.append(facets_from_depths(hierarchy, self.settings.depths))
        return join_facets(*tables)


def _with_nodes(
    representations: Representations, node_of: Mapping[str, str | None]
) -> Representations:
    """Representations with labels and predictions as the hierarchy writes them, where it has them.

    A code set may write a label in several ways; facets and predictions are compared by node.
    """
    known = {label: node for label, node in node_of.items() if node is not None}
    written = pl.element().replace(known)
    instances = representations.instances.with_columns(
        pl.col("labels").list.eval(written), pl.col("prediction").replace(known)
    )
    head = representations.head
    if head is not None:
        head = replace(head, classes=tuple(known.get(label, label) for label in head.classes))
    return replace(representations, instances=instances, head=head)


def _refuse_other_instances(placed: Representations, dataset: LabelDataset) -> None:
    ids, known = placed.instances["id"], dataset.instances["instance"]
    if not ids.is_in(known.implode()).any():
        raise InputError(
            "representations and labels of the same instances are required, by their ids",
            found=f"no id in common: {first_cases(ids)}, and {first_cases(known)}",
            hint="leave --labels out, so that the labels of the representations are taken",
        )


def _refuse_other_predictions(placed: Representations, hierarchy: Hierarchy) -> None:
    """Refuse predictions of which none is a label or a node, such as the numbers of classes."""
    if placed.predictions is None:
        return
    predicted = placed.predictions.drop_nulls().unique(maintain_order=True)
    labels = placed.instances["labels"].explode().drop_nulls().unique(maintain_order=True)
    if not predicted.is_in({*labels, *hierarchy.nodes}).any():
        raise InputError(
            "predictions among the labels of the instances, or the nodes above, are required",
            found=f"the predictions {first_cases(predicted)} beside the labels"
            f" {first_cases(labels)}",
            hint="write the labels of the classes in place of their numbers or other names",
        )


def _groups(placed: Representations, dataset: LabelDataset) -> pl.Series | None:
    """The group of each instance, null where there is none; None where no instance has one."""
    known = dataset.instances.select(id="instance", group="group")
    groups = placed.instances.select("id").join(known, on="id", how="left", maintain_order="left")
    return None if groups["group"].is_null().all() else groups["group"].cast(pl.String)


def _answers_of_run(measured: Measurements, placed: Representations) -> pl.Series | None:
    """What the run's predictions decide for each instance; null for one that they lack."""
    if measured.model is None:
        return None
    model = measured.model
    names = pl.Series(measured.hierarchy.nodes, dtype=pl.String)
    row, column = model.decided.nonzero()
    ids = pl.Series(model.predictions.instances, dtype=pl.String)
    given = pl.DataFrame({"id": ids.gather(row), "answers": names.gather(column)})
    given = given.group_by("id").agg("answers")
    asked = placed.instances.select("id").with_columns(asked=pl.col("id").is_in(ids.implode()))
    answered = asked.join(given, on="id", how="left", maintain_order="left")
    nothing = pl.lit([], pl.List(pl.String))
    return answered.select(
        pl.when("asked").then(pl.col("answers").fill_null(nothing)).alias("answers")
    ).to_series()


def _facts(concepts: Concepts, tested: ConceptMeasurements) -> Mapping[str, Any]:
    representations, settings = concepts.representations, concepts.settings
    instances = representations.instances
    ledger = dict(tested.ledger)
    sources = {"file": settings.facets, "depths": settings.depths}
    predicted = instances["prediction"].null_count() < len(instances)
    return {
        "instances": ledger.pop("read"),
        "used": ledger.pop("used"),
        "labels": instances["labels"].explode().n_unique(),
        "classes": len(tested.frames["classes"]),
        "layers": list(tested.layers),
        "layer": tested.layer,
        "features": {name: of.shape[1] for name, of in representations.layers.items()},
        "baseline": tested.baseline,
        "predictor": tested.predictor,
        "answers_from": tested.answers_from,
        "predicted": predicted or representations.head is not None,
        "pairs": instances["pair"].null_count() < len(instances),
        "parameters": tested.parameters,
        "left_out": ledger,
        "facets_from": " and ".join(name for name, given in sources.items() if given),
        **_verdicts(tested.frames["tests"]),
    }


def _verdicts(tests: pl.DataFrame) -> Mapping[str, int]:
    """How many of the paper's tests passed, all slices but one seen."""
    of_paper = tests.filter(
        (pl.col("seen") == REST).fill_null(value=True),
        (pl.col("ablation") == INLP).fill_null(value=True),
    )
    made = of_paper["verdict"].to_list()
    counts = {name: made.count(name) for name in ("pass", "fail", "undecided")}
    names = ("passed", "failed", "undecided")
    return {"tests": sum(counts.values()), **dict(zip(names, counts.values(), strict=True))}
