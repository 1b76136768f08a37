"""unspecific_beside_specific: an unspecified label beside a specific sibling in one record."""

from __future__ import annotations

import re

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse, row
from audit.base.declared import NONE, Columns, count
from audit.checks.check import TOP_PARTS, Check, Outcome, first_unmet
from audit.checks.shared.carriers import label_part
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.measure.measure import Measurements, once
from audit.measure.rule_book import associations, first_association
from audit.results.findings import Finding, share_evidence

_NAME = "unspecific_beside_specific"


def run(measured: Measurements) -> Outcome:
    """Report such instances in one finding, with the most frequent pairs.

    Descendants of a sibling count as the sibling. A catch-all of kind ``other`` may name a further
    condition, and is not a fault beside a sibling unless it covers unspecified ones too.
    """
    of = int(np.count_nonzero(_labels(measured).sum(axis=1)))
    return Outcome(
        denominator=of,
        denominator_unit="instances with an unspecified label",
        findings=_finding(measured, of) if of else (),
        not_applicable=first_unmet(
            (
                _open(measured),
                "no assignable node of this hierarchy is an unspecified one among siblings",
            )
        ),
    )


def _open(measured: Measurements) -> list[int]:
    return sorted(node for node, found in measured.residual.items() if found.leaves_open)


@once
def _labels(measured: Measurements) -> Sparse:
    """Unspecified labels of each instance, 0/1, shape (n_instances, n_nodes)."""
    direct = csr_array(measured.loaded.dataset.direct, copy=True)
    direct.data[~np.isin(direct.indices, _open(measured))] = 0
    direct.eliminate_zeros()
    return direct


@once
def _siblings(measured: Measurements) -> Sparse:
    """1 where the column is a specific sibling of an unspecified label, shape (n_nodes, n_nodes).

    On a graph a sibling may also be above the node or below it: then it says nothing beside it.
    Pairs that the policy expects, or a rule requires, are left out, and so are categories of a
    range of codes whose titles share no word.
    """
    hierarchy, pairs = measured.hierarchy, list[tuple[int, int]]()
    integrity, in_use = hierarchy.integrity, measured.direct_support > 0
    for node in (one for one in _open(measured) if in_use[one]):
        related = {node, *row(hierarchy.below, node).tolist(), *row(hierarchy.closure, node)}
        for parent in row(hierarchy.edges, node).tolist():
            beside = row(hierarchy.child_matrix, parent).tolist()
            pairs += [
                (node, sibling)
                for sibling in beside
                if sibling not in related and sibling not in measured.residual
                if integrity is None
                or integrity.table_of(hierarchy.nodes[parent])
                or _of_one_kind(hierarchy.titles[node], hierarchy.titles[sibling])
            ]
    where = np.array(sorted(set(pairs)), np.int64).reshape(-1, 2).T
    known = associations(hierarchy, measured.policy)
    where = where[:, first_association(hierarchy, known, in_use, *where) < 0]
    ones = np.ones(where.shape[1], np.int64)
    return csr_array((ones, (where[0], where[1])), shape=(len(hierarchy), len(hierarchy)))


_GENERIC = {"disorder", "disease", "condition", "other", "unspecified", "elsewhere", "classified"}


def _of_one_kind(title: str, other: str) -> bool:
    """Whether two titles share a word that names something; codes of a range may be of any kind."""
    named = (re.findall(r"[a-z]{5,}", one.lower()) for one in (title, other))
    first, second = ({word.removesuffix("s") for word in words} - _GENERIC for words in named)
    return not first.isdisjoint(second)


@once
def _both(measured: Measurements) -> Sparse:
    """1 where an instance carries a specific sibling of its unspecified label."""
    beside = csr_array(_labels(measured) @ _siblings(measured))
    both = csr_array(beside.multiply(measured.loaded.aggregated))
    both.data[:] = 1
    return both


def _finding(measured: Measurements, of: int) -> tuple[Finding, ...]:
    touched = int(np.count_nonzero(np.diff(_both(measured).indptr)))
    if not touched:
        return ()
    pairs = _pairs(measured)
    parts = tuple(label_part(measured.hierarchy, (a, b), n) for a, b, n in pairs[:TOP_PARTS])
    return (
        Finding(
            check=_NAME,
            severity="note",
            nodes=parts[0].nodes,
            statement="{instances} of {of} instances with an unspecified label ({share}) "
            "{instances|has|have} a specific sibling of it too, in {pairs} different pairs[, "
            "{mostly}].",
            evidence={**share_evidence(touched, of), "pairs": len(pairs)},
            curator=_OF_CODES if measured.hierarchy.integrity else _OF_GROUPS,
            data_user="Do not count the unspecified label as a second thing; use only the "
            "specific one where both mean the same.",
            touched=touched,
            parts=parts,
            key=("labels",),
        ),
    )


def _pairs(measured: Measurements) -> list[tuple[int, int, int]]:
    """An unspecified node, a specific sibling, and the instances with both: the most first."""
    joint = csr_array(_labels(measured).T @ _both(measured)).multiply(_siblings(measured)).tocoo()
    found = zip(joint.row.tolist(), joint.col.tolist(), joint.data.tolist(), strict=True)
    return sorted(found, key=lambda pair: (-pair[2], pair[:2]))


def cases(measured: Measurements, _: Finding) -> IntArray:
    """The instances with an unspecified label and a specific sibling of it."""
    return np.flatnonzero(np.diff(_both(measured).indptr))


_OF_CODES = (
    "Check whether both labels mean the same thing; where they do, leave the unspecified one out. "
    "Where a record has two of a kind, such as two fractures, both may be right, and where coders "
    "are told to give both, name the pair under expected in the policy."
)
_OF_GROUPS = (
    "Look at the most frequent pairs: a heading of this hierarchy may hold labels that do not mean "
    "the same, and the classification of the labels may ask for both. Leave none out by this alone."
)


CHECK = Check(
    _NAME,
    "Do records carry an unspecified label beside a specific sibling?",
    run,
    needs="instances",
    cases=cases,
    evidence=Columns(OF_SOME, count("pairs", of=NONE)),
    of_parts=PARTS,
)
