"""Each guard of the fair expectation at work: what releases without faults show when it is off.

The engine is put together here as `audit.excess` does, with one part left out at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

import audit
from audit.dag import FloatArray, IntArray
from audit.dataset import LabelDataset
from audit.engine.association import excess_p_value, score_p_value
from audit.engine.entailed import count_entailed, sole_labels
from audit.engine.expectation import Comparisons, Expected, comparisons, expect
from audit.engine.fdr import benjamini_hochberg, family_size, in_family
from audit.engine.grouped import grouped_p_value
from audit.engine.pairs import count_pairs, support
from audit.engine.propagation import aggregate
from audit.engine.records import records
from audit.engine.strata import LEAST_LABELS, length_cuts, length_histogram, strata_of
from audit.engine.stratified import stratify
from audit.hierarchy import Hierarchy
from audit.pair_table import pair_table
from audit.policy import Policy
from benchmarks.truth_null import WORLDS, draw
from benchmarks.truth_releases import as_read
from fixtures.synthetic import make_release, zipf_usage

SEED = 500
INSTANCES = 4_000
GUARDS = ("all", "strata", "fixed family", "Poisson tail", "Hajek's correction", "groups")
"""All at work, then which is off."""


@dataclass(frozen=True)
class FlatWorld:
    """A release over parents and their children alone, where one guard has most to do.

    Args:
        name: What it is called.
        parents: Nodes below the root.
        children: Labels below each.
        labels: Labels an instance, on average.
        returns: How probable it is that the next instance is of the same group; 0: no groups.
        repeats: How probable it is that a label is one that the group tends to have.
    """

    name: str
    parents: int
    children: int
    labels: float
    returns: float = 0.0
    repeats: float = 0.0


FLAT_WORLDS = (
    FlatWorld("6,000 codes, each on about 3 records", parents=3, children=2_000, labels=4.0),
    FlatWorld("1,000 codes, each on about 70 records", parents=5, children=200, labels=18.0),
    FlatWorld("ten admissions a patient", 5, 60, labels=5.0, returns=0.9, repeats=0.9),
    FlatWorld("eight codes, few labels", parents=2, children=4, labels=3.0),
)
WORLDS_OF_GUARDS = (*WORLDS, *FLAT_WORLDS)


@dataclass(frozen=True)
class Found:
    """What one release without faults shows with one guard off.

    Args:
        guard: Which one is off.
        world: What the release is of.
        sure: Pairs within the false discovery rate.
        large: Those of them at or above the effect floor: what is reported, before folding.
        siblings: Joint instances of sibling pairs over those expected; 1 is right. NaN for none.
    """

    guard: str
    world: str
    sure: int
    large: int
    siblings: float


def guarded(number: int) -> list[Found]:
    """Judge the pairs of one release without faults, with each guard off in turn."""
    world = WORLDS_OF_GUARDS[number % len(WORLDS_OF_GUARDS)]
    rng = np.random.default_rng([SEED, number])
    if isinstance(world, FlatWorld):
        dataset = _flat(world, int(rng.integers(1 << 32)))
    else:
        dataset = as_read(draw(world, rng)[0])
    return [_judged(dataset, guard, world.name) for guard in GUARDS]


def _flat(world: FlatWorld, seed: int) -> LabelDataset:
    edges = [
        edge
        for parent in range(world.parents)
        for edge in (
            (f"p{parent:02}", "top"),
            *((f"p{parent:02}.{child:03}", f"p{parent:02}") for child in range(world.children)),
        )
    ]
    frame = pl.DataFrame(edges, schema=["child", "parent"], orient="row")
    hierarchy = Hierarchy.build(frame, name="flat")
    release = make_release(
        hierarchy,
        instances=INSTANCES,
        seed=seed,
        labels_per_instance=world.labels,
        usage=zipf_usage(hierarchy, seed=seed, exponent=0),
        returns=world.returns,
        repeats=world.repeats,
    )
    rows = release.rows.join(release.instances, on="instance", maintain_order="left")
    columns = ["instance", "label", *(["group"] if world.returns else [])]
    return LabelDataset.from_rows(rows.select(columns), hierarchy)


def _judged(dataset: LabelDataset, off: str, world: str) -> Found:
    hierarchy, policy, n = dataset.hierarchy, Policy(), len(dataset)
    sole = sole_labels(dataset.direct, hierarchy.closure)
    number = _strata(dataset, off)
    strata = stratify(dataset.direct, sole, number)
    if off == "Hajek's correction":
        strata = replace(strata, free=np.full(len(strata.free), np.inf))
    asked, observed, family = _family(dataset, off)
    expected = expect(strata, asked)
    test = _normal_p_value if off == "Poisson tail" else excess_p_value
    p_value = test(observed, expected)
    rate = policy.false_discovery_rate.value
    if off != "groups" and dataset.ledger.groups:
        group = (dataset.instances["group"].rank("dense") - 1).to_numpy().astype(np.int64)
        tested = np.flatnonzero(benjamini_hochberg(p_value, family) <= rate)
        among = grouped_p_value(
            strata,
            records(sole, number, group),
            asked[tested],
            observed[tested],
            expected[tested],
        )
        p_value[tested] = np.maximum(p_value[tested], among)
    sure = benjamini_hochberg(p_value, family) <= rate
    large = sure & (observed >= policy.excess_ratio.value * expected.joint)
    siblings = asked.by_length
    seen, wanted = observed[siblings].sum(), expected.joint[siblings].sum()
    return Found(off, world, int(sure.sum()), int(large.sum()), float(seen / max(wanted, n * 1e-9)))


def _strata(dataset: LabelDataset, off: str) -> IntArray:
    lengths = np.diff(dataset.direct.indptr).astype(np.int64)
    if off == "strata":
        return np.where(lengths >= LEAST_LABELS, 0, -1).astype(np.int64)
    return strata_of(lengths, length_cuts(length_histogram(lengths)))


def _family(dataset: LabelDataset, off: str) -> tuple[Comparisons, FloatArray, int]:
    """The comparison and the joint instances of each pair that is judged, and within how many."""
    hierarchy, n, limit = dataset.hierarchy, len(dataset), Policy().expected_support.value
    aggregated = aggregate(dataset.direct, hierarchy.closure)
    carried = support(aggregated)
    pairs = pair_table(hierarchy, count_pairs(aggregated), carried)
    pairs = pairs.filter((pl.col("relation") != "ancestor") & (pl.col("joint") > 0))
    if off == "fixed family":
        family = len(pairs)
    else:
        family = family_size(carried, hierarchy.closure, limit, n)
        first, second = (pairs[name].to_numpy() for name in ("support_a", "support_b"))
        pairs = pairs.filter(pl.Series(in_family(first, second, n, limit), dtype=pl.Boolean))
    a, b = (pairs[end].to_physical().to_numpy().astype(np.int64) for end in ("a", "b"))
    entailed = count_entailed(sole_labels(dataset.direct, hierarchy.closure))
    by_one = np.asarray(entailed[a, b]).ravel() if len(a) else np.empty(0)
    asked = comparisons(a, b, (pairs["relation"] == "sibling").to_numpy(), hierarchy.edges)
    return asked, (pairs["joint"].to_numpy() - by_one).astype(np.float64), family


def _normal_p_value(observed: FloatArray, expected: Expected) -> FloatArray:
    """The Cochran-Mantel-Haenszel test alone, however few instances are expected."""
    p_value = np.ones(len(observed))
    varies = (observed > 0) & (expected.variance > 0)
    excess = observed[varies] - expected.joint[varies]
    p_value[varies] = score_p_value(excess, expected.variance[varies])
    return p_value


def shared_descendant(seed: int) -> tuple[int, int]:
    """A DAG where one label lies below two nodes, so that they meet by construction.

    The two hold ten labels each and share one that 30 % of the instances have; all labels are drawn
    independently of each other.

    Returns:
        Findings of every check, and the instances that carry both nodes, which a plain count of
        co-occurrence would tell.
    """
    rng = np.random.default_rng(seed)
    edges = [("a", "left"), ("b", "right"), ("left", "top"), ("right", "top")]
    edges += [("ab", "a"), ("ab", "b"), *((f"{top}{n}", top) for top in "ab" for n in range(10))]
    frame = pl.DataFrame(edges, schema=["child", "parent"], orient="row")
    hierarchy = Hierarchy.build(frame, name="diamond")
    labels = [node for node in hierarchy.nodes if len(node) == 2]
    share = np.array([0.3 if node == "ab" else 0.02 for node in labels])
    at, which = np.nonzero(rng.random((INSTANCES, len(labels))) < share)
    rows = {"instance": [f"i{i:04}" for i in at], "label": [labels[j] for j in which]}
    result = audit.run_audit(LabelDataset.from_rows(pl.DataFrame(rows), hierarchy))
    told = [finding for check in result.checks for finding in check.findings]
    both = result.pairs.filter((pl.col("a") == "a") & (pl.col("b") == "b")).collect()["joint"]
    return len([f for f in told if f.check == "unexpected_pair"]), int(both.sum())
