"""Controls beside the probes: a control task, a probe that is not linear, and a random network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from audit.base.dag import FloatArray, IntArray
from audit.base.errors import InputError, first_cases
from audit.concepts.probes import fit_kernel, fit_linear, in_parallel, mean_auc
from audit.concepts.representations import Encode, Representations
from audit.concepts.splits import scaling_of
from audit.concepts.unseen_classes import Scene, unseen_rows

NO_BASELINE = "none: the tested layer is the first, and no untrained network was given"
MOST_OUTPUTS = 1024


def random_layer(inputs: int, outputs: int, seed: int) -> Encode:
    """An untrained layer: normal weights of variance 1 / inputs, and a rectifier."""
    drawn = np.random.default_rng(seed).normal(size=(inputs, outputs)) / np.sqrt(inputs)

    def encode(x: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(x @ drawn, 0.0))

    return encode


def baseline_of(
    representations: Representations, layer: str, baseline: Representations | None, seed: int
) -> tuple[str, FloatArray | None]:
    """What a random network makes of the instances, and what it is.

    Raises:
        InputError: If a baseline is of other instances.
    """
    if baseline is not None:
        own, given = representations.instances["id"], baseline.instances["id"]
        if not own.equals(given):
            missing = sorted(set(own) ^ set(given))
            raise InputError(
                "the untrained network must have the instances of the trained one, in their order",
                found=f"{len(given):,} instances and {len(own):,}, other order or ids"
                + (f": {first_cases(missing)}" if missing else ""),
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
    """Rows of `CONTROLS` of one split, for dimensions by place.

    Args:
        scene: The representations of the split.
        places: The dimensions that take part.
        baseline: Representations of a random network for the rows of the split; None without one.
    """
    jobs = [(place, judged) for place in places for judged in ("seen", "unseen")]
    rows = in_parallel(lambda job: _row(scene, *job, baseline), jobs)
    return [row for row in rows if row is not None]


def _row(
    scene: Scene, place: int, judged: str, baseline: FloatArray | None
) -> dict[str, Any] | None:
    codes = scene.split.codes[:, place]
    pairs = list(_seen_rows(scene, place) if judged == "seen" else unseen_rows(scene, place))
    if not pairs:
        return None
    linear, auc = _linear(scene.z, codes, pairs)
    kernel = _accuracy(
        codes,
        [(fit_kernel(scene.z[a], codes[a], scene.split.seed)(scene.z[b]), b) for a, b in pairs],
    )
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
        "nonlinear": kernel,
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
