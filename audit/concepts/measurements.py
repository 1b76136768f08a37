"""What the tests of concepts measured: one record of tables, each with documented columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from audit.concepts.facets import Facets
from audit.concepts.representations import AnswersFrom

TESTS: dict[str, Any] = {
    "test": pl.String,
    "dimension": pl.String,
    "seen": pl.String,
    "ablation": pl.String,
    "probe": pl.String,
    "verdict": pl.String,
    "interval_verdict": pl.String,
    "reason": pl.String,
    "parts": pl.Int64,
}
"""One row per verdict. ``test`` is `is_grounded`, `is_token_of_type`, `is_modular` or `is_causal`;
``dimension`` the dimension that is read or ablated (null for `is_grounded`); ``seen`` is "1 slice"
or "N-1 slices" (null for `is_grounded`); ``ablation`` is "inlp" or "leace" where something is
ablated; ``probe`` is "transfer" (fitted before the ablation), "retrained" (fitted after it), or
"predict" (what the model predicts). The paper's own tests are those of "inlp" with "transfer" or
"predict". A verdict is ``pass``, ``fail``, ``undecided`` or ``not_applicable``: ``verdict`` by the
thresholds that the paper names, ``interval_verdict`` by intervals and equivalence. ``reason`` says
why a test is undecided or does not apply. A verdict is the conjunction of ``parts`` rows of
`PARTS`."""

PARTS: dict[str, Any] = {
    "test": pl.String,
    "dimension": pl.String,
    "seen": pl.String,
    "ablation": pl.String,
    "probe": pl.String,
    "read": pl.String,
    "accuracy": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "low_90": pl.Float64,
    "high_90": pl.Float64,
    "chance": pl.Float64,
    "auc": pl.Float64,
    "requirement": pl.String,
    "verdict": pl.String,
    "interval_verdict": pl.String,
    "p_above_chance": pl.Float64,
    "q_above_chance": pl.Float64,
    "instances": pl.Int64,
    "classes": pl.Int64,
    "seeds": pl.Int64,
}
"""One row per accuracy that a verdict rests on: the keys of `TESTS`, and ``read``, the dimension
along which answers are compared with the truth (null for `is_grounded`). ``accuracy`` is pooled
over slices and seeds, on unseen classes; ``low`` and ``high`` bound its 95 % interval, ``low_90``
and ``high_90`` the 90 % interval of the equivalence test. ``requirement`` is ``above_limit``,
``at_or_below_chance`` or ``at_chance``. ``q_above_chance`` is adjusted within test, seen, ablation
and probe."""

VALUES: dict[str, Any] = {
    "test": pl.String,
    "dimension": pl.String,
    "seen": pl.String,
    "ablation": pl.String,
    "probe": pl.String,
    "read": pl.String,
    "seed": pl.Int64,
    "accuracy": pl.Float64,
    "chance": pl.Float64,
    "verdict": pl.String,
    "instances": pl.Int64,
}
"""The parts by seed; ``verdict`` by the paper's thresholds, of that seed alone."""

POINTS: dict[str, Any] = {
    "test": pl.String,
    "dimension": pl.String,
    "seen": pl.String,
    "ablation": pl.String,
    "probe": pl.String,
    "read": pl.String,
    "seed": pl.Int64,
    "class": pl.String,
    "accuracy": pl.Float64,
    "instances": pl.Int64,
}
"""The parts by seed and unseen class: the points of the paper's figures. A class is named by its
concepts, as in `CLASSES`."""

CLASSES: dict[str, Any] = {
    "class": pl.String,
    "labels": pl.List(pl.String),
    "concepts": pl.List(pl.String),
    "instances": pl.Int64,
}
"""Labels that are described alike form a class. ``concepts`` are in the order of dimensions, null
where the labels have none in a dimension; ``class`` joins them by " / "."""

DIMENSIONS: dict[str, Any] = {
    "dimension": pl.String,
    "kind": pl.String,
    "concepts": pl.Int64,
    "slices": pl.Int64,
    "instances": pl.Int64,
    "without_concept": pl.Int64,
    "several_concepts": pl.Int64,
    "chance": pl.Float64,
    "reason": pl.String,
}
"""One row per dimension: its different concepts and slices, the instances whose labels have one
concept in it, none, or several (these are left out of it), the share of the most frequent concept,
and why it takes no part in tests (null if it does)."""

CONTROLS: dict[str, Any] = {
    "dimension": pl.String,
    "judged": pl.String,
    "seed": pl.Int64,
    "chance": pl.Float64,
    "linear": pl.Float64,
    "auc": pl.Float64,
    "control_task": pl.Float64,
    "selectivity": pl.Float64,
    "nonlinear": pl.Float64,
    "random_network": pl.Float64,
}
"""Accuracies of a dimension's probe and of its controls. ``judged`` is "seen" (probes see every
class, and are judged on other instances) or "unseen" (N-1 slices). ``control_task``: concepts
dealt to classes at random, on seen classes alone; ``selectivity`` is ``linear - control_task``.
``nonlinear``: a probe on a radial kernel. ``random_network``: the linear probe on the baseline that
`ConceptMeasurements.baseline` names; null if there is none."""

LAYERS: dict[str, Any] = {
    "layer": pl.String,
    "place": pl.Int64,
    "measure": pl.String,
    "dimension": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "chance": pl.Float64,
    "instances": pl.Int64,
    "seeds": pl.Int64,
}
"""Curves by layer, ``place`` counted from 0, means over seeds. ``measure`` is ``probe`` (accuracy
of the dimension's probe), ``direct`` (of one probe for all classes), ``composed`` (all dimensions
right on one instance), ``product`` (of the accuracies of dimensions) or ``nmi`` (normalised mutual
information of direct and composed answers, arithmetic mean). ``dimension`` is null but for
``probe``; the interval is null for ``product`` and ``nmi``."""

ITERATIONS: dict[str, Any] = {
    "dimension": pl.String,
    "ablation": pl.String,
    "iteration": pl.Int64,
    "read": pl.String,
    "probe": pl.String,
    "seed": pl.Int64,
    "accuracy": pl.Float64,
    "chance": pl.Float64,
    "removed": pl.Int64,
    "variance_kept": pl.Float64,
}
"""Accuracies as ablation goes on, on seen classes and other instances than it was fitted to:
``iteration`` 0 is before, 1 is the paper's; of "leace" there is only 1. ``probe`` as in `TESTS`.
``removed`` is the number of dimensions of the space that are gone, ``variance_kept`` the share of
the variance that is left."""

NODES: dict[str, Any] = {
    "node": pl.String,
    "depth": pl.Int64,
    "parent": pl.String,
    "instances": pl.Int64,
    "siblings": pl.Int64,
    "readable": pl.Float64,
    "readable_low": pl.Float64,
    "readable_high": pl.Float64,
    "absent_p": pl.Float64,
    "absent_q": pl.Float64,
    "sibling": pl.String,
    "sibling_instances": pl.Int64,
    "separable": pl.Float64,
    "separable_low": pl.Float64,
    "separable_high": pl.Float64,
    "entangled_p": pl.Float64,
    "entangled_q": pl.Float64,
    "probed": pl.Float64,
    "predicted": pl.Float64,
    "unused": pl.Float64,
    "unused_low": pl.Float64,
    "unused_high": pl.Float64,
    "unused_p": pl.Float64,
    "unused_q": pl.Float64,
    "family": pl.Int64,
    "state": pl.String,
    "best_layer": pl.String,
    "best_separable": pl.Float64,
    "folded_into": pl.String,
}
"""Nodes of the hierarchy with instances below them. All accuracies are balanced: .5 is chance.
``readable``: a linear probe tells the instances below the node from all others; ``absent_p``: p
value of its being at the limit or above. ``separable``: the same against the sibling that is
hardest to tell from it, ``sibling``, with ``entangled_p``. ``probed`` and ``predicted``: the node
against all siblings, by the probe and by the model's answers where they are known; ``unused`` is
their difference, and ``unused_p`` the p value of its being 0 or less. q values are adjusted by
Benjamini and Hochberg over the ``family``, the nodes tested at one depth, times the number of
depths. ``state`` is
``absent``, ``entangled``, ``unused``, ``present`` or ``undecided`` (null if too few instances).
``best_layer`` separates the node best from that sibling. ``folded_into`` is the deepest node below
with the same instances, which says the same; null if there is none."""


@dataclass(frozen=True, eq=False)
class ConceptMeasurements:
    """Everything that checks and reports may read of the concepts in representations.

    Args:
        facets: The concepts of labels.
        layer: The layer that tests, controls and nodes are about.
        layers: All layers, in order.
        baseline: What ``random_network`` of `controls` was measured on, or why it is null.
        predictor: What `is_causal` and `is_grounded` take for the model's answers.
        answers_from: Whose answers nodes are compared with; None where no answers are known.
        parameters: Limits and sizes by name, as printed beside the numbers.
        ledger: Instances read, used, and left out, by reason.
        tests: Columns `TESTS`.
        parts: Columns `PARTS`.
        values: Columns `VALUES`.
        points: Columns `POINTS`.
        classes: Columns `CLASSES`.
        dimensions: Columns `DIMENSIONS`.
        controls: Columns `CONTROLS`.
        layer_curves: Columns `LAYERS`.
        iterations: Columns `ITERATIONS`.
        nodes: Columns `NODES`; empty without a hierarchy.
    """

    facets: Facets
    layer: str
    layers: tuple[str, ...]
    baseline: str
    predictor: str
    answers_from: AnswersFrom | None
    parameters: dict[str, float]
    ledger: dict[str, int]
    tests: pl.DataFrame
    parts: pl.DataFrame
    values: pl.DataFrame
    points: pl.DataFrame
    classes: pl.DataFrame
    dimensions: pl.DataFrame
    controls: pl.DataFrame
    layer_curves: pl.DataFrame
    iterations: pl.DataFrame
    nodes: pl.DataFrame
