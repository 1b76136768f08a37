"""How well suspects are found: wrong labels planted in public data, with a model's scores beside.

    AUDIT_DATA=FOLDER python -m validation.suspect_labels

One answer an instance: cross-validated softmax of CIFAR-10 and 20 Newsgroups, of which labels are
replaced by a sibling and by one of another branch. Several: AudioSet, of which labels are taken
out, replaced by their parent, and by a child. There only a model's answers are public, so scores
are made: once by ridge regressions of each label on all answers, each fifth of the clips by the
others, fitted to the damaged labels; once drawn, as those of a calibrated model that tells each
label from its absence by `APART` standard deviations. Errors that were there before count as false.

How much of the evidence of scores counts is fitted to half of the instances of 20 Newsgroups, and
what is likely is charted on the other half and the other data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit, logit

from audit import (
    Hierarchy,
    LabelDataset,
    Policy,
    load_hierarchy,
    load_labels,
    load_predictions,
)
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.checks.rules.label_suspects import CHECK, TRUSTED, proposes
from audit.checks.shared.suspects import judged
from audit.engine.statistics.intervals import wilson
from audit.engine.statistics.resampling import unit_keys
from audit.measure.measure import Measurements, measure
from fixtures.scored import scored_alone

SHARES = (0.0, 0.01, 0.05, 0.1)
APART = 2.7
PENALTY = 5.0
"""Of the ridge regressions."""
BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
DRAWS = 4
"""How often wrong labels of the data with one answer are drawn anew, to judge what is likely."""
FITTED = "20 Newsgroups"


class Planted(NamedTuple):
    """One wrong label: the instance, its label as given (-1: none), the right one, its kind."""

    instance: int
    given: int
    right: int
    kind: str


class Truth(NamedTuple):
    """A release with wrong labels and a model, and which are wrong."""

    measured: Measurements
    planted: Sequence[Planted]


def main() -> None:
    """Print the table of kinds, and how often likely proposals are right."""
    folder = Path(os.environ["AUDIT_DATA"])
    print("| data | planted | kind | of it | named | precision | recall |")
    print("|---|---:|---|---:|---:|---:|---:|")
    likely: dict[str, list[pl.DataFrame]] = {}
    told: dict[str, list[str]] = {}
    for share in SHARES:
        for name, truth in _releases(folder, share):
            for kind, n, named, right in _by_kind(truth):
                shares = (f"{right / whole:.2f}" for whole in (max(named, 1), n))
                cells = (name, f"{share:.0%}", kind, f"{n:,}", f"{named:,}", *shares)
                print(f"| {' | '.join(cells)} |", flush=True)
            likely.setdefault(name, []).append(_likely(truth))
            told.setdefault(name, []).append(str(len(CHECK.run(truth.measured).findings)))
        for draw in range(1, DRAWS):
            for name, truth in _of_one_answer(folder, share, draw):
                likely[name].append(_likely(truth))
    whole = {name: pl.concat(frames) for name, frames in likely.items()}
    fit = _fitted_half(whole[FITTED])
    ours, whole[FITTED] = whole[FITTED].filter(fit), whole[FITTED].filter(~fit)
    print("\nCounts, with its 95 % interval: {:.2f} ({:.2f} to {:.2f})".format(*part(ours)))
    print("\n| data | said | proposals | right | low | high |\n|---|---:|---:|---:|---:|---:|")
    for name, frame in whole.items():
        for said, n, k in _bins(frame):
            shares = (f"{one:.2f}" for one in (k / n, *wilson(k, n)))
            print(f"| {name} | {said:.2f} | {n:,} | {' | '.join(shares)} |")
    print("\n| data | findings |\n|---|---|")
    for name, numbers in told.items():
        print(f"| {name} | {', '.join(numbers)} |")


def _releases(folder: Path, share: float) -> Iterator[tuple[str, Truth]]:
    yield from _of_one_answer(folder, share, 0)
    for drawn, name in ((False, "AudioSet, regressions"), (True, "AudioSet, drawn scores")):
        yield name, _audioset(folder / "audioset", share, drawn=drawn)


def _of_one_answer(folder: Path, share: float, draw: int) -> Iterator[tuple[str, Truth]]:
    yield "CIFAR-10", _softmax(folder, "cifar10", "cifar10_edges.csv", share, draw)
    yield FITTED, _softmax(folder, "20news", "", share, draw)


def _softmax(folder: Path, name: str, edges: str, share: float, draw: int) -> Truth:
    data = folder / "softmax"
    names = (data / f"{name}_classes.txt").read_text("utf-8").split()
    labels = np.load(data / f"{name}_test_labels.npy").astype(np.int64)
    scores = np.load(data / f"{name}_test_probabilities.npy").astype(np.float64)
    hierarchy = load_hierarchy(data / edges) if edges else dotted(names)
    places = np.array([hierarchy.index(one) for one in names])
    rng = np.random.default_rng([7, int(share * 100), draw])
    damaged, planted = labels.copy(), []
    for row, at in enumerate(rng.choice(len(labels), int(share * len(labels)), replace=False)):
        kind, others = _others(hierarchy, places, int(labels[at]))[row % 2]
        if len(others):
            damaged[at] = rng.choice(others)
            planted.append(
                Planted(int(at), int(places[damaged[at]]), int(places[labels[at]]), kind)
            )
    given = np.zeros((len(labels), len(names)), np.bool_)
    given[np.arange(len(labels)), damaged] = True
    return Truth(_measured(hierarchy, names, given, scores), planted)


def dotted(names: Sequence[str]) -> Hierarchy:
    """The hierarchy that dotted names are paths of."""
    steps = {
        (".".join(parts[: n + 1]), ".".join(parts[:n]) or "all")
        for parts in (name.split(".") for name in names)
        for n in range(len(parts))
    }
    edges = pl.DataFrame(sorted(steps), {"child": pl.String, "parent": pl.String}, orient="row")
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


def _audioset(folder: Path, share: float, *, drawn: bool) -> Truth:
    hierarchy = load_hierarchy(folder / "ontology.json")
    right = _sets(folder / "labels.jsonl", hierarchy)
    answers = _sets(folder / "predictions.jsonl", hierarchy)
    rng = np.random.default_rng([8, int(share * 100)])
    given, planted = right.copy(), []
    rows, nodes = np.nonzero(right)
    used = np.asarray(right.any(axis=0))
    for place, at in enumerate(rng.choice(len(rows), int(share * len(rows)), replace=False)):
        row, node = int(rows[at]), int(nodes[at])
        kind = ("missing", "too general", "too specific")[place % 3]
        near = {
            "missing": [-1],
            "too general": hierarchy.edges[[node]].indices.tolist(),
            "too specific": hierarchy.edges[:, [node]].tocoo().coords[0].tolist(),
        }[kind]
        fit = [one for one in near if one < 0 or (used[one] and not given[row, one])]
        if fit and not (kind == "missing" and _entailed(hierarchy, given[row], node)):
            other = int(rng.choice(fit))
            given[row, node] = False
            if other >= 0:
                given[row, other] = True
            planted.append(Planted(row, other, node, kind))
    kept = given.any(axis=0)
    names = [hierarchy.nodes[node] for node in np.flatnonzero(kept)]
    scores = _drawn(right[:, kept], rng) if drawn else cross_validated(answers, given[:, kept])
    return Truth(_measured(hierarchy, names, given[:, kept], scores), planted)


def _drawn(right: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Calibrated scores of labels that are told from their absence by `APART` deviations."""
    seen = APART * right + rng.standard_normal(right.shape)
    return np.asarray(expit(logit(right.mean(axis=0)) + APART * seen - APART**2 / 2))


def _entailed(hierarchy: Hierarchy, given: BoolArray, node: int) -> bool:
    """Whether another label is below the node."""
    below = hierarchy.strict_closure[:, [node]].toarray().ravel()
    return bool(below[given].any())


def _sets(file: Path, hierarchy: Hierarchy) -> BoolArray:
    lists = pl.read_ndjson(file)["labels"].to_list()
    held = np.zeros((len(lists), len(hierarchy)), np.bool_)
    for row, labels in enumerate(lists):
        held[row, [hierarchy.index(one) for one in labels if one in hierarchy]] = True
    return held


def cross_validated(answers: BoolArray, given: BoolArray) -> FloatArray:
    """Scores of labels by ridge regressions on answers, each fifth of the rows by the others."""
    seen = answers[:, answers.any(axis=0)].astype(np.float64)
    seen = np.column_stack([seen, np.ones(len(seen))])
    scores, fold = np.zeros(given.shape), np.arange(len(seen)) % 5
    for one in range(5):
        others = seen[fold != one]
        moments = others.T @ others + PENALTY * np.eye(seen.shape[1])
        weights = np.linalg.solve(moments, others.T @ given[fold != one].astype(np.float64))
        scores[fold == one] = seen[fold == one] @ weights
    return np.asarray(scores.clip(0, 1))


def _measured(
    hierarchy: Hierarchy, names: Sequence[str], given: BoolArray, scores: FloatArray
) -> Measurements:
    rows, columns = np.nonzero(given)
    frame = pl.DataFrame(
        {"instance": rows.astype(str), "label": np.array(names, object)[columns].astype(str)}
    )
    dataset: LabelDataset = load_labels(frame, hierarchy)
    ids = pl.Series("instance", np.arange(len(given)).astype(str))
    model = pl.DataFrame(scores, schema=list(names)).insert_column(0, ids)
    return scored_alone(measure(dataset, Policy()), load_predictions(model, dataset))


def _by_kind(truth: Truth) -> Iterator[tuple[str, int, int, int]]:
    """Of each kind: how many are planted, how many suspects of the kind are named first, right."""
    table = judged(truth.measured).table
    ids = truth.measured.loaded.dataset.instances["instance"].to_list()
    for kind in dict.fromkeys(one.kind for one in truth.planted):
        wrong = [one for one in truth.planted if one.kind == kind]
        first = table.filter(pl.col("kind") == kind).head(len(wrong))
        named = {
            (int(ids[instance]), node)
            for instance, node in first.select("instance", "node").iter_rows()
        }
        lacking = kind in ("missing", "too general")
        hits = sum((one.instance, one.right if lacking else one.given) in named for one in wrong)
        yield kind, len(wrong), len(first), hits


def _likely(truth: Truth) -> pl.DataFrame:
    """What is called likely of findings: its instance, its probability, whether it is right."""
    measured = truth.measured
    ids = measured.loaded.dataset.instances["instance"].to_list()
    right = {(one.instance, measured.hierarchy.nodes[one.right]) for one in truth.planted}
    proposed = pl.concat(
        [proposes(measured, one) for one in CHECK.run(measured).findings] or [EMPTY]
    ).filter(pl.col("certainty") == "likely")
    lines = proposed.select("instance", "proposed", "probability").iter_rows()
    found = [
        (int(ids[instance]), said, (int(ids[instance]), node) in right)
        for instance, node, said in lines
    ]
    kinds = {"instance": pl.Int64, "said": pl.Float64, "right": pl.Boolean}
    return pl.DataFrame(found, kinds, orient="row")


EMPTY = pl.DataFrame(
    schema={"instance": pl.UInt32, "proposed": pl.String, "probability": pl.Float64,
            "certainty": pl.String}
)  # fmt: skip


def _fitted_half(likely: pl.DataFrame) -> pl.Series:
    """Whether each proposal is of that half of the instances, by hashes, whose scores err more."""
    return pl.Series(unit_keys(likely["instance"].cast(pl.String).to_list(), 0) % 2 == 1)


def part(likely: pl.DataFrame) -> tuple[float, float, float]:
    """How much of the evidence counts by which proposals are right, and its 95 % interval.

    It is likeliest on a grid; the interval is that of 500 samples of the instances.
    """
    grid = np.linspace(0.05, 1.2, 116)
    shown = logit(likely["said"].to_numpy()) / TRUSTED
    right = likely["right"].to_numpy()[:, np.newaxis]
    each = np.log(expit(np.where(right, 1, -1) * shown[:, np.newaxis] * grid))
    _, instance = np.unique(likely["instance"].to_numpy(), return_inverse=True)
    table = np.zeros((instance.max() + 1, len(grid)))
    np.add.at(table, instance, each)
    n, rng = len(table), np.random.default_rng(9)
    times = rng.multinomial(n, np.full(n, 1 / n), 500)
    low, high = np.percentile(grid[(times @ table).argmax(axis=1)], [2.5, 97.5])
    return float(grid[table.sum(axis=0).argmax()]), float(low), float(high)


def _bins(likely: pl.DataFrame) -> Iterator[tuple[float, int, int]]:
    for low, high in pairwise(BINS):
        own = likely.filter((pl.col("said") > low) & (pl.col("said") <= high))
        if len(own):
            yield float(np.mean(own["said"].to_numpy())), len(own), int(own["right"].sum())


if __name__ == "__main__":
    main()
