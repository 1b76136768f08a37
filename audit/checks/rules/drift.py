"""drift: one site or coder writes a label for its sibling, labels less deep, or longer records."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import stdtrit

from audit.base.dag import FloatArray, IntArray
from audit.base.declared import NONE, Columns, chance, count, estimate, share, total
from audit.checks.rows import BESIDE_ELSEWHERE, Row, Rows, check_of_rows, significant
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import LEVEL
from audit.engine.statistics.two_rates import TwoSides, means_apart, two_sides
from audit.measure.drift import LEAST_GROUPS, Value, surely_apart, values_compared
from audit.measure.measure import Measurements, once
from audit.results.findings import share_evidence, times_limit

LEAST_UNITS = 30
"""Least number of instances below a parent, each once a label, for it to be tested."""
LEAST_EXCHANGE = 0.05
"""Share of what lies below a parent that rise and fall must reach at their cautious ends."""
LEAST_RATIO = 1.25
"""Least ratio of two geometric mean lengths, the larger over the smaller, to be reported."""


class Tested(NamedTuple):
    """A value of a column, held against all others in one way.

    Args:
        what: In which way: ``depth``, ``length``, or the parent of siblings.
        p_value: Of no difference.
        direction: Which way the value differs.
        matters: Whether the difference reaches its limit.
        row: Makes its row, with evidence that follows from the family, and a key.
    """

    value: Value
    what: str
    p_value: float
    direction: Hashable
    matters: bool
    row: Callable[[Mapping[str, float], tuple[str, ...]], Row]


def _drifts(measured: Measurements) -> Rows:
    """Values of a column that differ from the others in siblings used, lengths or depths.

    Columns are the split, those of `drift`, and `coding_columns` (who codes; never sex, age or
    ward); of two values the second is told. Compared are, for each parent, the labels right below
    it with nothing in use below; how many labels a record has; and how deep they lie, where no
    branch has another share of them. Both sides need 11 groups (or instances), a parent two such
    labels, 30 instances below it and at most half of the leaves.

    *Siblings* are held against each other by the [test of two sides](methods/drift.md#two-sides): p
    is m / 2 times the larger of that of the label of m that rises most and that of the one that
    falls most. Told where both move 5 points or more at the cautious ends of Newcombe's intervals.
    *Depths*, less the mean of their branch, and logarithms of *lengths*: with the mean of each
    group, V their variance and G and G' groups, the difference of the means over `sqrt(V (1 / G + 1
    / G'))`, by Student's distribution at min(G, G') - 1 degrees of freedom. Told above `depth_loss`
    (0.25 levels), or from 1.25 times. Benjamini and Hochberg's family is all of them. Of values
    that differ in one way those are told that differ in the direction of the surest.

    **Severity.** Note, by the instances of the value (with the label that rises) times the
    difference. **Limits.** A site with other patients looks the same. Name the person by `--group`.
    Depth says little where levels are uneven.
    """
    policy = measured.policy
    columns = dict.fromkeys(("split", *policy.drift, *policy.coding_columns))
    tested = list[Tested]()
    for value in (one for name in columns for one in values_compared(measured, name)):
        tested += [*_exchanges(measured, value), *_length(measured, value)]
        if not _uses_other_branches(measured, value):
            tested += _depth(measured, value)
    found = significant(measured, tested, (one.p_value for one in tested), len(tested))
    told = [(one, q) for one, q in found if one.matters]
    surest = dict[tuple[str, str], Hashable]()
    for one, _ in sorted(told, key=lambda both: both[0].p_value):
        surest.setdefault((one.value.column, one.what), one.direction)
    named = len(measured.loaded.dataset.splits) or len(columns) > 1
    return Rows(
        len(tested),
        "comparisons of a value with the others of its column: siblings used for each other, "
        "numbers of labels, and depths where it uses the branches as they do",
        (
            one.row(
                {"p_value": one.p_value, "q_value": q, "family": len(tested)},
                (one.value.column, one.value.name, one.what),
            )
            for one, q in told
            if surest[one.value.column, one.what] == one.direction
        ),
        "" if named else "neither a split nor a column of drift or of who codes is named",
    )


@once
def _siblings(measured: Measurements) -> tuple[IntArray, IntArray]:
    """Labels with nothing in use below that have such siblings, and an informative parent each."""
    direct, hierarchy = measured.direct_support, measured.hierarchy
    labels = (direct > 0) & (hierarchy.below @ direct == direct)
    below = hierarchy.child_matrix.tocoo()
    kept = labels[below.col] & ~hierarchy.uninformative[below.row]
    child, parent = below.col[kept].astype(np.int64), below.row[kept].astype(np.int64)
    several = np.bincount(parent, minlength=len(hierarchy))[parent] > 1
    order = np.lexsort((child[several], parent[several]))
    return child[several][order], parent[several][order]


def _exchanges(measured: Measurements, value: Value) -> Iterator[Tested]:
    """Tests of a value, one a parent, by the labels of it whose shares rise and fall most."""
    child, parent = _siblings(measured)
    parents, of = np.unique(parent, return_inverse=True)
    among = csr_array(
        (np.ones(len(of), np.int64), (child, of)), (len(measured.hierarchy), len(parents))
    )
    direct, groups = measured.loaded.dataset.direct[value.known], measured.loaded.group_of
    group = None if groups is None else groups[value.known]
    found = two_sides(direct[:, child], direct @ among, of, group, value.here[value.known])
    enough = (found.n.sum(axis=0) >= LEAST_UNITS) & (found.groups.min(axis=0) >= LEAST_GROUPS)
    for one in np.unique(of[enough]).tolist():
        places = np.flatnonzero(of == one)
        rises = found.difference[places]
        more, less = int(places[rises.argmax()]), int(places[rises.argmin()])
        # Some child of m rises with a p value of t by chance in m t / 2 of the cases at most.
        p_value = min(len(places) / 2 * max(found.p_value[[more, less]].tolist()), 1.0)
        ends = [surely_apart(found, place, measured.rounding) for place in (more, less)]
        yield Tested(
            value,
            measured.hierarchy.nodes[parents[one]],
            p_value,
            (more, less),
            min(ends) >= LEAST_EXCHANGE,
            partial(_exchange, measured, value, found, more, less, min(ends)),
        )


def _exchange(
    measured: Measurements,
    value: Value,
    found: TwoSides,
    more: int,
    less: int,
    end: float,
    tested: Mapping[str, float],
    key: tuple[str, ...],
) -> Row:
    """The row on a label used more and a sibling used less; ``end`` is how much at least."""
    hierarchy, (child, parent) = measured.hierarchy, _siblings(measured)
    one, other, above = map(hierarchy.describe, (child[more], child[less], parent[more]))
    (k, elsewhere), (of, of_elsewhere) = found.k[:, more].tolist(), found.n[:, more].tolist()
    fewer, fewer_elsewhere = found.k[:, less].tolist()
    effective, effective_elsewhere = found.effective[:, more].tolist()
    rise, fall = found.difference[[more, less]].tolist()
    low, high = (float(side[more]) for side in found.interval)
    alone = "" if measured.loaded.group_of is not None else " Each instance counts as one person."
    nodes = hierarchy.nodes[child[more]], hierarchy.nodes[child[less]]
    those = measured.loaded.at_nodes.labelled(int(child[more]))
    cases = those[value.here[those]]
    return Row(
        nodes=nodes,
        sentence=f"With the {value.column} {value.name!r}, {one} stands where others have {other}: "
        f"{{instances}} of {{of}} labels below {above} are {one} ({{share}})"
        f"[, elsewhere {{elsewhere_share}}][; {other} are {{less_instances}} there and "
        f"{{less_elsewhere}} elsewhere].{alone}",
        evidence={
            **share_evidence(k, of),
            "elsewhere": elsewhere,
            "of_elsewhere": of_elsewhere,
            "elsewhere_share": elsewhere / of_elsewhere,
            "difference": rise,
            "difference_low": low,
            "difference_high": high,
            "less_instances": fewer,
            "less_elsewhere": fewer_elsewhere,
            "effective": effective,
            "effective_elsewhere": effective_elsewhere,
            **tested,
        },
        curator=f"Compare records of this {value.column} with others: where the same is coded in "
        "two ways, write one rule. Where other patients are seen there, waive the finding.",
        data_user=f"Do not compare the two nodes across values of {value.column}; their parent can "
        "be.",
        touched=len(cases),
        strength=min(rise, -fall),
        beyond=times_limit(end, LEAST_EXCHANGE),
        key=key,
        cases=cases,
    )


def _uses_other_branches(measured: Measurements, value: Value) -> bool:
    """Whether the labels of a value are of other branches than those of the others."""
    direct = measured.loaded.dataset.direct[value.known]
    branch, groups = measured.hierarchy.first_branch + 1, measured.loaded.group_of
    ones, alike = np.ones((len(branch), 1), np.int64), np.zeros(branch.max() + 1, np.int64)
    of_branch = csr_array((ones.ravel(), (np.arange(len(branch)), branch)))
    group = None if groups is None else groups[value.known]
    found = two_sides(
        direct @ of_branch, direct @ csr_array(ones), alike, group, value.here[value.known]
    )
    p_value = found.p_value[found.k.sum(axis=0) > 0]
    q_value = benjamini_hochberg(p_value, len(p_value))
    return bool((q_value <= measured.policy.false_discovery_rate.value).any())


def _depth(measured: Measurements, value: Value) -> Iterator[Tested]:
    """A test of a value by how deep its labels lie, each less the mean of its branch."""
    direct, hierarchy = measured.loaded.dataset.direct, measured.hierarchy
    instance = np.repeat(np.arange(direct.shape[0]), np.diff(direct.indptr))
    known = value.known[instance]
    depth, branch = (of[direct.indices[known]] for of in (hierarchy.depth, hierarchy.first_branch))
    size = np.maximum(np.bincount(branch + 1), 1)
    within = depth - (np.bincount(branch + 1, depth) / size)[branch + 1]
    limit = measured.policy.depth_loss.value
    return _differing_means(
        measured, value, "depth", instance[known], depth.astype(float), within, limit
    )


def _length(measured: Measurements, value: Value) -> Iterator[Tested]:
    """A test of a value by how many labels its records have, by logarithms: these are skewed."""
    lengths = np.diff(measured.loaded.dataset.direct.indptr)
    some = np.flatnonzero((lengths > 0) & value.known)
    length, limit = np.log(lengths[some]), math.log(LEAST_RATIO)
    return _differing_means(measured, value, "length", some, length, length, limit)


_SENTENCES = {
    "depth": "With the %s ({instances} of {of} instances) labels are %s than elsewhere[: by "
    "{apart} levels within their branches (95%% interval {apart_low} to {apart_high}); mean depth "
    "{mean}, elsewhere {mean_elsewhere}].",
    "length": "With the %s ({instances} of {of} instances) records have %s labels than elsewhere[: "
    "{mean} typically (geometric mean), elsewhere {mean_elsewhere} (ratio {apart}, 95%% "
    "interval {apart_low} to {apart_high})].",
}
_MEANS = "mean mean_elsewhere apart apart_low apart_high"
_WORDS = {"depth": ("more general", "more specific"), "length": ("fewer", "more")}


def _differing_means(
    measured: Measurements,
    value: Value,
    what: str,
    instance: IntArray,
    told: FloatArray,
    compared: FloatArray,
    limit: float,
) -> Iterator[Tested]:
    """The test of a value by means of ``compared``, with those of ``told``; none of few groups."""
    here, groups = value.here[instance], measured.loaded.group_of
    group = instance if groups is None else groups[instance]
    if min(len(np.unique(group[side])) for side in (here, ~here)) < LEAST_GROUPS:
        return
    more, error, p_value, freedom = means_apart(compared, group, here)
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    cases, elsewhere = (np.unique(instance[side]) for side in (here, ~here))
    means = [float(told[side].mean()) for side in (here, ~here)]
    numbers = [*means, abs(more), abs(more) - reach, abs(more) + reach]
    if what == "length":
        numbers = [math.exp(one) for one in numbers]

    def made(tested: Mapping[str, float], key: tuple[str, ...]) -> Row:
        return Row(
            sentence=_SENTENCES[what] % (f"{value.column} {value.name!r}", _WORDS[what][more > 0]),
            evidence={
                "instances": len(cases),
                "of": measured.labelled,
                "elsewhere": len(elsewhere),
                **dict(zip(_MEANS.split(), numbers, strict=True)),
                **tested,
            },
            curator=f"Find out whether forms or rules of this {value.column} cut labels, or let "
            "fewer be given; where other patients or texts are seen there, waive the finding.",
            data_user="Do not compare specific nodes, or counts of labels, across values of "
            f"{value.column}.",
            strength=abs(more),
            beyond=times_limit(abs(more) - reach, limit),
            key=key,
            cases=cases,
        )

    matters = abs(more) > limit if what == "depth" else abs(more) >= limit
    yield Tested(value, what, p_value, more > 0, matters, made)


CHECK = check_of_rows(
    "drift",
    "Does one site or group use a label for its sibling, or other depths and lengths?",
    _drifts,
    needs="instances",
    evidence=Columns(
        share("share", "Share there", of="instances of", effective="effective"),
        BESIDE_ELSEWHERE,
        count("instances elsewhere less_instances less_elsewhere", "Instances", among="of"),
        count("of of_elsewhere", of=NONE),
        total("effective effective_elsewhere"),
        estimate(
            _MEANS,
            n="instances elsewhere",
            reason="means over labels, and their difference within branches, follow from no count",
        ),
        chance("p_value q_value family"),
    ),
    denominator="untold",
    nodes="Node|In place of",
)
