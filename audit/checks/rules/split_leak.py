"""split_leak: instances and groups in two splits, and labels missing from training."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import gammainc, gammaln

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.declared import NONE, Columns, chance, count, total
from audit.checks.check import TOP_PARTS
from audit.checks.rows import OF_GROUPS, OF_SOME, Row, Rows, check_of_rows
from audit.checks.shared.carriers import distinct, most_frequent
from audit.engine.pairs.pair_counts import support
from audit.measure.measure import Measurements
from audit.results.findings import Part, share_evidence, times_limit

NEVER = 1e-9
"""Probability of being unseen below which a label is ignored, as too many units carry it."""


def unseen_by_chance(carried: Sparse, outside: int) -> tuple[float, float]:
    """Mean and variance of the number of labels carried only by ``outside`` units drawn at random.

    Exact: k units of N are all outside with probability C(outside, k) / C(N, k); two labels carried
    by k and by l units, of which j carry both, are both unseen with that of k + l - j units.

    Args:
        carried: 1 where a unit has a label, shape (n_units, n_labels), canonical CSR.
        outside: Number of units that are not trained on.

    Returns:
        The mean and the variance; both 0 if all units, or none, are trained on.

    Time grows with the sum over units of (rare labels per unit)^2.
    """
    n = carried.shape[0]
    counts = support(carried)
    rare = np.flatnonzero((counts > 0) & (_all_outside(counts, n, outside) > NEVER))
    k = counts[rare]
    mean = float(_all_outside(k, n, outside).sum())
    values, times = np.unique(k, return_counts=True)
    both = _all_outside(values[:, None] + values[None, :], n, outside)
    apart = float(times @ both @ times)
    rare_labels = csr_array(carried[:, rare])
    joint = csr_array(rare_labels.T @ rare_labels).tocoo()
    of_both = k[joint.row] + k[joint.col]
    beside = _all_outside(of_both - joint.data, n, outside) - _all_outside(of_both, n, outside)
    return mean, max(apart + float(beside.sum()) - mean**2, 0.0)


def chance_of_unseen(unseen: int, mean: float, variance: float) -> float:
    """Probability of at least as many unseen labels: the upper tail of a Poisson distribution,
    scaled to the variance if that is above the mean."""
    scale = max(variance / mean, 1.0) if mean else 1.0
    return float(gammainc(unseen / scale, mean / scale)) if unseen and mean else float(not unseen)


def _all_outside(k: IntArray, n: int, outside: int) -> FloatArray:
    """Chance that k of n units are all among so many drawn."""
    left = np.maximum(outside - k, 0) + 1.0
    log = gammaln(outside + 1.0) - gammaln(left) - gammaln(n + 1.0) + gammaln(n - k + 1.0)
    return np.where(k <= outside, np.exp(log), 0.0)


_TRAINING = ("train", "training")
LEAST_RATIO = 1.5
"""Least ratio of unseen labels to those of a random split for them to be reported."""
SURE = 0.025
"""Largest probability of as many in a random split: beyond its 95 % interval."""


def _leaks(measured: Measurements) -> Rows:
    """Instances and groups in several splits, and labels missing from the training split.

    *Instance*: an id in more than one split. *Group*: a group of several instances, such as a
    patient, in more than one. *Unseen*: labels used outside the training split (`train`,
    `training`, else the largest) and never in it, at least 1.5 times as many as expected in a
    random split of the same size, and more than its 95 % interval allows
    ([formula](methods/drift.md#splits-labels-that-training-never-sees)).

    **Severity.** Instance and group: error (a warning below `error_share`). Unseen: note.
    **Limits.** Without `--group` a leak through patients cannot be seen.
    """
    splits = measured.loaded.dataset.splits
    several = splits["split"].n_unique() > 1
    return Rows(
        splits["instance"].n_unique(),
        "instances with a split",
        _rows(measured, splits) if several else (),
        "" if len(splits) else "no split is named",
    )


def _rows(measured: Measurements, splits: pl.DataFrame) -> Iterator[Row]:
    every = splits["instance"].n_unique()
    torn = splits.filter(pl.col("instance").is_duplicated())
    if len(torn):
        yield Row(
            severity="error",
            sentence="{instances} of {of} instances with a split ({share}) {instances|is|are} in "
            "more than one.",
            evidence=share_evidence(torn["instance"].n_unique(), every),
            curator="Put each instance into one split.",
            data_user="Remove these instances from all splits but one before you compare models: "
            "otherwise they are tested on their training data.",
            parts=_by_splits(torn, "instance"),
            key=("instance",),
            cases=partial(distinct, torn),
        )
    groups = measured.loaded.dataset.instances["group"].gather(splits["instance"])
    several = (pl.col(name).n_unique().over("group") > 1 for name in ("split", "instance"))
    shared = splits.with_columns(group=groups).drop_nulls("group").filter(*several)
    if len(shared):
        yield Row(
            severity="error",
            sentence="{groups} of {of_groups} groups, with {instances} of {of} instances with a "
            "split ({share}), {groups|is|are} in more than one split.",
            evidence={
                "groups": shared["group"].n_unique(),
                "of_groups": int(measured.ledger.groups or 0),
                **share_evidence(shared["instance"].n_unique(), every),
            },
            curator="Split by group, so that all instances of a group are in one split.",
            data_user="Split again by group: a model can recognise the group instead of the label.",
            parts=_by_splits(shared, "group"),
            key=("group",),
            cases=partial(distinct, shared),
        )
    yield from _unseen(measured, splits, whole_groups=not len(shared))


def _by_splits(torn: pl.DataFrame, unit: str) -> tuple[Part, ...]:
    """The splits that share units, by the instances of these units in them."""
    splits, instances = pl.col("split").unique().sort(), pl.col("instance").n_unique()
    by_unit = torn.group_by(unit).agg(splits=splits, instances=instances)
    by_splits = by_unit.group_by("splits").agg(pl.col("instances").sum(), groups=pl.len())
    order = "instances", pl.col("splits").list.join("\0")
    counts = ["instances"] if unit == "instance" else ["instances", "groups"]
    lines = by_splits.sort(*order, descending=[True, False]).head(TOP_PARTS).to_dicts()
    return tuple(Part(tuple(own["splits"]), {name: own[name] for name in counts}) for own in lines)


def _unseen(measured: Measurements, splits: pl.DataFrame, *, whole_groups: bool) -> Iterator[Row]:
    """A row on labels never in the training split, if more than in a random split of its size."""
    sizes = splits.group_by("split").len().sort(["len", "split"], descending=[True, False])
    names: list[str] = sizes["split"].to_list()
    training = next((name for name in names if name.strip().lower() in _TRAINING), names[0])
    inside = splits.filter(split=training)["instance"].to_numpy().astype(np.int64)
    outside = np.setdiff1d(splits["instance"].to_numpy(), inside)
    direct = measured.loaded.dataset.direct
    beside = direct[outside]
    unseen = np.flatnonzero((support(beside) > 0) & (support(direct[inside]) == 0))
    group_of = measured.loaded.group_of if whole_groups else None
    units = np.arange(measured.n_instances) if group_of is None else group_of
    expected, p_value = _by_chance(direct, units, inside, outside, len(unseen))
    if p_value > SURE or len(unseen) < LEAST_RATIO * expected:
        return
    carried = beside[:, unseen]
    cases, used = outside[np.diff(carried.indptr) > 0], support(carried)
    parts = most_frequent(measured.hierarchy, used, unseen)
    yield Row(
        nodes=parts[0].nodes,
        sentence=f"{{labels}} labels never {{labels|occurs|occur}} in {training!r}, taken as the "
        "training split[ ({expected_labels} expected in a random one)]; {instances} of the {of} "
        "other instances with a split ({share}) {instances|carries|carry} {labels|it|one of them}.",
        evidence={
            "labels": len(unseen),
            "expected_labels": expected,
            "p_value": p_value,
            **share_evidence(len(cases), len(outside)),
        },
        curator="Draw the splits so that each label in use is in training, or say that models "
        "never saw these labels in training.",
        data_user="Report results on these labels separately: no model can have learned them here.",
        beyond=times_limit(len(unseen), LEAST_RATIO * expected),
        parts=parts,
        key=("unseen",),
        cases=cases,
    )


def _by_chance(
    direct: Sparse, units: IntArray, inside: IntArray, outside: IntArray, unseen: int
) -> tuple[float, float]:
    """Unseen labels that a random split of the same size lets expect, and the chance of as many."""
    rows = np.concatenate([inside, outside])
    unit, of = np.unique(units[rows], return_inverse=True)
    ones = np.ones(len(rows), np.int64)
    by_unit = csr_array((ones, (of, np.arange(len(rows)))), shape=(len(unit), len(rows)))
    carried = csr_array(by_unit @ direct[rows])
    carried.data[:] = 1
    mean, variance = unseen_by_chance(carried, len(unit) - len(np.unique(of[: len(inside)])))
    return mean, chance_of_unseen(unseen, mean, variance)


CHECK = check_of_rows(
    "split_leak",
    "Do splits share records, or does training lack labels?",
    _leaks,
    needs="instances",
    evidence=Columns(
        OF_SOME,
        OF_GROUPS,
        count("labels", of=NONE),
        total("expected_labels"),
        chance("p_value"),
    ),
    of_parts=Columns(count("instances"), count("groups", of="groups", under="instances")),
)
