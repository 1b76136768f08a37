"""Measure whether representations hold the concepts of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.concepts import ablation, beside_tests, classes, verdicts
from audit.analyses.concepts.beside_tests import (
    baseline_of,
    control_rows,
    iteration_rows,
    layer_frame,
    layer_rows,
)
from audit.analyses.concepts.classes import (
    Described,
    describe,
    draw_split,
    folds,
    scaling_of,
    slices,
)
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.facets import Facets
from audit.analyses.concepts.nodes import NODES, node_frame
from audit.analyses.concepts.nodes_below import chosen_instances, instances_below
from audit.analyses.concepts.probes import HEAD, PROBE, fit_predictor, head_predictor, quiet_fits
from audit.analyses.concepts.representations import (
    AnswersFrom,
    LinearHead,
    Representations,
    model_answers,
)
from audit.analyses.concepts.tables import (
    judge_answers,
    part_frame,
    point_frame,
    test_frame,
    value_frame,
)
from audit.analyses.concepts.unseen_classes import (
    Scene,
    given_answers,
    judge_unseen,
    paired,
    probed_answers,
)
from audit.analyses.concepts.verdicts import Answers, pool_answers
from audit.base.dag import FloatArray, IntArray
from audit.base.errors import InputError, first_cases
from audit.base.machine import require_package
from audit.base.progress import Progress, silent
from audit.hierarchies.hierarchy import Hierarchy

SEEDS = 5
LEAST_INSTANCES = 11
"""Instances below a node, and elsewhere, from which it is tested."""


@dataclass(frozen=True, eq=False)
class ConceptMeasurements:
    """What is measured of the concepts in representations.

    Args:
        layer: The layer that tests, controls and nodes are about.
        layers: All layers, in order.
        baseline: What ``random_network`` of ``controls`` was measured on, or why it is null.
        predictor: What `is_causal` and `is_grounded` take for the model's answers.
        answers_from: Whose answers nodes are compared with; None where no answers are known.
        parameters: Limits and sizes by name, as printed beside the numbers.
        ledger: Instances read, used, and left out, by reason.
        frames: Every table by name: those declared, ``nodes`` empty without a hierarchy, and
            ``points``, accuracies by seed and unseen class, which are those of the paper's figures.
    """

    layer: str
    layers: tuple[str, ...]
    baseline: str
    predictor: str
    answers_from: AnswersFrom | None
    parameters: dict[str, float]
    ledger: dict[str, int]
    frames: Mapping[str, pl.DataFrame]


def measure_concepts(
    representations: Representations,
    facets: Facets,
    hierarchy: Hierarchy | None = None,
    *,
    layer: str | None = None,
    baseline: Representations | None = None,
    answers: pl.Series | None = None,
    groups: pl.Series | None = None,
    seeds: int = SEEDS,
    seed: int = 0,
    progress: Progress = silent,
) -> ConceptMeasurements:
    """Run the four tests of concepts on representations, with controls, layers and nodes.

    Args:
        representations: Representations with labels, as `representations_of` accepts them.
        facets: The concepts of labels, by dimension.
        hierarchy: The hierarchy of the labels, for results by node.
        layer: The layer that tests are about; the last one if None.
        baseline: Representations of the same instances by an untrained network; else a random
            layer on the first layer stands for it, where that is another one.
        answers: The labels that a model gives each instance, lists in the order of instances, null
            where none are known. Nodes are compared with them where the representations come with
            neither predictions nor a head.
        groups: The group of each instance, such as the patient, null for one without; nodes are
            measured with whole groups in one half. None without any.
        seeds: Number of resampled splits.
        seed: Seed of the first split.
        progress: Progress callback.

    Raises:
        InputError: If a label has no concept, a dimension has one concept, a class has one
            instance, a layer has more features than instances, the layer is not there, no label
            is a node of the hierarchy, or scikit-learn is not installed.
    """
    require_package("sklearn", "to fit probes")
    tested = _layer(representations, layer)
    if seeds < 1:
        raise InputError("the number of seeds must be at least 1", found=str(seeds))
    described = describe(representations, facets)
    _refuse_wide_layers(representations)
    fit = [k for k in range(len(described.dimensions)) if described.why_unfit(k) is None]
    found, known = _Found(), model_answers(representations, answers)
    with quiet_fits():
        source, random = baseline_of(representations, tested, baseline, seed)
        drawn = range(seed, seed + seeds)
        given = _Given(representations, facets, described, tested, fit, source, random, drawn)
        for number, one in enumerate(drawn):
            progress("testing concepts", number, seeds, "seeds")
            _measure_split(given, one, found)
        progress("testing concepts", seeds, seeds, "seeds")
        by_node = pl.DataFrame(schema=NODES)
        if hierarchy is not None:
            progress("comparing nodes")
            by_node = _nodes(given, None if known is None else known[0], groups, hierarchy)
    return _measurements(given, found, None if known is None else known[1], by_node)


@dataclass(frozen=True, eq=False)
class _Given:
    """What every split is measured on.

    ``fit`` are the dimensions that take part, ``baseline`` says what ``random`` is the layer of.
    """

    representations: Representations
    facets: Facets
    described: Described
    tested: str
    fit: list[int]
    baseline: str
    random: FloatArray | None
    seeds: range

    @property
    def head(self) -> LinearHead | None:
        """The linear head, where the tested layer is the one that it reads."""
        last = list(self.representations.layers)[-1]
        return self.representations.head if self.tested == last else None


@dataclass(frozen=True, eq=False)
class _Found:
    """What splits add to."""

    answers: list[Answers] = field(default_factory=list)
    controls: list[dict[str, Any]] = field(default_factory=list)
    layers: list[dict[str, Any]] = field(default_factory=list)
    iterations: list[dict[str, Any]] = field(default_factory=list)
    judged: list[IntArray] = field(default_factory=list)


def _layer(representations: Representations, layer: str | None) -> str:
    names = list(representations.layers)
    if layer is None:
        return names[-1]
    if layer not in representations.layers:
        raise InputError(
            "the name of a layer is required",
            found=f"{layer!r}, where there are {first_cases(names)}",
        )
    return layer


def _refuse_wide_layers(representations: Representations) -> None:
    instances = len(representations.instances)
    for name, layer in representations.layers.items():
        if layer.shape[1] > instances:
            raise InputError(
                f"the layer {name!r} must have no more features than there are instances: "
                "otherwise a linear probe can separate any labels",
                found=f"{layer.shape[1]:,} features of {instances:,} instances",
                hint="give more instances, or leave the layer out",
            )


def _measure_split(given: _Given, seed: int, found: _Found) -> None:
    described, layers = given.described, given.representations.layers
    if not given.fit:
        return
    split = draw_split(described, given.representations.instances["id"].to_list(), seed)
    drawn = {name: layer[split.rows].astype(np.float64) for name, layer in layers.items()}
    scalings = {name: scaling_of(layer) for name, layer in drawn.items()}
    scaled = {name: scalings[name](layer) for name, layer in drawn.items()}
    z, head = scaled[given.tested], given.head
    if head is None:
        predict = fit_predictor(z, split, described)
    else:
        predict = head_predictor(head, scalings[given.tested], described, given.facets)
    scene = Scene(z, split, described, predict)
    found.judged.append(split.rows[split.ablating])
    found.answers.extend(judge_unseen(scene, given.fit))
    found.answers.extend(_grounded(given, scene, first=len(found.judged) == 1))
    random = None if given.random is None else given.random[split.rows]
    found.controls.extend(control_rows(scene, given.fit, random))
    found.iterations.extend(iteration_rows(scene, given.fit))
    found.layers.extend(layer_rows(scaled, split, described, given.fit))


def _grounded(given: _Given, scene: Scene, *, first: bool) -> list[Answers]:
    """Answers on minimal pairs; those that were given are the same for every split."""
    rows = paired(given.representations, given.described)
    predictions = given.representations.predictions
    if predictions is None:
        answers = probed_answers(scene, rows)
        return [] if answers is None else [answers]
    if not first or not len(rows):
        return []
    seed = scene.split.seed
    return [given_answers(predictions, given.representations, given.described, rows, seed)]


def _measurements(
    given: _Given, found: _Found, answers_from: AnswersFrom | None, by_node: pl.DataFrame
) -> ConceptMeasurements:
    described = given.described
    judged = judge_answers(described, pool_answers(found.answers), _judged_instances(given, found))
    seed = given.seeds[0]
    counts = {
        k: len(slices(described, k) if described.crossed[k] else folds(described, k, seed))
        for k in given.fit
    }
    return ConceptMeasurements(
        layer=given.tested,
        layers=tuple(given.representations.layers),
        baseline=given.baseline,
        predictor=PROBE if given.head is None else HEAD,
        answers_from=answers_from,
        parameters=_parameters(given.seeds),
        ledger=dict(described.ledger),
        frames={
            "tests": test_frame(judged),
            "parts": part_frame(judged),
            "values": value_frame(judged),
            "points": point_frame(judged),
            "classes": described.classes,
            "dimensions": described.frame(counts),
            "controls": TABLES["controls"].frame(found.controls),
            "layer_curves": layer_frame(found.layers, described),
            "iterations": TABLES["iterations"].frame(found.iterations),
            "nodes": by_node,
        },
    )


def _judged_instances(given: _Given, found: _Found) -> IntArray:
    """Different instances of each class that were judged."""
    rows = np.unique(np.concatenate([np.empty(0, np.int64), *found.judged]))
    of_class = given.described.class_of[rows]
    return np.bincount(of_class, minlength=len(given.described.class_codes)).astype(np.int64)


def _nodes(
    given: _Given, answers: pl.Series | None, groups: pl.Series | None, hierarchy: Hierarchy
) -> pl.DataFrame:
    instances = given.representations.instances
    placed = instances["labels"].list.eval(pl.element().is_in(hierarchy.nodes)).list.any()
    if not placed.any():
        labels = instances["labels"].explode().drop_nulls().unique(maintain_order=True)
        raise InputError(
            f"labels that are nodes of the hierarchy {hierarchy.name} are required",
            found=f"none among {first_cases(labels)}",
        )
    ids = instances["id"].to_list()
    rows = chosen_instances(ids, placed.fill_null(False).to_numpy(), given.seeds[0])
    of_rows = None if groups is None else groups[rows].to_list()
    below = instances_below(
        hierarchy,
        instances["labels"][rows].to_list(),
        None if answers is None else answers[rows].to_list(),
        LEAST_INSTANCES,
        of_rows,
    )
    layers = {
        name: layer[rows].astype(np.float64) for name, layer in given.representations.layers.items()
    }
    names = [ids[row] for row in rows.tolist()]
    return node_frame(below, layers, given.tested, names, given.seeds, of_rows)


def _parameters(seeds: range) -> dict[str, float]:
    return {
        "seeds": len(seeds),
        "seed": seeds[0],
        "min_instances": LEAST_INSTANCES,
        "limit": verdicts.LIMIT,
        "margin": verdicts.MARGIN,
        "equivalence_level": verdicts.EQUIVALENCE_LEVEL,
        "most_rows": classes.MOST_ROWS,
        "most_ambiguous": classes.MOST_AMBIGUOUS,
        "iterations": beside_tests.ITERATIONS,
        "rank_tolerance": ablation.RANK_TOLERANCE,
    }
