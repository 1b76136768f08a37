"""What the tests of concepts measured: one record of tables, each with documented columns."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from audit.base.schemas import schema
from audit.concepts.facets import Facets
from audit.concepts.representations import AnswersFrom

TESTS = schema(
    ("test dimension seen ablation probe verdict interval_verdict reason", pl.String),
    ("parts", pl.Int64),
)
"""One row per verdict. ``test`` is `is_grounded`, `is_token_of_type`, `is_modular` or `is_causal`;
``dimension`` the dimension that is read or ablated (null for `is_grounded`); ``seen`` is "1 slice"
or "N-1 slices" (null for `is_grounded`); ``ablation`` is "inlp" or "leace" where something is
ablated; ``probe`` is "transfer" (fitted before the ablation) or
"predict" (what the model predicts). The paper's own tests are those of "inlp" with "transfer" or
"predict". A verdict is ``pass``, ``fail``, ``undecided`` or ``not_applicable``: ``verdict`` by the
thresholds that the paper names, ``interval_verdict`` by intervals and equivalence. ``reason`` says
why a test is undecided or does not apply. A verdict is the conjunction of ``parts`` rows of
`PARTS`."""

PARTS = schema(
    ("test dimension seen ablation probe read", pl.String),
    ("accuracy low high low_90 high_90 chance auc", pl.Float64),
    ("requirement verdict interval_verdict", pl.String),
    ("p_above_chance q_above_chance", pl.Float64),
    ("instances classes seeds", pl.Int64),
)
"""One row per accuracy that a verdict rests on: the keys of `TESTS`, and ``read``, the dimension
along which answers are compared with the truth (null for `is_grounded`). ``accuracy`` is pooled
over slices and seeds, on unseen classes; ``low`` and ``high`` bound its 95 % interval, ``low_90``
and ``high_90`` the 90 % interval of the equivalence test. ``requirement`` is ``above_limit``,
``at_or_below_chance`` or ``at_chance``. ``q_above_chance`` is adjusted within test, seen, ablation
and probe."""

VALUES = schema(
    ("test dimension seen ablation probe read", pl.String),
    ("seed", pl.Int64),
    ("accuracy chance", pl.Float64),
    ("verdict", pl.String),
    ("instances", pl.Int64),
)
"""The parts by seed; ``verdict`` by the paper's thresholds, of that seed alone."""

POINTS = schema(
    ("test dimension seen ablation probe read", pl.String),
    ("seed", pl.Int64),
    ("class", pl.String),
    ("accuracy", pl.Float64),
    ("instances", pl.Int64),
)
"""The parts by seed and unseen class: the points of the paper's figures. A class is named by its
concepts, as in `CLASSES`."""

CLASSES = schema(
    ("class", pl.String),
    ("labels concepts", pl.List(pl.String)),
    ("instances", pl.Int64),
)
"""Labels that are described alike form a class. ``concepts`` are in the order of dimensions, null
where the labels have none in a dimension; ``class`` joins them by " / "."""

DIMENSIONS = schema(
    ("dimension kind", pl.String),
    ("concepts slices instances without_concept several_concepts", pl.Int64),
    ("chance", pl.Float64),
    ("reason", pl.String),
)
"""One row per dimension: its different concepts and slices, the instances whose labels have one
concept in it, none, or several (these are left out of it), the share of the most frequent concept,
and why it takes no part in tests (null if it does)."""

CONTROLS = schema(
    ("dimension judged", pl.String),
    ("seed", pl.Int64),
    ("chance linear auc control_task selectivity random_network", pl.Float64),
)
"""Accuracies of a dimension's probe and of its controls. ``judged`` is "seen" (probes see every
class, and are judged on other instances) or "unseen" (N-1 slices). ``control_task``: concepts
dealt to classes at random, on seen classes alone; ``selectivity`` is ``linear - control_task``.
``random_network``: the linear probe on the baseline that
`ConceptMeasurements.baseline` names; null if there is none."""

LAYERS = schema(
    ("layer", pl.String),
    ("place", pl.Int64),
    ("measure dimension", pl.String),
    ("value low high chance", pl.Float64),
    ("instances seeds", pl.Int64),
)
"""Curves by layer, ``place`` counted from 0, means over seeds. ``measure`` is ``probe`` (accuracy
of the dimension's probe), ``direct`` (of one probe for all classes), ``composed`` (all dimensions
right on one instance), ``product`` (of the accuracies of dimensions) or ``nmi`` (normalised mutual
information of direct and composed answers, arithmetic mean). ``dimension`` is null but for
``probe``; the interval is null for ``product`` and ``nmi``."""

ITERATIONS = schema(
    ("dimension ablation", pl.String),
    ("iteration", pl.Int64),
    ("read probe", pl.String),
    ("seed", pl.Int64),
    ("accuracy chance", pl.Float64),
    ("removed", pl.Int64),
    ("variance_kept", pl.Float64),
)
"""Accuracies as ablation goes on, on seen classes and other instances than it was fitted to:
``iteration`` 0 is before, 1 is the paper's; of "leace" there is only 1. ``probe`` as in `TESTS`.
``removed`` is the number of dimensions of the space that are gone, ``variance_kept`` the share of
the variance that is left."""

NODES = schema(
    ("node", pl.String),
    ("depth", pl.Int64),
    ("parent", pl.String),
    ("instances groups siblings", pl.Int64),
    ("readable readable_low readable_high", pl.Float64),
    ("sibling", pl.String),
    ("sibling_instances", pl.Int64),
    (
        "separable separable_low separable_high probed predicted unused unused_low unused_high",
        pl.Float64,
    ),
    ("best_layer", pl.String),
    ("best_separable", pl.Float64),
    ("folded_into", pl.String),
)
"""Nodes of the hierarchy with instances below them, and of so many ``groups``, null without any.
``readable``: how often a linear probe gives an instance below the node a higher score than another
(the area under the curve: .5 is chance). ``separable``: against the sibling that is hardest to tell
from it, ``sibling``. ``probed`` and ``predicted``: balanced accuracies of the node against all
siblings, by the probe and by the model's answers where they are known; ``unused`` is their
difference. ``best_layer`` separates the node best from that sibling. ``folded_into`` is the deepest
node below with the same instances, which says the same; null if there is none."""


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
