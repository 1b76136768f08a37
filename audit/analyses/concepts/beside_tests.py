"""What is measured of a split beside its tests: controls, further ablation, and layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.concepts.ablation import Ablation, balanced_weights, inlp, leace
from audit.analyses.concepts.classes import Described, Split, scaling_of
from audit.analyses.concepts.declared import TABLES
from audit.analyses.concepts.probes import LinearProbe, fit_linear, in_parallel, mean_auc
from audit.analyses.concepts.representations import Representations
from audit.analyses.concepts.unseen_classes import Scene, unseen_rows
from audit.analyses.concepts.verdicts import INLP, LEACE, PREDICT, TRANSFER
from audit.base.dag import FloatArray, IntArray
from audit.base.errors import InputError, first_cases
from audit.engine.statistics.intervals import wilson

NO_BASELINE = "none: the tested layer is the first, and no untrained network was given"
MOST_OUTPUTS = 1024


def random_layer(inputs: int, outputs: int, seed: int) -> Callable[[FloatArray], FloatArray]:
    """An untrained layer: normal weights of variance 1 / inputs, and a rectifier."""
    drawn = np.random.default_rng(seed).normal(size=(inputs, outputs)) / np.sqrt(inputs)

    def encode(x: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(x @ drawn, 0.0))

    return encode


def baseline_of(
    representations: Representations, layer: str, baseline: Representations | None, seed: int
) -> tuple[str, FloatArray | None]:
    """What a random network makes of the instances, and what it is."""
    if baseline is not None:
        own, given = representations.instances["id"], baseline.instances["id"]
        if not own.equals(given):
            missing = sorted(set(own) ^ set(given))
            raise InputError(
                "the untrained network must have the instances of the trained one, in their order",
                found=f"{len(given):,} and {len(own):,} instances, in another order or with other "
                "ids" + (f": {first_cases(missing)}" if missing else ""),
            )
        name = layer if layer in baseline.layers else list(baseline.layers)[-1]
        return f"layer {name} of an untrained network", _scaled(baseline.layers[name])
    first = next(iter(representations.layers))
    if first == layer:
        return NO_BASELINE, None
    inputs, outputs = (representations.layers[name].shape[1] for name in (first, layer))
    encode = random_layer(inputs, min(outputs, MOST_OUTPUTS), seed)
    return f"a random layer on layer {first}", _scaled(
        encode(_scaled(representations.layers[first]))
    )


def _scaled(layer: np.ndarray[Any, Any]) -> FloatArray:
    rows = layer.astype(np.float64)
    return scaling_of(rows)(rows)


def control_rows(
    scene: Scene, places: list[int], baseline: FloatArray | None
) -> list[dict[str, Any]]:
    """Rows of ``controls`` of one split, for dimensions by place."""
    jobs = [(place, judged) for place in places for judged in ("seen", "unseen")]
    rows = in_parallel(lambda job: _control_row(scene, *job, baseline), jobs)
    return [row for row in rows if row is not None]


def _control_row(
    scene: Scene, place: int, judged: str, baseline: FloatArray | None
) -> dict[str, Any] | None:
    codes = scene.split.codes[:, place]
    pairs = list(_seen_rows(scene, place) if judged == "seen" else unseen_rows(scene, place))
    if not pairs:
        return None
    linear, auc = _linear(scene.z, codes, pairs)
    task = _control_task(scene, place, pairs) if judged == "seen" else None
    truth = codes[np.concatenate([rows for _, rows in pairs])]
    return {
        "dimension": scene.described.dimensions[place],
        "judged": judged,
        "seed": scene.split.seed,
        "chance": np.bincount(truth).max() / len(truth),
        "linear": linear,
        "auc": auc,
        "control_task": task,
        "selectivity": None if task is None else linear - task,
        "random_network": None if baseline is None else _linear(baseline, codes, pairs)[0],
    }


def _seen_rows(scene: Scene, place: int) -> Iterator[tuple[IntArray, IntArray]]:
    codes, known = scene.split.codes[:, place], scene.knows(place)
    fitted = np.flatnonzero(known & scene.split.probing)
    judged = np.flatnonzero(known & scene.split.ablating)
    if len(np.unique(codes[fitted])) > 1 and len(judged):
        yield fitted, judged


def _linear(
    z: FloatArray, codes: IntArray, pairs: list[tuple[IntArray, IntArray]]
) -> tuple[float, float]:
    answers, areas = [], []
    for fitted, judged in pairs:
        probe = fit_linear(z[fitted], codes[fitted])
        answers.append((probe(z[judged]), judged))
        areas.append(mean_auc(probe.scores(z[judged]), probe.classes, codes[judged]))
    known = np.array(areas)[~np.isnan(areas)]
    return _accuracy(codes, answers), float(known.mean()) if len(known) else float("nan")


def _accuracy(codes: IntArray, answers: list[tuple[IntArray, IntArray]]) -> float:
    right = np.concatenate([answer == codes[rows] for answer, rows in answers])
    return float(right.mean())


def _control_task(scene: Scene, place: int, pairs: list[tuple[IntArray, IntArray]]) -> float:
    """Accuracy where the concepts of a dimension are dealt to its classes at random."""
    of_class = scene.described.class_codes[:, place]
    there = np.flatnonzero(of_class >= 0)
    dealt = of_class.copy()
    dealt[there] = np.random.default_rng((scene.split.seed, place)).permutation(of_class[there])
    codes = dealt[scene.split.class_of]
    fitted, judged = pairs[0]
    probe = fit_linear(scene.z[fitted], codes[fitted])
    return _accuracy(codes, [(probe(scene.z[judged]), judged)])


ITERATIONS = 6
"""Number of iterations of INLP."""


def iteration_rows(scene: Scene, places: list[int]) -> list[dict[str, Any]]:
    """Rows of ``iterations`` of one split.

    Ablation is fitted on one quarter of the instances, judged on another, and probes are fitted on
    the other half.
    """
    probes = dict(in_parallel(lambda place: (place, _probe_of(scene, place)), places))
    rows = in_parallel(lambda place: list(_iteration_rows(scene, place, places, probes)), places)
    return [row for several in rows for row in several]


def _probe_of(scene: Scene, place: int) -> LinearProbe:
    fitted = np.flatnonzero(scene.knows(place) & scene.split.probing)
    return fit_linear(scene.z[fitted], scene.split.codes[fitted, place])


def _iteration_rows(
    scene: Scene, place: int, places: list[int], probes: Mapping[int, LinearProbe]
) -> Iterator[dict[str, Any]]:
    split, known = scene.split, scene.knows(place)
    fitted = np.flatnonzero(known & (split.quarter == 0))
    judged = np.flatnonzero(known & (split.quarter == 2))
    z, concept = scene.z[fitted], split.codes[fitted, place]
    if len(np.unique(concept)) < 2 or not len(judged):
        return
    features = scene.z.shape[1]
    whole = Ablation(np.zeros(features), np.empty((features, 0)), np.empty((0, features)))
    curve = [(INLP, 0, whole)]
    curve += [(INLP, k, one) for k, one in enumerate(islice(inlp(z, concept), ITERATIONS), 1)]
    curve += [(LEACE, 1, leace(z, concept, balanced_weights(concept)))]
    for name, iteration, ablate in curve:
        after = ablate(scene.z[judged])
        common = {
            "dimension": scene.described.dimensions[place],
            "ablation": name,
            "iteration": iteration,
            "seed": split.seed,
            "removed": ablate.removed,
            "variance_kept": float(after.var(axis=0).sum() / scene.z[judged].var(axis=0).sum()),
        }
        for probe, read, answers in _answers(scene, places, probes, ablate, judged):
            truth = split.codes[judged, read]
            there = truth >= 0
            if there.any():
                yield common | {
                    "read": scene.described.dimensions[read],
                    "probe": probe,
                    "accuracy": float((answers == truth)[there].mean()),
                    "chance": float(np.bincount(truth[there]).max() / there.sum()),
                }


def _answers(
    scene: Scene,
    places: list[int],
    probes: Mapping[int, LinearProbe],
    ablate: Ablation,
    judged: IntArray,
) -> Iterator[tuple[str, int, IntArray]]:
    after = ablate(scene.z[judged])
    for read in places:
        yield TRANSFER, read, probes[read](after)
    if scene.predict is not None:
        predicted = scene.predict(after)
        for read in places:
            if scene.described.crossed[read]:
                yield PREDICT, read, predicted[:, read]


PROBE, DIRECT, COMPOSED, PRODUCT, NMI = "probe", "direct", "composed", "product", "nmi"


_ROWS: dict[str, Any] = {
    "layer": pl.String,
    "place": pl.Int64,
    "measure": pl.String,
    "dimension": pl.Int64,
    "value": pl.Float64,
    "judged": pl.Int64,
    "chance": pl.Float64,
}


def layer_rows(
    layers: Mapping[str, FloatArray], split: Split, described: Described, places: Sequence[int]
) -> list[dict[str, Any]]:
    """Values of every layer on one split: probes fitted on one half, judged on the other."""
    crossed = [place for place in places if described.crossed[place]]
    together = crossed or list(places)
    jobs = [(number, name) for number, name in enumerate(layers)]
    rows = in_parallel(
        lambda job: _layer_rows(layers[job[1]], split, described, places, together), jobs
    )
    return [
        {"layer": name, "place": number} | row
        for (number, name), several in zip(jobs, rows, strict=True)
        for row in several
    ]


def _layer_rows(
    z: FloatArray, split: Split, described: Described, places: Sequence[int], together: list[int]
) -> list[dict[str, Any]]:
    from sklearn.metrics import normalized_mutual_info_score

    rows: list[dict[str, Any]] = []
    whole = (split.codes[:, together] >= 0).all(axis=1)
    judged = np.flatnonzero(whole & split.ablating)
    of_class = described.combinations(together)[1]
    composed = np.zeros((len(judged), len(together)), np.int64)
    for place in places:
        known = split.codes[:, place] >= 0
        fitted, own = np.flatnonzero(known & split.probing), np.flatnonzero(known & split.ablating)
        codes = split.codes[:, place]
        if len(np.unique(codes[fitted])) < 2 or not len(own):
            return rows
        probe = fit_linear(z[fitted], codes[fitted])
        rows.append(_layer_row(PROBE, place, probe(z[own]) == codes[own], np.bincount(codes[own])))
        if place in together:
            composed[:, together.index(place)] = probe(z[judged])
    fitted = np.flatnonzero(whole & split.probing)
    target = of_class[split.class_of]
    if len(np.unique(target[fitted])) < 2 or not len(judged):
        return rows
    direct = fit_linear(z[fitted], target[fitted])(z[judged])
    counts = np.bincount(target[judged])
    all_right = composed == split.codes[judged][:, together]
    rows.append(_layer_row(DIRECT, None, direct == target[judged], counts))
    rows.append(_layer_row(COMPOSED, None, all_right.all(axis=1), counts))
    _, answer = np.unique(composed, axis=0, return_inverse=True)
    shared = normalized_mutual_info_score(direct, answer.reshape(-1), average_method="arithmetic")
    for measure, value in ((PRODUCT, all_right.mean(axis=0).prod()), (NMI, shared)):
        rows.append(
            _layer_row(measure, None, np.empty(0, np.bool_), counts) | {"value": float(value)}
        )
    return rows


def _layer_row(
    measure: str, place: int | None, right: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]
) -> dict[str, Any]:
    return {
        "measure": measure,
        "dimension": place,
        "value": float(right.mean()) if len(right) else float("nan"),
        "judged": int(counts.sum()),
        "chance": None if measure == NMI else float(counts.max() / counts.sum()),
    }


def layer_frame(rows: list[dict[str, Any]], described: Described) -> pl.DataFrame:
    """Means over splits, with Wilson intervals at the number of instances."""
    table = pl.DataFrame(rows, schema=_ROWS)
    means = table.group_by("layer", "place", "measure", "dimension", maintain_order=True).agg(
        pl.col("value", "chance").mean(), pl.col("judged").sum(), seeds=pl.len()
    )
    used = int(described.ledger["used"])
    lows, highs, counts = [], [], []
    for row in means.iter_rows(named=True):
        n = min(row["judged"], used)
        low, high = wilson(row["value"] * n, n)
        plain = row["measure"] in (PRODUCT, NMI)
        lows.append(None if plain else low)
        highs.append(None if plain else high)
        counts.append(n)
    names = dict(enumerate(described.dimensions))
    named = means.with_columns(
        pl.Series("low", lows, pl.Float64),
        pl.Series("high", highs, pl.Float64),
        pl.Series("instances", counts, pl.Int64),
        pl.col("dimension").replace_strict(names, return_dtype=pl.String),
    )
    return named.pipe(TABLES["layer_curves"].cast)
