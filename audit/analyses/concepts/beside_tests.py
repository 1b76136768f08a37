"""What is measured of a split beside its tests: controls, further ablation, and layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.concepts.classes import Described, Split, scaled
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.probes import Ablation, fit, in_parallel, inlp, leace
from audit.analyses.concepts.reading import Representations
from audit.analyses.concepts.tests_of_concepts import (
    INLP,
    LEACE,
    PREDICT,
    REST,
    TRANSFER,
    Scene,
)
from audit.base.dag import FloatArray, IntArray
from audit.base.errors import InputError, first_cases
from audit.engine.statistics.intervals import wilson

NO_BASELINE = "none: the tested layer is the first, and no untrained network was given"
MOST_OUTPUTS = 1024
ITERATIONS = 6
"""Number of iterations of INLP."""
Row: TypeAlias = dict[str, Any]


def baseline_of(
    representations: Representations, layer: str, baseline: Representations | None, seed: int
) -> tuple[str, FloatArray | None]:
    """What a random network makes of the instances, scaled, and what it is.

    Without an untrained network it is a layer of normal weights of variance 1 / inputs, and a
    rectifier, on the first layer.
    """
    layers = representations.layers
    if baseline is not None:
        own, given = representations.instances["id"], baseline.instances["id"]
        if not own.equals(given):
            missing = sorted({*own} ^ {*given})
            raise InputError(
                "the untrained network must have the instances of the trained one, in their order",
                found=f"{len(given):,} and {len(own):,} instances, in another order or with other "
                "ids" + (f": {first_cases(missing)}" if missing else ""),
            )
        name = layer if layer in baseline.layers else list(baseline.layers)[-1]
        made = scaled(baseline.layers[name].astype(np.float64))
        return f"layer {name} of an untrained network", made
    first = next(iter(layers))
    if first == layer:
        return NO_BASELINE, None
    inputs, outputs = layers[first].shape[1], min(layers[layer].shape[1], MOST_OUTPUTS)
    drawn = np.random.default_rng(seed).normal(size=(inputs, outputs)) / np.sqrt(inputs)
    made = np.maximum(scaled(layers[first].astype(np.float64)) @ drawn, 0.0)
    return f"a random layer on layer {first}", scaled(made)


class Beside(NamedTuple):
    """Rows of ``controls``, ``iterations`` and ``layer_curves``, of one split."""

    controls: Sequence[Row] = ()
    iterations: Sequence[Row] = ()
    curves: Sequence[Row] = ()


def measured_beside(
    scene: Scene,
    places: Sequence[int],
    layers: Mapping[str, FloatArray],
    baseline: FloatArray | None,
) -> Beside:
    """What is measured beside the tests of one split, for dimensions by place.

    Ablation is fitted on one quarter of the instances, judged on another, and probes are fitted on
    the other half. Of each layer probes are fitted on one half and judged on the other.

    Args:
        layers: All of them, scaled, shape (rows of the split, features).
        baseline: What a random network makes of the same instances; None without one.
    """
    jobs = [(place, judged) for place in places for judged in ("seen", "unseen")]
    controls = in_parallel(lambda job: _control_row(scene, *job, baseline), jobs)
    kept = [row for row in controls if row is not None]
    rows = in_parallel(lambda place: list(_iteration_rows(scene, place, places)), places)
    iterations = [row for several in rows for row in several]
    found = in_parallel(
        lambda z: list(_layer_rows(z, scene.split, scene.described, places)), layers.values()
    )
    numbered = enumerate(zip(layers, found, strict=True))
    curves = [{"layer": name, "place": at} | row for at, (name, rows) in numbered for row in rows]
    return Beside(kept, iterations, curves)


def _control_row(scene: Scene, place: int, judged: str, baseline: FloatArray | None) -> Row | None:
    codes, known = scene.split.codes[:, place], scene.knows(place)
    halves = (np.flatnonzero(known & half) for half in (scene.split.probing, scene.split.ablating))
    rest = [key for key in scene.seen if key[:2] == (place, REST)]
    unseen = [rows for key in rest if (rows := scene.rows(place, scene.seen[key])) is not None]
    pairs = [tuple(halves)] if judged == "seen" else unseen
    if not pairs or not len(pairs[0][1]) or len(np.unique(codes[pairs[0][0]])) < 2:
        return None
    probes = [(scene.probe(place, fitted), rows) for fitted, rows in pairs]
    right = [probe(scene.z[rows]) == codes[rows] for probe, rows in probes]
    areas = np.array([probe.auc(scene.z[rows], codes[rows]) for probe, rows in probes])
    areas, linear = areas[~np.isnan(areas)], float(np.concatenate(right).mean())
    truth = codes[np.concatenate([rows for _, rows in pairs])]
    told: Row = {
        "dimension": scene.described.dimensions[place],
        "judged": judged,
        "seed": scene.split.seed,
        "chance": np.bincount(truth).max() / len(truth),
        "linear": linear,
        "auc": float(areas.mean()) if len(areas) else float("nan"),
    }
    if judged == "seen":
        dealt = _dealt(scene, place)
        task = _accuracy(scene.z, dealt, *pairs[0]).mean()
        told |= {"control_task": task, "selectivity": linear - task}
    if baseline is not None:
        random = [_accuracy(baseline, codes, *rows) for rows in pairs]
        told["random_network"] = float(np.concatenate(random).mean())
    return told


def _accuracy(z: FloatArray, codes: IntArray, fitted: IntArray, judged: IntArray) -> Any:
    """Whether a probe that is fitted on some rows is right on others."""
    return fit(z[fitted], codes[fitted])(z[judged]) == codes[judged]


def _dealt(scene: Scene, place: int) -> IntArray:
    """The concepts of a dimension, dealt to its classes at random, by row."""
    dealt = scene.described.class_codes[:, place].copy()
    there = np.flatnonzero(dealt >= 0)
    dealt[there] = np.random.default_rng((scene.split.seed, place)).permutation(dealt[there])
    return np.asarray(dealt[scene.split.class_of])


def _iteration_rows(scene: Scene, place: int, places: Sequence[int]) -> Iterator[Row]:
    split, names = scene.split, scene.described.dimensions
    fitted, judged = (np.flatnonzero(scene.knows(place) & (split.quarter == q)) for q in (0, 2))
    z, concept, before = scene.z[fitted], split.codes[fitted, place], scene.z[judged]
    if len(np.unique(concept)) < 2 or not len(judged):
        return
    features = z.shape[1]
    whole = Ablation(np.zeros(features), np.empty((features, 0)), np.empty((0, features)))
    curve = [(INLP, k, one) for k, one in enumerate([whole, *islice(inlp(z, concept), ITERATIONS)])]
    for name, iteration, ablate in [*curve, (LEACE, 1, leace(z, concept))]:
        after = ablate(before)
        common = {
            "dimension": names[place],
            "ablation": name,
            "iteration": iteration,
            "seed": split.seed,
            "removed": len(ablate.write),
            "variance_kept": float(after.var(axis=0).sum() / before.var(axis=0).sum()),
        }
        answers = [(TRANSFER, k, _probe_of(scene, k)(after)) for k in places]
        said = scene.predict(after)
        answers += [(PREDICT, k, said[:, k]) for k in scene.predicted if k in places]
        for probe, read, told in answers:
            there = scene.knows(read)[judged]
            truth = split.codes[judged[there], read]
            if len(truth):
                yield common | {
                    "read": names[read],
                    "probe": probe,
                    "accuracy": float((told[there] == truth).mean()),
                    "chance": float(np.bincount(truth).max() / len(truth)),
                }


def _probe_of(scene: Scene, place: int) -> Any:
    return scene.probe(place, np.flatnonzero(scene.knows(place) & scene.split.probing))


def _layer_rows(
    z: FloatArray, split: Split, described: Described, places: Sequence[int]
) -> Iterator[Row]:
    from sklearn.metrics import normalized_mutual_info_score

    together = [place for place in places if described.crossed[place]] or list(places)
    whole = (split.codes[:, together] >= 0).all(axis=1)
    judged = np.flatnonzero(whole & split.ablating)
    composed = np.zeros((len(judged), len(together)), np.int64)
    for place in places:
        codes, known = split.codes[:, place], split.codes[:, place] >= 0
        fitted, own = np.flatnonzero(known & split.probing), np.flatnonzero(known & split.ablating)
        if len(np.unique(codes[fitted])) < 2 or not len(own):
            return
        probe = fit(z[fitted], codes[fitted])
        right = probe(z[own]) == codes[own]
        yield _layer_row("probe", right.mean(), codes[own]) | {"dimension": place}
        if place in together:
            composed[:, together.index(place)] = probe(z[judged])
    target = described.combinations(together)[1][split.class_of]
    fitted = np.flatnonzero(whole & split.probing)
    if len(np.unique(target[fitted])) < 2 or not len(judged):
        return
    direct = fit(z[fitted], target[fitted])(z[judged])
    all_right = composed == split.codes[judged][:, together]
    _, answer = np.unique(composed, axis=0, return_inverse=True)
    shared = normalized_mutual_info_score(direct, answer.reshape(-1), average_method="arithmetic")
    truth = target[judged]
    yield _layer_row("direct", (direct == truth).mean(), truth)
    yield _layer_row("composed", all_right.all(axis=1).mean(), truth)
    yield _layer_row("product", all_right.mean(axis=0).prod(), truth)
    yield _layer_row("nmi", shared, truth) | {"chance": None}


def _layer_row(measure: str, value: float, truth: IntArray) -> Row:
    chance = float(np.bincount(truth).max() / len(truth))
    return {"measure": measure, "value": float(value), "judged": len(truth), "chance": chance}


_ROWS = {
    **dict.fromkeys(("layer", "measure"), pl.String),
    **dict.fromkeys(("place", "dimension", "judged"), pl.Int64),
    **dict.fromkeys(("value", "chance"), pl.Float64),
}


def beside_frames(described: Described, splits: Sequence[Beside]) -> dict[str, pl.DataFrame]:
    """The tables of all splits; those of layers are means, with Wilson intervals of shares."""
    controls, iterations, curves = (
        [row for one in of for row in one] for of in zip(*splits, strict=True)
    )
    table = pl.DataFrame(curves, schema=_ROWS)
    means = table.group_by("layer", "place", "measure", "dimension", maintain_order=True).agg(
        pl.col("value", "chance").mean(),
        instances=pl.min_horizontal(pl.col("judged").sum(), described.ledger["used"]),
        seeds=pl.len(),
    )
    n = means["instances"].to_numpy()
    low, high = wilson(means["value"].to_numpy() * n, n)
    is_share = pl.col("measure").is_in(["product", "nmi"]).not_()
    names = dict(enumerate(described.dimensions))
    layers = means.with_columns(
        pl.col("dimension").replace_strict(names, return_dtype=pl.String),
        low=pl.when(is_share).then(pl.Series(low)),
        high=pl.when(is_share).then(pl.Series(high)),
    )
    return {
        "controls": TABLES["controls"].frame(controls),
        "layer_curves": TABLES["layer_curves"].cast(layers),
        "iterations": TABLES["iterations"].frame(iterations),
    }
