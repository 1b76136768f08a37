"""Concepts by layer: probes of dimensions, of classes, and of all dimensions together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.concepts.classes import Described
from audit.concepts.measurements import LAYERS
from audit.concepts.probes import fit_linear, in_parallel
from audit.concepts.splits import Split
from audit.engine.statistics.intervals import wilson

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
    """Values of every layer on one split: probes fitted on one half, judged on the other.

    Args:
        layers: Scaled representations, rows those of the split.
        split: The split.
        described: The classes.
        places: The dimensions that take part.
    """
    crossed = [place for place in places if described.crossed[place]]
    together = crossed or list(places)
    jobs = [(number, name) for number, name in enumerate(layers)]
    rows = in_parallel(
        lambda job: _rows_of(layers[job[1]], split, described, places, together), jobs
    )
    return [
        {"layer": name, "place": number} | row
        for (number, name), several in zip(jobs, rows, strict=True)
        for row in several
    ]


def _rows_of(
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
        rows.append(_row(PROBE, place, probe(z[own]) == codes[own], np.bincount(codes[own])))
        if place in together:
            composed[:, together.index(place)] = probe(z[judged])
    fitted = np.flatnonzero(whole & split.probing)
    target = of_class[split.class_of]
    if len(np.unique(target[fitted])) < 2 or not len(judged):
        return rows
    direct = fit_linear(z[fitted], target[fitted])(z[judged])
    counts = np.bincount(target[judged])
    all_right = composed == split.codes[judged][:, together]
    rows.append(_row(DIRECT, None, direct == target[judged], counts))
    rows.append(_row(COMPOSED, None, all_right.all(axis=1), counts))
    _, answer = np.unique(composed, axis=0, return_inverse=True)
    shared = normalized_mutual_info_score(direct, answer.reshape(-1), average_method="arithmetic")
    for measure, value in ((PRODUCT, all_right.mean(axis=0).prod()), (NMI, shared)):
        rows.append(_row(measure, None, np.empty(0, np.bool_), counts) | {"value": float(value)})
    return rows


def _row(
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
    """Columns `LAYERS`: means over splits, with Wilson intervals at the number of instances."""
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
    return named.select(pl.col(name).cast(kind) for name, kind in LAYERS.items())
