"""Concepts in a run: representations read, tested, and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from audit.analyses.concepts import classes, probes, verdicts
from audit.analyses.concepts.beside_tests import (
    ITERATIONS,
    Beside,
    baseline_of,
    beside_frames,
    measured_beside,
)
from audit.analyses.concepts.classes import describe, draw_split, scaled
from audit.analyses.concepts.declared import FACTS, HEADLINES, SAYS, TABLES
from audit.analyses.concepts.facets import FACETS, facets_from_depths, read_facets
from audit.analyses.concepts.node_probes import LEAST_INSTANCES
from audit.analyses.concepts.nodes import node_frame
from audit.analyses.concepts.probes import quiet_fits
from audit.analyses.concepts.reading import Representations, read_representations
from audit.analyses.concepts.settings import Testing
from audit.analyses.concepts.tests_of_concepts import (
    HEAD,
    INLP,
    PROBED,
    REST,
    Answers,
    Scene,
    fitted_predictor,
    head_predictor,
    pair_answers,
    unseen_answers,
)
from audit.base.errors import InputError, first_cases, refuse_unknown
from audit.base.machine import require_package
from audit.base.progress import Progress, silent
from audit.checks.analysis import FileAnalysis
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.labels_alone import labels_alone
from audit.measure.measure import Found, Measurements

_PARAMETERS = {
    "min_instances": LEAST_INSTANCES,
    "limit": verdicts.LIMIT,
    "margin": verdicts.MARGIN,
    "equivalence_level": verdicts.EQUIVALENCE_LEVEL,
    "most_rows": classes.MOST_ROWS,
    "most_ambiguous": classes.MOST_AMBIGUOUS,
    "iterations": ITERATIONS,
    "rank_tolerance": probes.RANK_TOLERANCE,
}
"""Limits and sizes by name, as printed beside the numbers."""


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
    facets: pl.DataFrame
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
            pl.DataFrame(schema=FACETS)
            if settings.facets is None
            else read_facets(settings.facets),
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
        dataset, settings = measured.loaded.dataset, self.settings
        hierarchy = dataset.hierarchy
        node_of = dict(dataset.mappings.drop_nulls("node").select("label", "node").iter_rows())
        placed = _with_nodes(self.representations, node_of)
        _refuse_others(placed, dataset)
        depths = [facets_from_depths(hierarchy, settings.depths)] if settings.depths else []
        groups = dataset.instances.select(id="instance", group=pl.col("group").cast(pl.String))
        beside = placed.instances.select("id").join(
            groups.join(_answers(measured), on="id", how="left"), on="id", how="left",
            maintain_order="left",
        )  # fmt: skip
        found = measure_concepts(
            placed,
            pl.concat([self.facets, *depths]),
            hierarchy,
            layer=settings.layer,
            baseline=self.baseline,
            beside=beside,
            seeds=range(seed, seed + settings.seeds),
            progress=progress,
        )
        sources = {"file": settings.facets, "depths": settings.depths}
        of = " and ".join(name for name, given in sources.items() if given)
        return Found(found.frames, {**found.facts, "facets_from": of})


def measure_concepts(
    representations: Representations,
    facets: pl.DataFrame,
    hierarchy: Hierarchy,
    *,
    layer: str | None = None,
    baseline: Representations | None = None,
    beside: pl.DataFrame | None = None,
    seeds: range = range(5),
    progress: Progress = silent,
) -> Found:
    """Run the four tests of concepts on representations, with controls, layers and nodes.

    Args:
        representations: Representations whose labels are nodes of the hierarchy, or of none.
        facets: The concepts of labels, columns `audit.analyses.concepts.facets.FACETS`.
        layer: The layer that tests are about; the last one if None.
        baseline: Representations of the same instances by an untrained network; else a random
            layer on the first layer stands for it, where that is another one.
        beside: In the order of the instances, ``group``, such as the patient, by which nodes are
            measured with whole groups in one half, and ``answers``, the labels that a model gives
            (lists; null where it is not known), which nodes are compared with where the
            representations come with neither predictions nor a head.
        seeds: One for each resampled split.

    Returns:
        The tables that are declared and ``points``, accuracies by seed and unseen class, which are
        those of the paper's figures.

    Raises:
        InputError: If a label has no concept, a dimension has one concept, a class has one
            instance, a layer has more features than instances, the layer is not there, no label
            is a node of the hierarchy, or scikit-learn is not installed.
    """
    require_package("sklearn", "to fit probes")
    instances, layers = representations.instances, representations.layers
    tested = list(layers)[-1] if layer is None else layer
    refuse_unknown(tested, layers, "the name of a layer", "layers")
    is_head = representations.head is not None and tested == list(layers)[-1]
    described = describe(instances["labels"], facets)
    _refuse_wide(representations)
    fit = [place for place in range(len(described.dimensions)) if not described.why_unfit(place)]
    answers, judged, beside_them = list[Answers](), [np.empty(0, np.int64)], [Beside()]
    with quiet_fits():
        source, random = baseline_of(representations, tested, baseline, seeds[0])
        for number, seed in enumerate(seeds if fit else ()):
            progress("testing concepts", number, len(seeds), "seeds")
            split = draw_split(described, instances["id"].to_list(), seed)
            drawn = {name: one[split.rows].astype(np.float64) for name, one in layers.items()}
            z = {name: scaled(one) for name, one in drawn.items()}
            head = representations.head if is_head else None
            predictor = (
                fitted_predictor(z[tested], split, described)
                if head is None
                else head_predictor(head, drawn[tested], described, facets)
            )
            scene = Scene(z[tested], split, described, predictor)
            judged.append(split.rows[split.ablating])
            answers += unseen_answers(scene, fit)
            answers += pair_answers(representations, scene, first=number == 0)
            own = None if random is None else random[split.rows]
            beside_them.append(measured_beside(scene, fit, z, own))
        progress("testing concepts", len(seeds), len(seeds), "seeds")
        progress("comparing nodes")
        known, answers_from = _known(representations, beside)
        nodes = node_frame(hierarchy, layers, tested, known, seeds)
    of_class = described.class_of[np.unique(np.concatenate(judged))]
    counts = np.bincount(of_class, minlength=len(described.class_codes))
    tables = {
        **verdicts.tables_of(described, answers, counts),
        **beside_frames(described, beside_them),
        "nodes": nodes,
        "classes": described.classes,
        "dimensions": described.frame(fit, seeds[0]),
    }
    facts = _read(representations) | _verdicts(tables["tests"])
    facts |= {"layer": tested, "baseline": source, "answers_from": answers_from}
    facts |= {"predictor": HEAD if is_head else PROBED, "classes": len(described.classes)}
    facts["parameters"] = {"seeds": len(seeds), "seed": seeds[0], **_PARAMETERS}
    facts["left_out"] = {name: n for name, n in described.ledger.items() if name != "used"}
    facts["used"] = described.ledger["used"]
    return Found(tables, facts)


def _read(representations: Representations) -> dict[str, Any]:
    """Facts of what was read."""
    instances, layers = representations.instances, representations.layers
    return {
        "instances": len(instances),
        "labels": instances["labels"].explode().n_unique(),
        "layers": list(layers),
        "features": {name: of.shape[1] for name, of in layers.items()},
        "predicted": representations.predictions is not None,
        "pairs": instances["pair"].null_count() < len(instances),
    }


def _known(
    representations: Representations, beside: pl.DataFrame | None
) -> tuple[pl.DataFrame, str | None]:
    """Instances with their groups and answers, of the representations or else of the run; whose."""
    nothing = {"group": pl.lit(None, pl.String), "answers": pl.lit(None, pl.List(pl.String))}
    table = representations.instances.select("id", "labels")
    table = (
        table.with_columns(**nothing)
        if beside is None
        else table.hstack(beside["group", "answers"])
    )
    own = representations.predictions
    if own is not None:
        alone = pl.when(own.is_not_null()).then(pl.concat_list(own))
        return table.with_columns(answers=alone), "representations"
    return table, None if table["answers"].null_count() == len(table) else "predictions"


def _refuse_wide(representations: Representations) -> None:
    instances = len(representations.instances)
    for name, layer in representations.layers.items():
        if layer.shape[1] > instances:
            raise InputError(
                f"the layer {name!r} must have no more features than there are instances: "
                "otherwise a linear probe can separate any labels",
                found=f"{layer.shape[1]:,} features of {instances:,} instances",
                hint="give more instances, or leave the layer out",
            )


def _verdicts(tests: pl.DataFrame) -> dict[str, int]:
    """How many of the paper's tests passed, all slices but one seen."""
    of_paper = tests.filter(
        (pl.col("seen") == REST).fill_null(value=True),
        (pl.col("ablation") == INLP).fill_null(value=True),
    )
    made = of_paper["verdict"].to_list()
    names = {"passed": "pass", "failed": "fail", "undecided": "undecided"}
    counts = {name: made.count(verdict) for name, verdict in names.items()}
    return {"tests": sum(counts.values()), **counts}


def _with_nodes(representations: Representations, node_of: Mapping[str, str]) -> Representations:
    """Representations with labels and predictions as the hierarchy writes them, where it has them.

    A code set may write a label in several ways; facets and predictions are compared by node.
    """
    written, head = pl.element().replace(node_of), representations.head
    instances = representations.instances.with_columns(
        pl.col("labels").list.eval(written), pl.col("prediction").replace(node_of)
    )
    if head is not None:
        head = replace(head, classes=tuple(node_of.get(label, label) for label in head.classes))
    return replace(representations, instances=instances, head=head)


def _refuse_others(placed: Representations, dataset: LabelDataset) -> None:
    """Refuse other instances than those of the run, and predictions of which none is a label or a
    node, such as the numbers of classes."""
    ids, known = placed.instances["id"], dataset.instances["instance"]
    if not ids.is_in(known.implode()).any():
        raise InputError(
            "representations and labels of the same instances are required, by their ids",
            found=f"no id in common: {first_cases(ids)}, and {first_cases(known)}",
            hint="leave --labels out, so that the labels of the representations are taken",
        )
    if placed.predictions is None:
        return
    predicted = placed.predictions.drop_nulls().unique(maintain_order=True)
    labels = placed.instances["labels"].explode().drop_nulls().unique(maintain_order=True)
    if not predicted.is_in({*labels, *dataset.hierarchy.nodes}).any():
        raise InputError(
            "predictions among the labels of the instances, or the nodes above, are required",
            found=f"the predictions {first_cases(predicted)} beside the labels"
            f" {first_cases(labels)}",
            hint="write the labels of the classes in place of their numbers or other names",
        )


def _answers(measured: Measurements) -> pl.DataFrame:
    """What the run's predictions decide for each instance that they have: ``id, answers``."""
    if measured.model is None:
        return pl.DataFrame(schema={"id": pl.String(), "answers": pl.List(pl.String)})
    model = measured.model
    row, column = model.decided.nonzero()
    ids = pl.Series(model.predictions.instances, dtype=pl.String)
    names = pl.Series(measured.hierarchy.nodes, dtype=pl.String)
    given = pl.DataFrame({"id": ids.gather(row), "answers": names.gather(column)})
    given = given.group_by("id").agg("answers")
    return (
        pl.DataFrame({"id": ids})
        .join(given, on="id", how="left")
        .with_columns(pl.col("answers").fill_null(pl.lit([], pl.List(pl.String))))
    )
