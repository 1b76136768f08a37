"""How well swapped labels are found: wrong labels planted in public data, with held-out scores.

    AUDIT_DATA=FOLDER python -m validation.swapped_labels

Labels of CIFAR-10 and 20 Newsgroups are replaced by a sibling and by one of another branch; their
softmax is cross-validated. Errors that were there before count as false.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from audit import Hierarchy, Policy, load_hierarchy, load_labels, load_predictions
from audit.base.dag import FloatArray, IntArray
from audit.checks.shared.suspects import suspects
from audit.measure.measure import Measurements, measure
from fixtures.scored import scored_alone

SHARES = (0.01, 0.05, 0.1)
DATA = {"CIFAR-10": ("cifar10", "cifar10_edges.csv"), "20 Newsgroups": ("20news", "")}
"""Prefix of the files, and the hierarchy; without one the dotted names are paths."""


class Swapped(NamedTuple):
    """A wrong label: the instance, its label as given, what the two have to do with each other."""

    instance: int
    given: int
    kind: str


def main() -> None:
    """Print, for each kind of swap, how many of the suspects named first are right."""
    print("| data | swapped | kind | of it | named | precision | recall |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for name, (prefix, edges) in DATA.items():
        for share in SHARES:
            for kind, n, named, right in _by_kind(*_release(prefix, edges, share)):
                precision, recall = (f"{right / whole:.2f}" for whole in (max(named, 1), n))
                print(f"| {name} | {share:.0%} | {kind} | {n} | {named} | {precision} | {recall} |")


def _release(prefix: str, edges: str, share: float) -> tuple[Measurements, Sequence[Swapped]]:
    folder = Path(os.environ["AUDIT_DATA"]) / "softmax"
    names = (folder / f"{prefix}_classes.txt").read_text("utf-8").split()
    labels = np.load(folder / f"{prefix}_test_labels.npy").astype(np.int64)
    scores = np.load(folder / f"{prefix}_test_probabilities.npy").astype(np.float64)
    hierarchy = load_hierarchy(folder / edges) if edges else _dotted(names)
    places = np.array([hierarchy.index(one) for one in names])
    rng = np.random.default_rng([7, int(share * 100), 0])
    damaged, swapped = labels.copy(), []
    for row, at in enumerate(rng.choice(len(labels), int(share * len(labels)), replace=False)):
        kind, others = _others(hierarchy, places, int(labels[at]))[row % 2]
        if len(others):
            damaged[at] = rng.choice(others)
            swapped.append(Swapped(int(at), int(places[damaged[at]]), kind))
    return _measured(hierarchy, names, damaged, scores), swapped


def _dotted(names: Sequence[str]) -> Hierarchy:
    steps = {
        (".".join(parts[: n + 1]), ".".join(parts[:n]) or "all")
        for parts in (name.split(".") for name in names)
        for n in range(len(parts))
    }
    edges = pl.DataFrame(sorted(steps), schema=["child", "parent"], orient="row")
    return Hierarchy.build(edges, name="newsgroups")


def _others(
    hierarchy: Hierarchy, places: IntArray, label: int
) -> tuple[tuple[str, IntArray], tuple[str, IntArray]]:
    """Classes beside a class with a parent in common, and those in another branch."""
    edges = hierarchy.edges.toarray() > 0
    sharing = (edges[places] & edges[places[label]]).any(axis=1)
    branches = hierarchy.closure[:, hierarchy.branches].toarray() > 0
    apart = ~(branches[places] & branches[places[label]]).any(axis=1)
    sharing[label] = apart[label] = False
    return ("sibling", np.flatnonzero(sharing)), ("other branch", np.flatnonzero(apart & ~sharing))


def _measured(
    hierarchy: Hierarchy, names: Sequence[str], given: IntArray, scores: FloatArray
) -> Measurements:
    ids = pl.Series("instance", np.arange(len(given)).astype(str))
    rows = pl.DataFrame([ids, pl.Series("label", [names[one] for one in given.tolist()])])
    dataset = load_labels(rows, hierarchy)
    model = pl.DataFrame(scores, schema=list(names)).insert_column(0, ids)
    return scored_alone(measure(dataset, Policy()), load_predictions(model, dataset))


def _by_kind(
    measured: Measurements, swapped: Sequence[Swapped]
) -> Iterator[tuple[str, int, int, int]]:
    """Of each kind: how many are planted, how many suspects of the kind are named first, right."""
    table = suspects(measured)
    ids = measured.loaded.dataset.instances["instance"].to_list()
    for kind in dict.fromkeys(one.kind for one in swapped):
        wrong = {(one.instance, one.given) for one in swapped if one.kind == kind}
        first = table.filter(pl.col("kind") == kind).head(len(wrong)).select("instance", "node")
        named = {(int(ids[instance]), node) for instance, node in first.iter_rows()}
        yield kind, len(wrong), len(first), len(wrong & named)


if __name__ == "__main__":
    main()
