"""Concepts in a run: representations read, tested, and kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from audit.analyses.concepts import beside_tests, facets, tests_of_concepts
from audit.analyses.concepts.declared import FACTS, HEADLINES, SAYS, TABLES
from audit.analyses.concepts.node_probes import node_frame
from audit.analyses.concepts.probes import quiet_fits, scaled
from audit.analyses.concepts.reading import Representations, read_representations
from audit.analyses.concepts.settings import Testing
from audit.analyses.concepts.verdicts import EQUIVALENCE_LEVEL, LIMIT, MARGIN, parts_of, tests_of
from audit.base.errors import InputError, first_cases, refuse_unknown
from audit.base.machine import cores
from audit.base.progress import Progress
from audit.checks.analysis import FileAnalysis
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
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

    given: Representations
    facets: pl.DataFrame
    settings: Testing

    @classmethod
    def read(cls, settings: Testing, progress: Progress) -> Self:
        """Read representations and facets; InputError if neither facets nor depths are named."""
        if not (settings.facets or settings.depths):
            raise InputError(
                "the concepts of labels are required",
                found="no table of facets and no depths",
                hint="--facets FILE, or --depth 1",
            )
        progress("reading representations")
        stated = (
            facets.read_facets(settings.facets)
            if settings.facets
            else pl.DataFrame(schema=facets.FACETS)
        )
        return cls(read_representations(settings.representations), stated, settings)

    def labels(self, hierarchy: Hierarchy | None) -> LabelDataset:
        """The labels of the instances as a dataset; without a hierarchy, all are below one root."""
        instances = self.given.instances.sort("id")
        rows = instances.select(instance="id", label="labels").explode("label")
        rows = rows.drop_nulls("label").unique(maintain_order=True)
        sources = (self.settings.representations,)
        return labels_alone(rows, instances["id"], self.format, sources, hierarchy)

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """Test the concepts of labels as nodes; accuracies by seed and class are never shared."""
        dataset, settings = measured.loaded.dataset, self.settings
        given = _with_nodes(self.given, dataset)
        layer = settings.layer or list(given.layers)[-1]
        refuse_unknown(layer, given.layers, "the name of a layer", "layers")
        depths = facets.facets_from_depths(dataset.hierarchy, settings.depths)
        described = facets.describe(given.instances["labels"], pl.concat([self.facets, depths]))
        seeds = range(seed, seed + settings.seeds)
        parts: tuple[list[Any], ...] = ([], [], [], [], [])
        with quiet_fits(), ThreadPoolExecutor(cores()) as pool:
            split = partial(_split, given, described, layer, seed)
            for number, one in enumerate(pool.map(split, seeds if described.fit else ())):
                progress("testing concepts", number + 1, len(seeds), "seeds")
                for every, own in zip(parts, one, strict=True):
                    every += own
            progress("comparing nodes")
            known, answers_from = _known(given, measured)
            nodes = node_frame(dataset.hierarchy, given.layers, layer, known, seeds)
        answers, curves, controls, iterations, judged = parts
        of_class = described.class_of[sorted({*judged})]
        points = tests_of_concepts.points_of(answers, described.classes["class"])
        told = parts_of(described, points, np.bincount(of_class, minlength=len(described.classes)))
        frames = {
            "tests": tests_of(described, told),
            "parts": told,
            "layer_curves": beside_tests.layer_curves(curves, described.ledger["used"]),
            "nodes": nodes,
            "controls": TABLES["controls"].frame(controls),
            "iterations": TABLES["iterations"].frame(iterations),
            "dimensions": described.frame(seed),
            "classes": described.classes,
            "points": points.drop("part", "place"),
        }
        limits = {"limit": LIMIT, "margin": MARGIN, "equivalence_level": EQUIVALENCE_LEVEL}
        facts = {
            "instances": len(given.instances),
            "used": described.ledger["used"],
            "left_out": {name: n for name, n in described.ledger.items() if name != "used"},
            "labels": given.instances["labels"].explode().n_unique(),
            "classes": len(described.classes),
            "layers": list(given.layers),
            "layer": layer,
            "answers_from": answers_from,
            "parameters": {"seeds": len(seeds), "seed": seed, **limits},
        }
        return Found(frames, facts | _passed(frames["tests"]))


def _split(
    given: Representations, described: facets.Described, layer: str, first_seed: int, seed: int
) -> tuple[list[Any], ...]:
    """Answers, curves, controls and iterations of the split of a seed, and the judged instances."""
    rows, quarter = described.draw(given.instances["id"].to_list(), seed)
    scenes = {
        name: tests_of_concepts.Scene(
            described, seed, rows, quarter, scaled(of[rows].astype(np.float64))
        )
        for name, of in given.layers.items()
    }
    scene = scenes[layer]
    pairs = tests_of_concepts.pair_answers(scene, given.instances, first=seed == first_seed)
    curves = [
        {"layer": name, "place": place, **row}
        for place, (name, own) in enumerate(scenes.items())
        for row in beside_tests.layer_rows(own)
    ]
    answers = [*tests_of_concepts.unseen_answers(scene), *pairs]
    judged = rows[scene.judging].tolist()
    return (
        answers,
        curves,
        [*beside_tests.control_rows(scene)],
        [*beside_tests.iteration_rows(scene)],
        judged,
    )


def _with_nodes(given: Representations, dataset: LabelDataset) -> Representations:
    """Labels and predictions as nodes; InputError if no id is known, or all predictions unknown."""
    node_of = dict(dataset.mappings.drop_nulls("node").select("label", "node").iter_rows())
    instances = given.instances.with_columns(
        pl.col("labels").list.eval(pl.element().replace(node_of)),
        pl.col("prediction").replace(node_of),
    )
    ids, known = instances["id"], dataset.instances["instance"]
    if not ids.is_in(known.implode()).any():
        raise InputError(
            "representations and labels of the same instances are required, by their ids",
            found=f"no id in common: {first_cases(ids)}, and {first_cases(known)}",
            hint="leave --labels out, so that the labels of the representations are taken",
        )
    predicted = instances["prediction"].drop_nulls().unique(maintain_order=True)
    labels = instances["labels"].explode().drop_nulls().unique(maintain_order=True)
    if len(predicted) and not predicted.is_in({*labels, *dataset.hierarchy.nodes}).any():
        raise InputError(
            "predictions among the labels of the instances, or the nodes above, are required",
            found=f"the predictions {first_cases(predicted)} beside {first_cases(labels)}",
            hint="write the labels of the classes in place of their numbers or other names",
        )
    return replace(given, instances=instances)


def _known(given: Representations, measured: Measurements) -> tuple[pl.DataFrame, str | None]:
    """``id, labels, answers, group``, and whose the answers are: of the file, else of the run."""
    groups = measured.loaded.dataset.instances.select(id="instance", group="group")
    table = given.instances.select("id", "labels", answers=pl.concat_list("prediction"))
    table = table.join(groups, on="id", how="left", maintain_order="left")
    table = table.with_columns(pl.col("group").cast(pl.String))
    if given.predicted or measured.model is None:
        empty = pl.when(given.instances["prediction"].is_not_null()).then("answers")
        return table.with_columns(answers=empty), "representations" if given.predicted else None
    row, column = measured.model.decided.nonzero()
    ids = pl.Series("id", measured.model.predictions.instances, dtype=pl.String)
    names = pl.Series(measured.hierarchy.nodes, dtype=pl.String)
    said = pl.DataFrame({"id": ids.gather(row), "answers": names.gather(column)})
    every = ids.to_frame().join(said, on="id", how="left").group_by("id")
    answers = every.agg(pl.col("answers").drop_nulls())
    table = table.drop("answers").join(answers, on="id", how="left", maintain_order="left")
    return table, "predictions"


def _passed(tests: pl.DataFrame) -> dict[str, int]:
    """``tests, passed, failed, undecided``: tests that apply, less those of one slice or LEACE."""
    asked = tests.filter(
        pl.col("seen").ne_missing("1 slice"), pl.col("ablation").ne_missing("leace")
    )
    made = asked["verdict"].to_list()
    names = {"passed": "pass", "failed": "fail", "undecided": "undecided"}
    counts = {name: made.count(verdict) for name, verdict in names.items()}
    return {"tests": sum(counts.values()), **counts}
