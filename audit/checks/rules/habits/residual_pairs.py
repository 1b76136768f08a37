"""residual_pairs: catch-alls beside each other more often than what records are about explains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import stdtrit

from audit.base.dag import FloatArray, IntArray
from audit.checks.check import Check, Outcome, first_unmet
from audit.disclosure import Quantity, count, derived
from audit.engine.statistics.association import ratio
from audit.engine.statistics.intervals import LEVEL
from audit.measure.measure import Measurements, once
from audit.results.findings import Finding, Part, times_limit

_NAME = "residual_pairs"
LEAST_RATIO = 1.1
"""Observed over expected pairs of catch-alls that the end of their interval must reach."""
TOP = 5
"""Pairs of catch-alls that a finding names."""
MANY = 100
"""Different pairs on some instance, from which on their sums say nothing of a single one."""


@dataclass(frozen=True, eq=False)
class Choices:
    """What instances chose below headings that have catch-alls and specific labels.

    Each instance stands once for each such heading of its labels, and has two headings or more.
    All have shape (n,); ``vague`` is 1 where a catch-all was chosen, else 0.
    """

    instance: IntArray
    heading: IntArray
    vague: IntArray
    stratum: IntArray
    group: IntArray

    @cached_property
    def catch_alls(self) -> IntArray:
        """Headings at which each instance chose one, shape (last instance + 1,)."""
        return np.bincount(self.instance, self.vague).astype(np.int64)

    @property
    def both(self) -> IntArray:
        """Instances with two catch-alls or more, ascending."""
        return np.flatnonzero(self.catch_alls > 1)

    @property
    def surprise(self) -> FloatArray:
        """Each choice less its heading's share of catch-alls, and less what its stratum adds."""
        share = ratio(np.bincount(self.heading, self.vague), np.bincount(self.heading))
        share = share[self.heading]
        left, spread = self.vague - share, share * (1 - share)
        more = ratio(np.bincount(self.stratum, left), np.bincount(self.stratum, spread))
        return np.asarray(left - spread * np.nan_to_num(more)[self.stratum])

    @property
    def pairs(self) -> tuple[float, float, float]:
        """Pairs of catch-alls: observed, expected, and the half width of their interval at 95 %.

        Expected are the observed ones less the sum of the products of the surprises of each two
        choices of an instance: what one says of the other beyond both headings. Groups vary by
        themselves.
        """
        observed = float((self.catch_alls * (self.catch_alls - 1) // 2).sum())
        total, squares = (np.bincount(self.instance, self.surprise**power) for power in (1, 2))
        instances, at = np.unique(self.instance, return_index=True)
        more = np.bincount(self.group[at], ((total**2 - squares) / 2)[instances])
        freedom = max(len(np.unique(self.group[at])) - 1, 1)
        reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * float(np.sqrt((more**2).sum()))
        return observed, observed - float(more.sum()), reach

    @cached_property
    def times(self) -> tuple[float, float, float]:
        """Observed over expected pairs, and both ends of its interval; 0 where none is expected."""
        observed, expected, reach = self.pairs
        ends = (observed, max(observed - reach, 0.0), observed + reach)
        value, low, high = (end / expected if expected > 0 else 0.0 for end in ends)
        return value, low, high


@once
def choices(measured: Measurements) -> Choices:
    """The choices of all instances with two headings or more."""
    heading_of, vague = _headings(measured), _is_residual(measured)
    labels = measured.loaded.specific.tocoo()
    some = heading_of[labels.col] >= 0
    at = labels.row[some].astype(np.int64) * len(vague) + heading_of[labels.col[some]]
    keys, place = np.unique(at, return_inverse=True)
    chosen = (np.bincount(place, vague[labels.col[some]], len(keys)) > 0).astype(np.int64)
    instance, heading = np.divmod(keys, len(vague))
    several = np.bincount(instance)[instance] > 1
    instance = instance[several]
    _, stratum = measured.loaded.strata_by(measured.policy.strata)
    groups = measured.loaded.group_of
    group = instance if groups is None else groups[instance]
    return Choices(instance, heading[several], chosen[several], stratum[instance], group)


def _is_residual(measured: Measurements) -> IntArray:
    residual = np.zeros(len(measured.hierarchy), np.int64)
    residual[list(measured.residual)] = 1
    return residual


def _headings(measured: Measurements) -> IntArray:
    """The first parent of each node that has catch-alls and specific labels as children, or -1."""
    hierarchy, residual = measured.hierarchy, _is_residual(measured)
    clear = hierarchy.assignable.astype(np.int64) * (1 - residual)
    offers = (hierarchy.child_matrix @ residual > 0) & (hierarchy.child_matrix @ clear > 0)
    edges = hierarchy.edges.tocoo()
    kept = np.flatnonzero(offers[edges.col])[::-1]
    first = np.full(len(hierarchy), -1)
    first[edges.row[kept]] = edges.col[kept]
    return first


def run(measured: Measurements) -> Outcome:
    """Tell in one finding that catch-alls attract each other, and which do most."""
    found, least = choices(measured), measured.policy.residual_instances.value
    n = len(np.unique(found.instance))
    told = len(found.both) >= least and found.times[1] > LEAST_RATIO
    return Outcome(
        denominator=n,
        denominator_unit="instances with labels below two headings that have catch-alls",
        findings=(_finding(measured, found, n),) if told else (),
        not_applicable=first_unmet(
            (measured.residual, "no assignable node of this hierarchy is residual"),
            (n >= least, "too few instances have labels below two headings that have catch-alls"),
        ),
    )


def _finding(measured: Measurements, found: Choices, n: int) -> Finding:
    touched, (pairs, parts) = len(found.both), _parts(measured, found)
    total, times = measured.n_instances, ("times", "times_low", "times_high")
    sums = {"instances": count(touched, n, total), "of": count(n, total)}
    if pairs < MANY:
        sums = {name: Quantity(one.value, "unnamed") for name, one in sums.items()}
    return Finding(
        check=_NAME,
        severity="note",
        nodes=parts[0].nodes,
        statement="{instances} of {of} instances with labels below two headings that have an "
        '"other" or "unspecified" label {instances|has|have} two such labels[: {times} times '
        "as many pairs as if each were chosen without regard to the other ({times_low} to "
        "{times_high}, 95% interval)].",
        evidence={
            **sums,
            **{
                name: derived(round(value, 2), *sums)
                for name, value in zip(times, found.times, strict=True)
            },
        },
        curator="Look at records with several of them: did one coder, site or template leave all "
        "labels open? Say in the release notes that catch-alls stand beside each other.",
        data_user="Do not read two catch-alls on one record as an association of what they stand "
        "for: each holds what no sibling of it names.",
        touched=touched,
        beyond=times_limit(found.times[1], LEAST_RATIO),
        parts=parts,
        key=("records",),
    )


def _parts(measured: Measurements, found: Choices) -> tuple[int, tuple[Part, ...]]:
    """How many pairs of catch-alls some instance has, and those most beyond what their headings
    together let expect, the most frequent first.
    """
    heading_of, names = _headings(measured), measured.hierarchy.nodes
    nodes = np.flatnonzero(_is_residual(measured) * (heading_of >= 0))
    rows = np.unique(found.instance)
    labels = measured.loaded.specific[rows][:, nodes]
    shape = (len(rows), len(names))
    at = (np.searchsorted(rows, found.instance), found.heading)
    headings = csr_array((np.ones(len(found.instance), np.int64), at), shape=shape)
    met, joint = csr_array(headings.T @ headings), (labels.T @ labels).tocoo()
    a, b = nodes[joint.row], nodes[joint.col]
    apart = (a < b) & (heading_of[a] != heading_of[b])
    a, b, both = a[apart], b[apart], joint.data[apart]
    n = np.bincount(found.heading, minlength=len(names))
    share = np.zeros(len(names))
    share[nodes] = ratio(np.asarray(labels.sum(axis=0)), n[heading_of[nodes]])
    expected = met[heading_of[a], heading_of[b]] * share[a] * share[b]
    top = np.lexsort((b, a, expected - both))[:TOP]
    top = top[np.lexsort((b[top], a[top], -both[top]))]
    support, total = measured.direct_support, measured.n_instances
    return len(a), tuple(
        Part((names[i], names[j]), {"instances": count(k, total, support[i], support[j])})
        for i, j, k in zip(a[top].tolist(), b[top].tolist(), both[top].tolist(), strict=True)
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with two catch-alls or more."""
    return choices(measured).both


CHECK = Check(
    _NAME,
    'Do "other" and "unspecified" labels stand beside each other?',
    run,
    counts_with=("residual_instances",),
    needs="instances",
    cases=cases,
)
