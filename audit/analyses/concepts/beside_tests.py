"""What is measured of a split beside its tests: a control task, further ablation, and layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.probes import Ablation, fit, inlp, leace
from audit.analyses.concepts.tests_of_concepts import PREDICT, TRANSFER, Scene
from audit.base.dag import IntArray
from audit.engine.statistics.intervals import wilson

ITERATIONS = 6
"""Number of iterations of INLP."""
Row: TypeAlias = dict[str, Any]


def _chance(truth: IntArray) -> float:
    """Share of the most frequent concept, which a constant answer would get right."""
    return float(np.bincount(truth).max() / len(truth))


def control_rows(scene: Scene) -> Iterator[Row]:
    """Accuracies on seen classes beside those of a task that says nothing.

    The control task deals the concepts of a dimension to its classes at random; what a probe reads
    beyond it, its selectivity, is not learnt by heart.
    """
    for place in scene.described.fit:
        known, dealt = scene.codes[:, place] >= 0, scene.described.class_codes[:, place].copy()
        rows, fitted, probe = known & scene.judging, known & ~scene.judging, scene.probe(place)
        if probe is None or not rows.any():
            continue
        there = np.flatnonzero(dealt >= 0)
        dealt[there] = np.random.default_rng((scene.seed, place)).permutation(dealt[there])
        of_row, truth = dealt[scene.class_of], scene.codes[rows, place]
        task = (fit(scene.z[fitted], of_row[fitted])(scene.z[rows]) == of_row[rows]).mean()
        linear = (probe(scene.z[rows]) == truth).mean()
        told = {"dimension": scene.described.dimensions[place], "seed": scene.seed}
        told |= {"chance": _chance(truth), "linear": linear, "control_task": task}
        yield told | {"selectivity": linear - task}


def iteration_rows(scene: Scene) -> Iterator[Row]:
    """How accurately probes of the other half, and answers, read dimensions after each iteration of
    INLP on one, and after LEACE: an ablation is fitted on one quarter, judged on another."""
    names, places = scene.described.dimensions, scene.described.fit
    for place in scene.described.fit:
        known = scene.codes[:, place] >= 0
        fitted, judged = (known & (scene.quarter == quarter) for quarter in (0, 2))
        z, concept, before = scene.z[fitted], scene.codes[fitted, place], scene.z[judged]
        if len(np.unique(concept)) < 2 or not len(before):
            continue
        features = z.shape[1]
        whole = Ablation(np.zeros(features), np.empty((features, 0)), np.empty((0, features)))
        curve = enumerate([whole, *islice(inlp(z, concept), ITERATIONS)])
        steps = [*(("inlp", k, one) for k, one in curve), ("leace", 1, leace(z, concept))]
        for name, iteration, ablate in steps:
            after = ablate(before)
            told = {"dimension": names[place], "ablation": name, "iteration": iteration}
            told |= {"seed": scene.seed, "removed": len(ablate.write)}
            told |= {"variance_kept": after.var(axis=0).sum() / before.var(axis=0).sum()}
            answers = [(TRANSFER, k, probe(after)) for k in places if (probe := scene.probe(k))]
            answers += [(PREDICT, k, of) for k, of in scene.predict(after).items() if k in places]
            for probed, read, said in answers:
                truth = scene.codes[judged, read]
                if (there := truth >= 0).any():
                    right = (said[there] == truth[there]).mean()
                    own = {"read": names[read], "probe": probed, "accuracy": right}
                    yield told | own | {"chance": _chance(truth[there])}


def layer_rows(scene: Scene) -> Iterator[Row]:
    """What is read of a layer: each dimension by a probe, all together by a direct classification,
    by the composed answers of the probes, and by the product of their accuracies; and the
    normalised mutual information of direct and composed answers (figures 7 and 8)."""
    from sklearn.metrics import normalized_mutual_info_score

    described, codes, places = scene.described, scene.codes, scene.described.fit
    combined = [place for place in places if described.crossed[place]] or list(places)
    whole = (codes[:, combined] >= 0).all(axis=1)
    judged, fitted, said = whole & scene.judging, whole & ~scene.judging, {}

    def told(measure: str, value: float, truth: IntArray, dimension: str | None = None) -> Row:
        own = {"measure": measure, "dimension": dimension, "value": value}
        return own | {
            "chance": None if measure == "nmi" else _chance(truth),
            "instances": len(truth),
        }

    for place in scene.described.fit:
        rows, probe = scene.judging & (codes[:, place] >= 0), scene.probe(place)
        if probe is None or not rows.any():
            return
        said[place], truth = probe(scene.z), codes[rows, place]
        right = (said[place][rows] == truth).mean()
        yield told("probe", right, truth, described.dimensions[place])
    target = described.combinations(combined)[1][scene.class_of]
    if len(np.unique(target[fitted])) < 2 or not judged.any():
        return
    direct, truth = fit(scene.z[fitted], target[fitted])(scene.z[judged]), target[judged]
    composed = np.column_stack([said[place][judged] for place in combined])
    right = composed == codes[judged][:, combined]
    _, answer = np.unique(composed, axis=0, return_inverse=True)
    shared = normalized_mutual_info_score(direct, answer.reshape(-1), average_method="arithmetic")
    yield told("direct", (direct == truth).mean(), truth)
    yield told("composed", right.all(axis=1).mean(), truth)
    yield told("product", right.mean(axis=0).prod(), truth)
    yield told("nmi", shared, truth)


def layer_curves(rows: Sequence[Row], used: int) -> pl.DataFrame:
    """The table ``layer_curves``: means over splits of `layer_rows` with ``layer`` and its
    ``place``, and Wilson intervals of shares of the instances ``used`` in tests."""
    table = TABLES["layer_curves"].frame(rows)
    means = table.group_by("layer", "place", "measure", "dimension", maintain_order=True).agg(
        pl.col("value", "chance").mean(),
        instances=pl.min_horizontal(pl.col("instances").sum(), used),
        seeds=pl.len(),
    )
    n = means["instances"].to_numpy()
    ends = zip(("low", "high"), wilson(means["value"].to_numpy() * n, n), strict=True)
    is_share = pl.col("measure").is_in(["product", "nmi"]).not_()
    told = {name: pl.when(is_share).then(pl.Series(end)) for name, end in ends}
    return TABLES["layer_curves"].cast(means.with_columns(**told))
