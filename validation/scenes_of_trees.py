"""Scenes over made-up trees: shares, rules, columns, splits and models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.random import Generator

from audit import Hierarchy, LabelDataset, Policy, load_predictions
from audit.base.dag import FloatArray
from audit.policy.rules import Companion, Exclusive
from validation.scene import Drawn, Fact, dataset, in_order, predicted, tree, zipf


def residual(rng: Generator, share: Shares, stays: int = 1) -> Drawn:
    """120 parents, about 150 records of one label below each; in groups of so many equal stays.

    A parent whose share of residual labels is .6 or more is planted, one at or below the limit is
    not; there is nothing between.
    """
    hierarchy = tree(1, 120, 4)
    shares = share(rng, 120)
    records: list[list[str]] = []
    groups: list[str] = []
    for parent, p in enumerate(shares.tolist()):
        for _ in range(rng.poisson(150 / stays)):
            leaf = rng.integers(2) + (0 if rng.random() < p else 2)
            for _ in range(stays):
                groups.append(f"g{len(records) // stays}")
                records.append([f"b0.p{parent}.l{leaf}"])
    policy = Policy(residual_nodes=tuple(f"b0.p{i}.l{j}" for i in range(120) for j in range(2)))
    facts = [Fact(frozenset({f"b0.p{i}"})) for i in np.flatnonzero(shares > 0.55).tolist()]
    grouped = {"group": groups} if stays > 1 else {}
    return Drawn(dataset(hierarchy, records, **grouped), facts, policy)


Shares: TypeAlias = Callable[[Generator, int], FloatArray]
"""Draws the true share of each of so many parents, shape (n,)."""


def all_at(p: float) -> Shares:
    """One share for all."""
    return lambda rng, n: np.full(n, p)


def half_at_the_limit(rng: Generator, n: int) -> FloatArray:
    """Every other one at .5, the rest at .1."""
    return np.where(np.arange(n) % 2, 0.5, 0.1)


def ten_above(rng: Generator, n: int) -> FloatArray:
    """Ten from .65 to .9, the rest from 0 to .5."""
    return np.where(np.arange(n) < 10, rng.uniform(0.65, 0.9, n), 0.5 * rng.beta(2, 2, n))


def ruled(rng: Generator, violations: int) -> Drawn:
    """Records over a tree with rules: asked and given, given below, excused, and violated."""
    hierarchy = tree(6, 4, 4)
    background = [n for n in hierarchy.nodes if n.startswith(("b4.", "b5.")) and n[-2] == "l"]
    records = zipf(rng, background, 1_500, 3)
    policy = Policy(
        companions=(
            _rule("b0.p0", "b1.p0", unless="b2.p0"),
            _rule(("b0.p1", "b0.p2.l0"), ("b1.p1", "b1.p2"), position="before"),
        )
    )
    sets: list[tuple[list[str], int]] = [
        (["b0.p0.l0", "b1.p0.l3"], 30),
        (["b1.p0.l1", "b0.p0.l2"], 30),
        (["b0.p0.l1", "b2.p0.l0"], 30),
        (["b0.p3.l0"], 30),
        (["b1.p0.l0"], 30),
        (["b0.p2.l1"], 30),
        (["b1.p2.l2", "b0.p1.l0"], 30),
        (["b1.p1.l2", "b0.p2.l0", "b0.p1.l1"], 30),
    ]
    broken = [(["b0.p0.l0", "b1.p1.l0"], violations), (["b0.p1.l3", "b1.p0.l0"], violations)]
    behind = (["b0.p2.l0", "b1.p1.l0"], violations)
    at = iter(rng.permutation(len(records)).tolist())
    for labels, n in (*sets, *broken, behind):
        for _ in range(n):
            record = records[next(at)]
            cut = int(rng.integers(len(record) + 1))
            record[:] = [*labels[:1], *record[:cut], *labels[1:], *record[cut:]]
    facts = [
        Fact(frozenset({"b0.p0", "missing"}), {"instances": violations, "of": 60 + violations}),
        Fact(frozenset({"b0.p1", "missing"}), {"instances": violations, "of": 60 + 2 * violations}),
        Fact(frozenset({"b0.p1", "order"}), {"instances": violations, "of": 60 + violations}),
    ]
    return Drawn(in_order(hierarchy, records), facts if violations else (), policy)


def _rule(asks: str | tuple[str, ...], needs: str | tuple[str, ...], **more: str) -> Companion:
    return Companion.model_validate({"if": asks, "needs": needs, "source": "made up", **more})


def asked_for(rng: Generator) -> Drawn:
    """2,000 independent records; 60 have a label and the one that a rule asks for beside it."""
    hierarchy = tree(6, 4, 4)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    records = zipf(rng, leaves, 2_000, 3)
    for record in records[:60]:
        record[:0] = ["b0.p0.l0", "b1.p0.l0"]
    policy = Policy(companions=(_rule("b0.p0.l0", "b1.p0.l0"),))
    return Drawn(dataset(hierarchy, records), policy=policy)


def exclusive(rng: Generator, violations: int) -> Drawn:
    """Records over a tree of which a policy declares three groups of nodes exclusive."""
    hierarchy = tree(4, 4, 4)
    free = [node for node in hierarchy.nodes if node[:2] in ("b2", "b3") and node[-2] == "l"]
    records = zipf(rng, free, 1_500, 4)
    groups = (("b0.p0", "b0.p1"), ("b0.p2.l0", ("b0.p2.l1", "b1.p2"), "b1.p3"), ("b1.p0", "b1.p1"))
    policy = Policy(exclusive=tuple(Exclusive(nodes=g, reason="made up") for g in groups))
    near = (
        ["b0.p0.l0", "b0.p0.l3"],
        ["b0.p2.l1", "b1.p2.l0"],
        ["b0.p0.l1", "b1.p0.l1"],
        ["b0.p2.l2", "b0.p2.l0"],
        ["b0.p0", "b0.p0.l2"],
        ["b0", "b0.p1.l1"],
    )
    broken = (["b0.p0.l0", "b0.p1.l3"], ["b1.p3.l0", "b0.p2.l1", "b1.p2.l0"])
    at = iter(rng.permutation(len(records)).tolist())
    for labels, n in (*((one, 20) for one in near), *((one, violations) for one in broken)):
        for _ in range(n):
            records[next(at)][:0] = labels
    facts = [
        Fact(frozenset({"b0.p0", "b0.p1"}), {"instances": violations, "of": 80 + violations}),
        Fact(frozenset({"b1.p3"}), {"instances": violations, "of": 40 + violations}),
    ]
    return Drawn(dataset(hierarchy, records), facts if violations else (), policy)


def roots(rng: Generator, alone: int) -> Drawn:
    """Records over three roots, so many with nothing but roots; others have a root beside more."""
    made = [
        (child, parent)
        for root in ("x", "y", "z")
        for i in range(8)
        for child, parent in (
            (f"{root}.{i}", root),
            *((f"{root}.{i}.{j}", f"{root}.{i}") for j in range(3)),
        )
    ]
    edges = pl.DataFrame(made, schema=["child", "parent"], orient="row")
    hierarchy = Hierarchy.build(edges, name="three roots")
    inner = [node for node in hierarchy.nodes if "." in node]
    records = zipf(rng, inner, 1_000, 3)
    for record in records[:200]:
        record.append("xyz"[int(rng.integers(3))])
    records += [["xyz"[i] for i in rng.permutation(3)[: 1 + rng.integers(3)]] for _ in range(alone)]
    fact = Fact(
        frozenset("xyz"),
        {"instances": alone, "of": len(records)},
        frozenset({"uninformative", "(root)"}),
    )
    return Drawn(dataset(hierarchy, records), [fact] if alone else ())


def _sites(rng: Generator, apart: bool, real: int) -> tuple[LabelDataset, list[Fact]]:
    """4,000 records at two sites and of two sexes, and ``real`` pairs that go together everywhere.

    Where the sites are ``apart``, each has ten labels that the other hardly uses; the sexes
    never matter.
    """
    hierarchy = tree(8, 5, 5)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    order = rng.permutation(len(leaves)).tolist()
    chance = np.full((2, len(leaves)), 0.02)
    for site in range(2 if apart else 0):
        own = order[10 * site : 10 * site + 10]
        chance[:, own] = 0.01
        chance[site, own] = 0.2
    where, sex = rng.integers(2, size=(2, 4_000))
    carried = rng.random((4_000, len(leaves))) < chance[where]
    pairs = [order[20 + 2 * i : 22 + 2 * i] for i in range(real)]
    for a, b in pairs:
        carried[:, [a, b]] |= (rng.random(4_000) < 0.02)[:, None]
    records = [[leaves[i] for i in np.flatnonzero(row).tolist()] for row in carried]
    rows = dataset(
        hierarchy,
        records,
        strata=("site", "sex"),
        site=[f"site {i}" for i in where.tolist()],
        sex=["fm"[i] for i in sex.tolist()],
    )
    return rows, [Fact(frozenset({leaves[a], leaves[b]})) for a, b in pairs]


def site_is_told(rng: Generator, apart: bool, real: int) -> Drawn:
    """The site makes pairs where it is ``apart``, and is to be told then."""
    rows, _ = _sites(rng, apart, real)
    return Drawn(rows, [Fact(frozenset({"site"}))] if apart else ())


def pairs_stay(rng: Generator, real: int, strata: Sequence[str]) -> Drawn:
    """The site makes pairs; with it as a stratum the real ones alone are to be told."""
    rows, pairs = _sites(rng, True, real)
    return Drawn(rows, pairs, Policy(strata=tuple(strata)))


def branches(rng: Generator, disjoint: bool) -> Drawn:
    """Records of a label from each of several branches that a policy does not speak of, or does."""
    hierarchy = tree(8, 4, 4)
    records = [
        [f"b{b}.p{rng.integers(4)}.l{rng.integers(4)}" for b in range(8) if rng.random() < 0.5]
        for _ in range(2_000)
    ]
    both = sum({"b0", "b1"} <= {label[:2] for label in record} for record in records)
    rule = {"branches": ("b0", "b1"), "rule": "disjoint", "reason": "made up"}
    policy = Policy.model_validate({"branch_rules": (rule,) if disjoint else ()})
    fact = Fact(frozenset({"b0", "b1"}), {"instances": both})
    return Drawn(dataset(hierarchy, records), [fact] if disjoint else (), policy)


def split(rng: Generator, labels: int = 20, torn: int = 0, held_back: int = 0) -> Drawn:
    """Patients of 1 to 4 stays with a long tail of labels, split at random by patient.

    So many patients stand in two splits; so many labels of middling frequency are kept out of
    training with all patients that have them.
    """
    hierarchy = tree(5, 20, labels)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    stays = 1 + rng.poisson(0.6, 1_500)
    patient = np.repeat(np.arange(1_500), stays)
    records = zipf(rng, leaves, len(patient), 5)
    test = (rng.random(1_500) < 0.3)[patient]
    used = Counter(label for record in records for label in record)
    middling = sorted(label for label, n in used.items() if 5 <= n <= 9)
    chosen = set(rng.choice(middling, held_back, replace=False).tolist())
    having = {int(p) for p, record in zip(patient, records, strict=True) if chosen & set(record)}
    test |= np.isin(patient, sorted(having))
    several = [p for p in np.flatnonzero(stays > 1).tolist() if p not in having][:torn]
    for p in several:
        first = int(np.flatnonzero(patient == p)[0])
        test[first] = ~test[first]
    split = ["test" if one else "train" for one in test.tolist()]
    trained = {x for r, s in zip(records, split, strict=True) if s == "train" for x in r}
    unseen = set(used) - trained
    facts = []
    if held_back:
        facts.append(Fact(frozenset({"unseen"}), {"labels": len(unseen)}))
    if torn:
        facts.append(Fact(frozenset({"group"}), {"groups": torn}))
    groups = [f"g{p}" for p in patient.tolist()]
    return Drawn(dataset(hierarchy, records, group=groups, split=split), facts)


def model(rng: Generator, stronger: float) -> Drawn:
    """A model that finds four of five labels and adds as many by chance; it answers headings too.

    One pair of labels of different branches, on 150 of 3,000 records, is predicted ``stronger``
    times as often.
    """
    hierarchy = tree(6, 4, 4)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    a, b = "b0.p0.l0", "b1.p0.l0"
    free = [leaf for leaf in leaves if leaf not in (a, b)]
    records = zipf(rng, free, 3_000, 3)
    for record in records[:150]:
        record += [a, b]
    for record in records[150:400]:
        record.append(a)
    for record in records[400:650]:
        record.append(b)
    flat = [label for record in records for label in record]
    answers = []
    for record in records:
        kept = [label for label in record if rng.random() < 0.8]
        added = rng.choice(flat, rng.binomial(len(record), 0.2)).tolist()
        answers.append([*kept, *added, *(label.rpartition(".")[0] for label in kept[:1])])
    added_pairs = round(150 * (stronger - 1))
    for answer in answers[150 : 150 + added_pairs]:
        answer += [a, b]
    fact = Fact(frozenset({a, b}))
    data = dataset(hierarchy, records)
    return Drawn(data, [fact] if added_pairs else (), predictions=predicted(answers, data))


def left_out(rng: Generator, omitted: float, judged: int = 40) -> Drawn:
    """A model that finds nine of ten labels and adds as many as one in twenty by chance.

    Three labels are left out of ``omitted`` of the records that have them, the others of one in
    fifty. People judge so many answers of each label that records lack, and one in twenty wrongly.
    """
    hierarchy = tree(4, 2, 2)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    true = zipf(rng, leaves, 1_500, 3)
    flat = [label for record in true for label in record]
    planted = [label for label, _ in Counter(flat).most_common(3)] if omitted > 0.02 else []
    given, rows, lacking = list[list[str]](), list[tuple[str, str]](), dict[str, list[int]]()
    for name, record in enumerate(true):
        rates = [omitted if label in planted else 0.02 for label in record]
        kept = [label for label, rate in zip(record, rates, strict=True) if rng.random() >= rate]
        given.append(kept or record)
        added = rng.choice(flat, rng.binomial(len(record), 0.05)).tolist()
        for answer in dict.fromkeys([*(a for a in record if rng.random() < 0.9), *added]):
            if answer not in given[-1]:
                lacking.setdefault(answer, []).append(len(rows))
            rows.append((f"r{name:06}", answer))
    said = [""] * len(rows)
    for every in lacking.values():
        for row in rng.choice(every, min(judged, len(every)), replace=False).tolist():
            right = rows[row][1] in true[int(rows[row][0][1:])]
            said[row] = ("wrong", "right")[right == (rng.random() < 0.95)]
    facts = [
        Fact(frozenset({one}), {"instances": k, "judged": min(judged, len(lacking[one]))})
        for one in planted
        if (k := sum(said[row] == "right" for row in lacking[one]))
    ]
    data = dataset(hierarchy, given)
    table = pl.DataFrame(rows, ["id", "prediction"], orient="row")
    table = table.with_columns(said=pl.Series(said))
    return Drawn(data, facts, predictions=load_predictions(table, data, verdict="said"))


def stray(rng: Generator, stray: int) -> Drawn:
    """48,389 rows, so many of them no node."""
    hierarchy = tree(6, 4, 4)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    labels = rng.choice(leaves, 48_389).tolist()
    for i in rng.choice(48_389, stray, replace=False).tolist():
        labels[i] = "stray"
    severity = "error" if stray >= 48.389 else "warning"
    fact = Fact(frozenset({"stray"}), {"rows": stray}, severity=severity)
    return Drawn(dataset(hierarchy, [labels[i : i + 4] for i in range(0, 48_389, 4)]), [fact])
