"""residual_pairs: records that carry two catch-alls or more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS, Check, Outcome, first_unmet
from audit.disclosure import Quantity, count, derived
from audit.measure.measure import Measurements, once
from audit.measure.residual_use import Share, residual_share
from audit.results.findings import Finding, Part

_NAME = "residual_pairs"


@dataclass(frozen=True, eq=False)
class _Labels:
    """Labels and catch-alls of the instances.

    Args:
        catch_alls: The catch-alls that no other one lies below, shape (n_catch_alls,).
        of_each: Number of labels of each instance, shape (n_instances,).
        vague: How many of them are such catch-alls, same shape.
    """

    catch_alls: IntArray
    of_each: IntArray
    vague: IntArray

    @property
    def several(self) -> IntArray:
        """Instances with two labels or more, ascending."""
        return np.flatnonzero(self.of_each > 1)

    @property
    def both(self) -> IntArray:
        """Instances with two catch-alls or more, ascending."""
        return np.flatnonzero(self.vague > 1)

    @property
    def expected(self) -> float:
        """How many of these length lets expect: as if each label were a catch-all by chance alone.

        The chance is the share of catch-alls among the labels of instances with several.
        """
        n = self.of_each[self.several]
        chance = self.vague[self.several].sum() / n.sum()
        none = (1 - chance) ** n
        one = n * chance * (1 - chance) ** (n - 1)
        return float((1 - none - one).sum())


@once
def _labels(measured: Measurements) -> _Labels:
    residual = np.zeros(len(measured.hierarchy), np.int64)
    residual[list(measured.residual)] = 1
    lowest = residual * (measured.hierarchy.below @ residual == 1)
    given = measured.loaded.dataset.direct
    return _Labels(np.flatnonzero(lowest), np.asarray(given.sum(axis=1)), given @ lowest)


def run(measured: Measurements) -> Outcome:
    """Report, in one finding, how many instances carry two catch-alls, and which two most often."""
    labels, least = _labels(measured), measured.policy.residual_instances.value
    n = len(labels.several)
    return Outcome(
        denominator=n,
        denominator_unit="instances with two labels or more",
        findings=(_finding(measured, labels),) if len(labels.both) and n >= least else (),
        not_applicable=first_unmet(
            (measured.residual, "no assignable node of this hierarchy is residual"),
            (n >= least, "too few instances have two labels"),
        ),
    )


def _finding(measured: Measurements, labels: _Labels) -> Finding:
    several, both, expected = labels.several, labels.both, labels.expected
    share = residual_share(several, both, measured.loaded.group_of)
    ratio = _times(share, expected)
    pairs, parts = _parts(measured, labels)
    return Finding(
        check=_NAME,
        severity="note",
        nodes=parts[0].nodes,
        statement="{instances} of {of} instances with two labels or more ({share}) "
        '{instances|has|have} two labels or more that say only "other" or "unspecified", '
        "in {pairs} different pairs"
        "[; the number of labels alone lets expect {expected}, {ratio} times as many are there "
        "({ratio_low} to {ratio_high}, 95% interval)].",
        evidence={
            "instances": count(share.k, share.n, measured.n_instances),
            "of": count(share.n, measured.labelled, measured.n_instances),
            "share": derived(share.value, "instances", "of"),
            "pairs": Quantity(pairs),
            "expected": derived(expected, "instances", "of"),
            **{name: derived(value, "instances", "of") for name, value in ratio.items()},
        },
        curator="Look at the most frequent pairs: would a specific label have been known for one "
        "of the two? Say in the release notes that catch-alls stand beside each other.",
        data_user="Do not read two catch-alls on one record as an association of what they stand "
        "for: each holds what no sibling of it names.",
        touched=share.k,
        parts=parts,
        key=("records",),
        aside=ratio["ratio_low"] <= 1,
    )


def _times(share: Share, expected: float) -> dict[str, float]:
    """How many times as many there are as expected, with its interval."""
    ends = (share.value, *share.interval())
    names = ("ratio", "ratio_low", "ratio_high")
    return {name: end * share.n / expected for name, end in zip(names, ends, strict=True)}


def _parts(measured: Measurements, labels: _Labels) -> tuple[int, tuple[Part, ...]]:
    """How many pairs of catch-alls stand on some instance, and those on most instances."""
    nodes, names = labels.catch_alls, measured.hierarchy.nodes
    given = measured.loaded.dataset.direct[:, nodes]
    pairs = csr_array(given.T @ given).tocoo()
    upper = pairs.row < pairs.col
    a, b, joint = nodes[pairs.row[upper]], nodes[pairs.col[upper]], pairs.data[upper]
    top = np.lexsort((b, a, -joint))[:TOP_PARTS]
    support, totals = measured.direct_support.tolist(), (measured.n_instances, len(labels.both))
    ends = zip(a[top].tolist(), b[top].tolist(), joint[top].tolist(), strict=True)
    return len(joint), tuple(
        Part((names[i], names[j]), {"instances": count(n, *totals, support[i], support[j])})
        for i, j, n in ends
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with two catch-alls or more."""
    return _labels(measured).both


CHECK = Check(
    _NAME,
    'Are "other" and "unspecified" labels given together?',
    run,
    counts_with=("residual_instances",),
    needs="instances",
    cases=cases,
)
